package io.redlock;

import java.time.Duration;
import java.util.random.RandomGenerator;

/**
 * Chooses the pause of a waiting call between two attempts. A pure function: it must neither block
 * nor keep state, and all its randomness must come from the generator it is given, so that a
 * simulation can repeat it. It is called on the callback executor. The default decides in its place
 * where it throws, where it returns null or a duration that is negative or beyond 292 years, and
 * where it has not returned within a node timeout.
 *
 * <p>The library bounds what it returns: above by the time left to wait, and by the time for which
 * the refusing nodes said that the present holder's keys can live.
 */
@FunctionalInterface
public interface RetryStrategy {

  /** Why an attempt failed. */
  enum Cause {
    /** Others hold the resource, or each a part of it. */
    CONTENDED,
    /** Too few nodes could say yes. */
    UNAVAILABLE,
    /** A quorum came too late to be of use. */
    TOO_SLOW
  }

  /**
   * The pause before the next attempt.
   *
   * @param failures how many attempts of this call have failed, from 1
   * @param cause why the last one failed
   * @param random the only source of randomness to use
   * @return how long to wait
   */
  Duration delay(int failures, Cause cause, RandomGenerator random);

  /**
   * The default: uniformly random below a ceiling that doubles with each failure (M. Brooker,
   * <i>Exponential Backoff and Jitter</i>, AWS Architecture Blog 2015, "full jitter"), from 4 ms up
   * to 200 ms. While nodes are unavailable they are given more time: from 20 ms up to 1 s.
   *
   * @return the strategy
   */
  static RetryStrategy jitteredBackoff() {
    /** Equal to any other, so that the library knows its own. */
    record JitteredBackoff() implements RetryStrategy {
      @Override
      public Duration delay(int failures, Cause cause, RandomGenerator random) {
        boolean unavailable = cause == Cause.UNAVAILABLE;
        long baseMicros = unavailable ? 20_000 : 4_000;
        long capMicros = unavailable ? 1_000_000 : 200_000;
        long ceilingMicros = Math.min(capMicros, baseMicros << Math.min(failures - 1, 16));
        return Duration.ofNanos(1_000 * (1 + random.nextLong(ceilingMicros)));
      }
    }
    return new JitteredBackoff();
  }
}
