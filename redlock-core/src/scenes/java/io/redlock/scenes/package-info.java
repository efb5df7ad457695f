/** Plays scenes that stand as texts beside the tests. */
@NullMarked
package io.redlock.scenes;

import org.jspecify.annotations.NullMarked;
