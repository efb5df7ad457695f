package io.redlock.driver;

import io.redlock.AcquireResult.Outcome;
import io.redlock.RetryStrategy;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.random.RandomGenerator;

/** The retry strategy of one lock service, contained: where it fails, the default one decides. */
final class Pauses {

  private static final RetryStrategy DEFAULT = RetryStrategy.jitteredBackoff();

  private final RetryStrategy strategy;
  private final RandomGenerator random;
  private final AtomicBoolean complained = new AtomicBoolean();

  Pauses(RetryStrategy strategy, RandomGenerator random) {
    this.strategy = strategy;
    this.random = random;
  }

  /** True if the strategy is a user's, which may block. */
  boolean mayBlock() {
    return !DEFAULT.equals(strategy);
  }

  long byDefaultNanos(int failures, Outcome outcome) {
    return DEFAULT.delay(failures, outcome, random).toNanos();
  }

  /** Asks the strategy, which may block. Never throws. */
  long chosenNanos(int failures, Outcome outcome) {
    try {
      Duration chosen = strategy.delay(failures, outcome, random);
      if (chosen.isNegative()) {
        throw new IllegalArgumentException("a pause of " + chosen);
      }
      return chosen.toNanos();
    } catch (RuntimeException | Error e) { // a user's, or what comes of null or of centuries
      if (!complained.getAndSet(true)) {
        Log.LOG.warn("The retry strategy failed; the default one decides, now and later", e);
      }
      return byDefaultNanos(failures, outcome);
    }
  }
}
