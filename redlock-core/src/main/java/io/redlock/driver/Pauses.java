package io.redlock.driver;

import io.redlock.RetryStrategy;
import io.redlock.RetryStrategy.Cause;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.random.RandomGenerator;

/** The retry strategy of one lock service; if it fails, the default strategy decides. */
final class Pauses {

  private static final RetryStrategy DEFAULT = RetryStrategy.jitteredBackoff();

  private final RetryStrategy strategy;
  private final RandomGenerator random;
  private final AtomicBoolean complained = new AtomicBoolean();

  Pauses(RetryStrategy strategy, RandomGenerator random) {
    this.strategy = strategy;
    this.random = random;
  }

  /** Returns true if the strategy is user code, which may block. */
  boolean mayBlock() {
    return !DEFAULT.equals(strategy);
  }

  long byDefaultNanos(int failures, Cause cause) {
    return DEFAULT.delay(failures, cause, random).toNanos();
  }

  /** Returns the pause that the strategy chooses. It may block. Never throws. */
  long chosenNanos(int failures, Cause cause) {
    try {
      Duration chosen = strategy.delay(failures, cause, random);
      if (chosen.isNegative()) {
        throw new IllegalArgumentException("a negative pause: " + chosen);
      }
      return chosen.toNanos();
    } catch (RuntimeException | Error e) { // of the strategy, or for null or centuries
      if (!complained.getAndSet(true)) {
        Log.LOG.warn(
            "The retry strategy failed; the default one decides whenever it fails (logged once)",
            e);
      }
      return byDefaultNanos(failures, cause);
    }
  }
}
