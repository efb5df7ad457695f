package io.redlock.spi;

import java.util.concurrent.CancellationException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;

/**
 * Runs short tasks later. Every deadline, retry and renewal goes through here and nowhere else, so
 * a simulation that supplies its own scheduler owns all of time.
 */
public interface Scheduler extends AutoCloseable {

  /**
   * Runs a task once, no earlier than after the delay. Tasks due at the same time run in the order
   * in which they were scheduled. After {@link #close()} the task is dropped.
   *
   * @param task short, never blocking
   * @param delayNanos from now, by the monotonic clock; at most 0 means as soon as possible
   * @return a handle that cancels the task
   */
  Cancellable schedule(Runnable task, long delayNanos);

  /**
   * Waits, for a blocking call, until a future is complete, no matter how. A scheduler whose time
   * does not pass by itself lets it pass here; by default the thread is blocked.
   *
   * @param future what to wait for
   * @throws InterruptedException if the thread is interrupted while it is blocked
   */
  default void await(Future<?> future) throws InterruptedException {
    try {
      future.get();
    } catch (ExecutionException | CancellationException completed) {
      // so it is over, which is all that was asked
    }
  }

  /** Drops what is pending and runs nothing more. Never throws. Repeated calls do nothing. */
  @Override
  void close();

  /** A task that may not have run yet. */
  @FunctionalInterface
  interface Cancellable {
    /** Drops the task unless it has begun; afterwards it occupies no memory in the scheduler. */
    void cancel();
  }
}
