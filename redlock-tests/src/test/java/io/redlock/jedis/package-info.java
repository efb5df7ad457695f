/**
 * The Jedis adapter from connect to close: configuration, TLS, users with few rights, databases.
 */
@NullMarked
package io.redlock.jedis;

import org.jspecify.annotations.NullMarked;
