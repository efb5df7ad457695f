package io.redlock.testbed;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** Waits for what a test expects to come true; a sentence says what never came. */
public final class Await {

  /** Long enough for a busy machine; reached only by a test that fails. */
  private static final Duration PATIENCE = Duration.ofSeconds(60);

  private static final long POLL_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

  private Await() {}

  /** Polls every millisecond until the condition holds; fails the test after 60 s. */
  public static void until(String expectation, BooleanSupplier condition) {
    until(expectation, PATIENCE, condition);
  }

  /** Polls every millisecond until the condition holds; fails the test after the patience given. */
  public static void until(String expectation, Duration patience, BooleanSupplier condition) {
    long start = System.nanoTime();
    while (!condition.getAsBoolean()) {
      if (System.nanoTime() - start > patience.toNanos()) {
        throw new AssertionError("waited " + patience.toMillis() + " ms in vain: " + expectation);
      }
      if (Thread.currentThread().isInterrupted()) {
        throw new AssertionError("interrupted while waiting: " + expectation);
      }
      LockSupport.parkNanos(POLL_NANOS);
    }
  }

  /** The future's value; fails the test if it takes longer than 60 s, rethrows what it threw. */
  public static <T> T value(String expectation, CompletableFuture<T> future) {
    try {
      return future.get(PATIENCE.toNanos(), TimeUnit.NANOSECONDS);
    } catch (TimeoutException e) {
      throw new AssertionError("waited " + PATIENCE.toMillis() + " ms in vain: " + expectation, e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AssertionError("interrupted while waiting: " + expectation, e);
    } catch (ExecutionException e) {
      throw new AssertionError("failed instead: " + expectation, e.getCause());
    }
  }
}
