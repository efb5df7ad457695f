package io.redlock.spi;

/**
 * The two clocks that everything is measured by. Both are needed: a suspended machine stops the
 * monotonic clock while the servers count on, and the wall clock may be set back.
 */
public interface Ticker {

  /** Nanoseconds on a clock that never goes back, of arbitrary origin; only differences count. */
  long monotonicNanos();

  /** Microseconds since the epoch on the machine's wall clock. */
  long wallMicros();
}
