package io.redlock.chaos.history;

import io.redlock.simulation.SimInvariant;

/** An invariant that did not hold, when, and how that shows. */
public record Finding(SimInvariant invariant, long atNanos, String what) {}
