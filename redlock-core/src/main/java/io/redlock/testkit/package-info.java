/**
 * Masters in memory and time by hand, not exported: what {@code io.redlock.testing} offers to users
 * and the tests of this project are built on.
 */
@NullMarked
package io.redlock.testkit;

import org.jspecify.annotations.NullMarked;
