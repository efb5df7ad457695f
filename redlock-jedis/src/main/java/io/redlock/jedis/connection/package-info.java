/** Where a master is, and how connections to it are made. */
@NullMarked
package io.redlock.jedis.connection;

import org.jspecify.annotations.NullMarked;
