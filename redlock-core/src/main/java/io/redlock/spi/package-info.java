/**
 * What an adapter to a Redis client, or a simulation, implements: nodes that execute requests, two
 * clocks, and a scheduler. The lock service in {@link io.redlock} is built on nothing else.
 */
@NullMarked
package io.redlock.spi;

import org.jspecify.annotations.NullMarked;
