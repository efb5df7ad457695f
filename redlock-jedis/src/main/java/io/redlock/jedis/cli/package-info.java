/** Programs: the command line, and two of its commands that the library can start by itself. */
@NullMarked
package io.redlock.jedis.cli;

import org.jspecify.annotations.NullMarked;
