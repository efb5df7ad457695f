/** The documentation, executed: its samples run here, and its links and quotations are checked. */
@NullMarked
package io.redlock.readme;

import org.jspecify.annotations.NullMarked;
