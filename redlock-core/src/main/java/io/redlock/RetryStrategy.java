package io.redlock;

import io.redlock.AcquireResult.Outcome;
import java.time.Duration;
import java.util.random.RandomGenerator;

/**
 * Chooses the pause of a waiting call between two attempts. A pure function: it must neither block
 * nor keep state, and all its randomness must come from the generator it is given, so that a
 * simulation can repeat it. It is called on the callback executor. The default strategy decides in
 * its place if it throws, if it returns null, a negative duration or one beyond 292 years, or if it
 * has not returned within a node timeout.
 *
 * <p>The library bounds the pause: by the time left to wait, and by the time after which the keys
 * of the present holder expire at the latest.
 */
@FunctionalInterface
public interface RetryStrategy {

  /**
   * Returns the pause before the next attempt.
   *
   * @param failures how many attempts of this call have failed, from 1
   * @param outcome why the last one failed: never {@link Outcome#ACQUIRED}
   * @param random the only source of randomness to use
   * @return the pause, zero or more
   */
  Duration delay(int failures, Outcome outcome, RandomGenerator random);

  /**
   * Returns the default strategy: uniformly random below a ceiling that doubles with each failure
   * (M. Brooker, <i>Exponential Backoff and Jitter</i>, AWS Architecture Blog 2015, "full jitter"),
   * from 4 ms up to 200 ms. While nodes are unavailable the ceiling rises from 20 ms to 1 s.
   *
   * @return the strategy
   */
  static RetryStrategy jitteredBackoff() {
    /** Equal to any other, so that the library knows its own. */
    record JitteredBackoff() implements RetryStrategy {
      @Override
      public Duration delay(int failures, Outcome outcome, RandomGenerator random) {
        boolean unavailable = outcome == Outcome.UNAVAILABLE;
        long baseMicros = unavailable ? 20_000 : 4_000;
        long capMicros = unavailable ? 1_000_000 : 200_000;
        long ceilingMicros = Math.min(capMicros, baseMicros << Math.min(failures - 1, 16));
        return Duration.ofNanos(1_000 * (1 + random.nextLong(ceilingMicros)));
      }
    }
    return new JitteredBackoff();
  }
}
