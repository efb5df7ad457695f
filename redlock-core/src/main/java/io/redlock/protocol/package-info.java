/**
 * The decisions of a client, and nothing else: rounds that take the answers and the time and return
 * what to do, and the values they consist of. Immutable, without threads, futures or clocks, so
 * that production, simulator and explorer run the same rules. Not exported.
 */
@NullMarked
package io.redlock.protocol;

import org.jspecify.annotations.NullMarked;
