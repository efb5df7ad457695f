package io.redlock.driver;

import io.redlock.RetryStrategy.Cause;
import java.util.Objects;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** The failed attempts of a call, and the pauses that follow them. Guarded by its call. */
final class Refusals {

  private static final int CAUSES = Cause.values().length;

  private final Pauses pauses;
  private final int[] failures = new int[CAUSES]; // of each cause
  private @Nullable AttemptEnd last;
  private boolean isStrategyBusy; // it has not answered, perhaps for an older plan

  Refusals(Pauses pauses) {
    this.pauses = pauses;
  }

  /** Takes an end after which the call tries another name. */
  void skip(AttemptEnd outcome) {
    last = outcome;
  }

  /** Takes an end after which the call pauses, or gives up. */
  void add(AttemptEnd outcome) {
    last = outcome;
    failures[outcome.cause().ordinal()]++;
  }

  @Nullable AttemptEnd last() {
    return last;
  }

  /** Returns the pause that the default strategy chooses. */
  long byDefaultNanos() {
    Cause cause = cause();
    return pauses.byDefaultNanos(failures[cause.ordinal()], cause);
  }

  /** Returns true if the call asks its strategy, which may block; else the default decides. */
  boolean asksStrategy() {
    boolean asks = !isStrategyBusy && pauses.mayBlock();
    isStrategyBusy |= asks;
    return asks;
  }

  /** Returns the question to the strategy. To be asked without locks. */
  LongSupplier question() {
    Cause cause = cause();
    int count = failures[cause.ordinal()];
    return () -> pauses.chosenNanos(count, cause);
  }

  /** Takes notice that the strategy has answered. */
  void answered() {
    isStrategyBusy = false;
  }

  private Cause cause() {
    return Objects.requireNonNull(last).cause();
  }
}
