/** The masters in memory that users test their own code with. */
@NullMarked
package io.redlock.testing;

import org.jspecify.annotations.NullMarked;
