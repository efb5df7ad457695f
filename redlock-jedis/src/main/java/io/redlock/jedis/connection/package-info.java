/** The addresses of masters, and the pools of connections to them. */
@NullMarked
package io.redlock.jedis.connection;

import org.jspecify.annotations.NullMarked;
