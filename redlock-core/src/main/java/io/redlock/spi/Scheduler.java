package io.redlock.spi;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;

/**
 * Makes timers. Every deadline, retry and renewal goes through it, so a simulation that supplies
 * its own scheduler controls all time.
 */
public interface Scheduler extends AutoCloseable {

  /**
   * Makes a timer, which is not set. It lives as long as the scheduler, so nothing makes one for
   * each call, lease or request.
   *
   * @param task what it runs: short, never blocking
   */
  Timer timer(Runnable task);

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

  /** Cancels all timers and runs no more tasks. Never throws. Repeated calls do nothing. */
  @Override
  void close();

  /**
   * Runs its task at a time. Takes memory when it is made, and none when it is set, so that setting
   * cannot fail. Thread-safe.
   */
  interface Timer {

    /**
     * Runs the task once, no earlier than at this time, and not at one that was set before. Tasks
     * run in the order of their times. Real time runs a task that throws again 50 ms later, unless
     * the timer was set meanwhile.
     *
     * @param atNanos a time of the monotonic clock; one that has passed is as soon as possible
     */
    void set(long atNanos);

    /** Cancels the time that was set, unless the task has begun. */
    void cancel();
  }
}
