/** The command line, and two of its commands that also run from the library's own jar. */
@NullMarked
package io.redlock.jedis.cli;

import org.jspecify.annotations.NullMarked;
