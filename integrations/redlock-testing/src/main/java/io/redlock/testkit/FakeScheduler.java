package io.redlock.testkit;

import io.redlock.spi.Scheduler;
import java.time.Duration;
import java.util.Comparator;
import java.util.TreeSet;
import java.util.function.BooleanSupplier;

/**
 * Runs tasks in virtual time, on the calling thread, in the order of due time, then of being set.
 * The ticker moves only here, to the time of the next task. Timers are thread-safe; one thread at a
 * time may run tasks.
 */
public class FakeScheduler implements Scheduler {

  private final FakeTicker ticker;
  private final TreeSet<FakeTimer> timers =
      new TreeSet<>(
          Comparator.comparingLong((FakeTimer timer) -> timer.dueNanos)
              .thenComparingLong(timer -> timer.sequence)); // guarded by this
  private long times; // guarded by this
  private boolean closed; // guarded by this

  /**
   * Creates a scheduler without timers.
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
  public Timer timer(Runnable task) {
    return new FakeTimer(task);
  }

  @Override
  public synchronized void close() {
    closed = true;
    timers.clear();
  }

  /** Returns the number of timers that are set. */
  public synchronized int pending() {
    return timers.size();
  }

  /** Moves time to the next task and runs it. Returns false if there is none. */
  public boolean runNext() {
    return runNextBefore(Long.MAX_VALUE);
  }

  /**
   * Lets this time pass and runs the tasks that become due, also those for which they set timers.
   */
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
    FakeTimer next;
    synchronized (this) {
      if (timers.isEmpty() || timers.first().dueNanos > endNanos) {
        return false;
      }
      next = timers.pollFirst();
    }
    ticker.advanceNanos(Math.max(0, next.dueNanos - ticker.monotonicNanos()));
    next.task.run();
    return true;
  }

  private final class FakeTimer implements Timer {
    private final Runnable task;
    private long dueNanos; // guarded by the scheduler, as what follows; unchanged while it is set
    private long sequence;

    private FakeTimer(Runnable task) {
      this.task = task;
    }

    @Override
    public void set(long atNanos) {
      synchronized (FakeScheduler.this) {
        timers.remove(this);
        if (!closed) {
          dueNanos = atNanos;
          sequence = times++;
          timers.add(this);
        }
      }
    }

    @Override
    public void cancel() {
      synchronized (FakeScheduler.this) {
        timers.remove(this);
      }
    }
  }
}
