/** Plays scenes that stand as texts beside the tests. */
package io.redlock.scenes;
