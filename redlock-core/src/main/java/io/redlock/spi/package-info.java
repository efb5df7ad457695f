/**
 * The interfaces that an adapter to a Redis client, or a simulation, implements: nodes that execute
 * requests, two clocks, and a scheduler. The lock service needs nothing else.
 */
@NullMarked
package io.redlock.spi;

import org.jspecify.annotations.NullMarked;
