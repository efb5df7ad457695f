package io.redlock.spi;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;

/**
 * Runs short tasks later. Every deadline, retry and renewal goes through it, so a simulation that
 * supplies its own scheduler controls all time.
 */
public interface Scheduler extends AutoCloseable {

  /**
   * Runs a task once, no earlier than after the delay. Tasks due at the same time run in the order
   * in which they were scheduled. After {@link #close()} the task is dropped.
   *
   * @param task the task: short, never blocking
   * @param delayNanos the delay from now, by the monotonic clock; zero or less for as soon as
   *     possible
   * @return a handle that cancels the task
   */
  Cancellable schedule(Runnable task, long delayNanos);

  /**
   * Runs a check about every 50 ms until {@link #close()}, also after memory was short: what was
   * left undone then is done by a check. By default it is never run, which is enough where memory
   * does not run short, as in virtual time.
   *
   * @param check the check: short, never blocking; it may throw
   */
  default void watch(Runnable check) {}

  /**
   * Waits for the value of a future; called by blocking methods. A scheduler of virtual time lets
   * time pass here. By default the thread blocks.
   *
   * @param future the future to wait for
   * @return its value
   * @throws InterruptedException if the thread is interrupted while it is blocked
   * @throws RuntimeException with which the future failed, unchanged
   * @throws IllegalStateException if it failed with anything else, which is the cause
   */
  default <T> T await(CompletableFuture<T> future) throws InterruptedException {
    try {
      return future.get();
    } catch (ExecutionException e) {
      if (e.getCause() instanceof RuntimeException cause) {
        throw cause;
      }
      throw new IllegalStateException(e.getCause());
    }
  }

  /** Waits likewise, whether the thread is interrupted or not. An interrupt stays set. */
  default <T> T awaitUninterruptibly(CompletableFuture<T> future) {
    boolean interrupted = false;
    try {
      while (true) {
        try {
          return await(future);
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /** Throws if the thread is interrupted, as a blocking method does before it begins. */
  static void checkInterrupt() throws InterruptedException {
    if (Thread.interrupted()) {
      throw new InterruptedException();
    }
  }

  /** Drops all pending tasks and runs no more. Never throws. Repeated calls do nothing. */
  @Override
  void close();

  /** A task that may not have run yet. */
  @FunctionalInterface
  interface Cancellable {
    /** Drops the task unless it has begun. A dropped task uses no memory in the scheduler. */
    void cancel();
  }
}
