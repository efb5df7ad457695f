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
  private static final Duration PATIENCE = Duration.ofMinutes(5);

  private static final long SHORTEST_NANOS = TimeUnit.MILLISECONDS.toNanos(1);
  private static final long LONGEST_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

  /** The longest time of a scene is so many times its first. */
  private static final int MOST_TIME = 8;

  private Await() {}

  /** A part of a test that is conclusive only if it ends before something else happens. */
  public interface Scene<T> {
    /**
     * @param time how long the something takes, for example a ttl
     */
    T play(Duration time) throws Exception;
  }

  /**
   * Plays a scene. If it fails and took longer than half of its time, the machine stood still, and
   * it is played again with twice the time, up to eight times the first.
   */
  public static <T> T inTime(Duration least, Scene<T> scene) throws Exception {
    for (Duration time = least; ; time = time.multipliedBy(2)) {
      long start = System.nanoTime();
      try {
        return scene.play(time);
      } catch (Exception | AssertionError e) {
        boolean inTime = System.nanoTime() - start < time.toNanos() / 2;
        if (inTime || time.compareTo(least.multipliedBy(MOST_TIME)) >= 0) {
          throw e;
        }
      }
    }
  }

  /** Polls until the condition holds, ever more rarely; fails the test after five minutes. */
  public static void until(String expectation, BooleanSupplier condition) {
    until(expectation, PATIENCE, condition);
  }

  /** Polls until the condition holds, ever more rarely; fails the test after the patience given. */
  public static void until(String expectation, Duration patience, BooleanSupplier condition) {
    long start = System.nanoTime();
    while (!condition.getAsBoolean()) {
      long passed = System.nanoTime() - start;
      if (passed > patience.toNanos()) {
        throw new AssertionError("waited " + patience.toMillis() + " ms in vain: " + expectation);
      }
      if (Thread.currentThread().isInterrupted()) {
        throw new AssertionError("interrupted while waiting: " + expectation);
      }
      LockSupport.parkNanos(Math.min(LONGEST_NANOS, Math.max(SHORTEST_NANOS, passed / 50)));
    }
  }

  /**
   * The future's value; fails the test if it takes longer than five minutes, rethrows what it
   * threw.
   */
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
