/**
 * What a client decides, and nothing else: rounds that take an answer or the end of a wait and are
 * given the time when they are asked what to do, and the values they are made of. Immutable,
 * without threads, futures or clocks, so that production, simulation and exhaustive search run the
 * same rules. Not exported.
 */
@NullMarked
package io.redlock.protocol;

import org.jspecify.annotations.NullMarked;
