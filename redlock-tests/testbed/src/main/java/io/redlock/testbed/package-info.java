/**
 * Starts real servers and JVMs for tests, sends them signals, waits for conditions, and finds the
 * files of the repository.
 */
@NullMarked
package io.redlock.testbed;

import org.jspecify.annotations.NullMarked;
