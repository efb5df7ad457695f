package io.redlock;

import io.redlock.AcquireRound.Decision;
import java.util.random.RandomGenerator;

/**
 * How long to wait before the next attempt: uniformly random below a ceiling that doubles with each
 * attempt (M. Brooker, <i>Exponential Backoff and Jitter</i>, AWS Architecture Blog 2015: "full
 * jitter"), never longer than the present holder's key can live. What is held is asked for again
 * soon; nodes that are down are given time.
 */
final class Backoff {

  private static final long MILLI = 1_000_000;
  private static final long LEAST_NANOS = MILLI;

  private Backoff() {}

  /**
   * The delay before the next attempt.
   *
   * @param failures how many attempts have failed, from 1
   * @param cause how the last one failed
   * @param heldForMillis the remaining life of the holder's key; −1 if unknown
   */
  static long delayNanos(int failures, Decision cause, long heldForMillis, RandomGenerator random) {
    boolean unavailable = cause == Decision.UNAVAILABLE || cause == Decision.CLOCK_REFUSED;
    long base = unavailable ? 20 * MILLI : 4 * MILLI;
    long cap = unavailable ? 1_000 * MILLI : 200 * MILLI;
    long ceiling = Math.min(cap, base << Math.min(failures - 1, 16));
    if (heldForMillis >= 0) {
      ceiling = Math.min(ceiling, heldForMillis * MILLI);
    }
    return LEAST_NANOS + random.nextLong(Math.max(ceiling, LEAST_NANOS));
  }
}
