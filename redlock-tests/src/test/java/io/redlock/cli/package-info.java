/** The command line with real processes, signals and masters. */
@NullMarked
package io.redlock.cli;

import org.jspecify.annotations.NullMarked;
