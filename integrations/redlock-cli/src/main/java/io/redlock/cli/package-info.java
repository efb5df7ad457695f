/** The command line. */
@NullMarked
package io.redlock.cli;

import org.jspecify.annotations.NullMarked;
