/** The command line with real masters, in the JVM of the test or as programs. */
@NullMarked
package io.redlock.cli;

import org.jspecify.annotations.NullMarked;
