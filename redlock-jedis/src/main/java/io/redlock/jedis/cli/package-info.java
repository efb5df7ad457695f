/** The command line. */
@NullMarked
package io.redlock.jedis.cli;

import org.jspecify.annotations.NullMarked;
