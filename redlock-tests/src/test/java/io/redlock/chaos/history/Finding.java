package io.redlock.chaos.history;

import io.redlock.simulation.Invariant;

/** An invariant that did not hold, when, and how that shows. */
public record Finding(Invariant invariant, long atNanos, String what) {}
