package io.redlock.spi;

import java.time.Instant;

/**
 * The two clocks that everything is measured by. Both are needed: a suspended machine stops the
 * monotonic clock while the servers count on, and the wall clock may be set back.
 */
public interface Ticker {

  /** The machine's clocks. */
  static Ticker system() {
    return new Ticker() {
      @Override
      public long monotonicNanos() {
        return System.nanoTime();
      }

      @Override
      public long wallMicros() {
        Instant now = Instant.now();
        return now.getEpochSecond() * 1_000_000 + now.getNano() / 1_000;
      }
    };
  }

  /** Nanoseconds on a clock that never goes back, of arbitrary origin; only differences count. */
  long monotonicNanos();

  /** Microseconds since the epoch on the machine's wall clock. */
  long wallMicros();
}
