/** For the unit tests of users: the real lock service over masters in memory. */
@NullMarked
package io.redlock.testing;

import org.jspecify.annotations.NullMarked;
