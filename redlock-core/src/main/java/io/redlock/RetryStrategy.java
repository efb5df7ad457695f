package io.redlock;

import java.time.Duration;
import java.util.random.RandomGenerator;

/**
 * Chooses the pause of a waiting call between two attempts. Implemented by users; no method is
 * added. A pure function: it must neither block nor keep state, and all its randomness must come
 * from the generator it is given, so that a simulation can repeat it. It is called on the callback
 * executor. The default strategy decides in its place if it throws, if it returns null, a negative
 * duration or one beyond 292 years, or if it has not returned within a node timeout.
 *
 * <p>The library bounds the pause: by the time left to wait, and by the time after which the keys
 * of the present holder expire at the latest.
 */
@FunctionalInterface
public interface RetryStrategy {

  /** The reasons for which an attempt fails. */
  enum Cause {
    /** Another client holds the resource, or may: any refusal that is no {@link #SPLIT}. */
    HELD,
    /**
     * Several requests have each got a part of the nodes, so that nobody may hold the resource.
     * Waiting for a holder does not help; the requests must come at times that lie further apart.
     */
    SPLIT,
    /** Too few nodes were able to vote, as {@link AcquireResult.Outcome#UNAVAILABLE}. */
    UNAVAILABLE,
    /** A majority granted the lease too late, as {@link AcquireResult.Outcome#TOO_SLOW}. */
    TOO_SLOW
  }

  /**
   * Returns the pause before the next attempt. May be called by several threads at the same time.
   *
   * @param failures how many attempts of this call have failed for this cause, from 1
   * @param cause why the last one failed
   * @param random the only source of randomness to use
   * @return the pause, zero or more
   */
  Duration delay(int failures, Cause cause, RandomGenerator random);

  /**
   * Returns the default strategy: uniformly random below a ceiling that doubles with each failure
   * for the same cause (M. Brooker, <i>Exponential Backoff and Jitter</i>, AWS Architecture Blog
   * 2015, "full jitter").
   *
   * <ul>
   *   <li>{@link Cause#HELD}, {@link Cause#TOO_SLOW}: from 4 ms up to 200 ms, so that a call
   *       notices soon that the resource is free.
   *   <li>{@link Cause#SPLIT}: from 4 ms up to 2 s, so that many requests on slow links spread out.
   *   <li>{@link Cause#UNAVAILABLE}: from 20 ms up to 1 s, so that returning nodes are not flooded.
   * </ul>
   *
   * @return the strategy
   */
  static RetryStrategy jitteredBackoff() {
    /** Equal to any other, so that the library knows its own. */
    record JitteredBackoff() implements RetryStrategy {
      @Override
      public Duration delay(int failures, Cause cause, RandomGenerator random) {
        long baseMicros = cause == Cause.UNAVAILABLE ? 20_000 : 4_000;
        long capMicros =
            switch (cause) {
              case HELD, TOO_SLOW -> 200_000;
              case SPLIT -> 2_000_000;
              case UNAVAILABLE -> 1_000_000;
            };
        long ceilingMicros = Math.min(capMicros, baseMicros << Math.min(failures - 1, 16));
        return Duration.ofNanos(1_000 * (1 + random.nextLong(ceilingMicros)));
      }
    }
    return new JitteredBackoff();
  }
}
