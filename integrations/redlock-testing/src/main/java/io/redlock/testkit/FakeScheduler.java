package io.redlock.testkit;

import io.redlock.spi.Scheduler;
import java.time.Duration;
import java.util.Comparator;
import java.util.TreeSet;
import java.util.function.BooleanSupplier;

/**
 * Runs tasks in virtual time, on the calling thread, in the order of due time, then of scheduling.
 * The ticker moves only here, to the time of the next task. Scheduling and cancelling are
 * thread-safe; one thread at a time may run tasks.
 */
public class FakeScheduler implements Scheduler {

  private final FakeTicker ticker;
  private final TreeSet<Task> tasks =
      new TreeSet<>(
          Comparator.comparingLong((Task task) -> task.dueNanos)
              .thenComparingLong(task -> task.sequence)); // guarded by this
  private long scheduled; // guarded by this
  private boolean closed; // guarded by this

  /**
   * Creates a scheduler without tasks.
   *
   * @param ticker the clocks that move with it
   */
  public FakeScheduler(FakeTicker ticker) {
    this.ticker = ticker;
  }

  /** Returns the clocks that move with it. */
  public FakeTicker ticker() {
    return ticker;
  }

  @Override
  public synchronized Cancellable schedule(Runnable task, long delayNanos) {
    if (closed) {
      return () -> {};
    }
    long nowNanos = ticker.monotonicNanos();
    long dueNanos = nowNanos + Math.min(Math.max(0, delayNanos), Long.MAX_VALUE - nowNanos);
    Task entry = new Task(task, dueNanos, scheduled++);
    tasks.add(entry);
    return () -> cancel(entry);
  }

  @Override
  public synchronized void close() {
    closed = true;
    tasks.clear();
  }

  /** Returns the number of scheduled tasks. */
  public synchronized int pending() {
    return tasks.size();
  }

  /** Moves time to the next task and runs it. Returns false if there is none. */
  public boolean runNext() {
    return runNextBefore(Long.MAX_VALUE);
  }

  /** Lets this time pass and runs the tasks that become due, also those that they schedule. */
  public void runFor(Duration span) {
    long endNanos = ticker.monotonicNanos() + span.toNanos();
    while (runNextBefore(endNanos)) {
      continue;
    }
    ticker.advanceNanos(Math.max(0, endNanos - ticker.monotonicNanos()));
  }

  /** Runs task after task until the condition holds. Fails if it does not within the limit. */
  public void runUntil(String expectation, Duration limit, BooleanSupplier condition) {
    long endNanos = ticker.monotonicNanos() + limit.toNanos();
    while (!condition.getAsBoolean()) {
      if (!runNextBefore(endNanos)) {
        throw new AssertionError("not within " + limit + " of virtual time: " + expectation);
      }
    }
  }

  private boolean runNextBefore(long endNanos) {
    Task next;
    synchronized (this) {
      if (tasks.isEmpty() || tasks.first().dueNanos > endNanos) {
        return false;
      }
      next = tasks.pollFirst();
    }
    ticker.advanceNanos(Math.max(0, next.dueNanos - ticker.monotonicNanos()));
    next.body.run();
    return true;
  }

  private synchronized void cancel(Task task) {
    tasks.remove(task);
  }

  private record Task(Runnable body, long dueNanos, long sequence) {}
}
