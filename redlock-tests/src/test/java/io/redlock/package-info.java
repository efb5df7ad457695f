/**
 * Access to the core for the tests of all packages, models of clients, and tests of its events in
 * the Flight Recorder.
 */
@NullMarked
package io.redlock;

import org.jspecify.annotations.NullMarked;
