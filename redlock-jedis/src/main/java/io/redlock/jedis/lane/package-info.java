/**
 * The lane, the only path to a master: {@code NodeLane} is a node of the lock service. The other
 * classes keep its order, build batches and watch its connection.
 */
@NullMarked
package io.redlock.jedis.lane;

import org.jspecify.annotations.NullMarked;
