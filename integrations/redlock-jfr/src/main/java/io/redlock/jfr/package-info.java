/** The Flight Recorder's events: {@link io.redlock.jfr.FlightRecorderListener}. */
@NullMarked
package io.redlock.jfr;

import org.jspecify.annotations.NullMarked;
