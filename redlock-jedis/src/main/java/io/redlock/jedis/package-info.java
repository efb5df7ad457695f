/**
 * The entry point for Redis: {@code JedisRedlock} connects to independent masters through Jedis and
 * returns an {@code io.redlock.Redlock}.
 */
@NullMarked
package io.redlock.jedis;

import org.jspecify.annotations.NullMarked;
