package io.redlock.spi;

import java.time.Instant;

/**
 * The two clocks of a lock service. Both are needed: a suspended machine stops the monotonic clock
 * while the servers' time passes, and the wall clock may be set back.
 */
public interface Ticker {

  /** Returns the machine's clocks. */
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

  /** Returns the nanoseconds of a clock that never goes back; only differences have a meaning. */
  long monotonicNanos();

  /** Returns the microseconds since the epoch, by the machine's wall clock. */
  long wallMicros();
}
