/** The documentation, executed: its samples run here, and its links and quotations are checked. */
package io.redlock.readme;
