package io.redlock.spi;

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
