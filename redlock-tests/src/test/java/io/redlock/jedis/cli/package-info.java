/** The command line in the JVM of a test. */
@NullMarked
package io.redlock.jedis.cli;

import org.jspecify.annotations.NullMarked;
