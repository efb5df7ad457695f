/**
 * The one way to a master: {@code NodeLane} is a node to the lock service, the rest is how it keeps
 * order, batches, and finds out what became of its connection.
 */
@NullMarked
package io.redlock.jedis.lane;

import org.jspecify.annotations.NullMarked;
