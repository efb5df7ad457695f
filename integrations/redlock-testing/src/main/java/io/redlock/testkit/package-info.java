/**
 * Masters in memory and virtual time, the basis of {@code io.redlock.testing} and of this project's
 * own tests. Not exported.
 */
@NullMarked
package io.redlock.testkit;

import org.jspecify.annotations.NullMarked;
