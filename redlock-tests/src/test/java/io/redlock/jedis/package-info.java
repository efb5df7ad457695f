/**
 * The Jedis adapter from connect to close: configuration, TLS, users with few rights, databases.
 */
package io.redlock.jedis;
