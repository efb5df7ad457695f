package io.redlock.driver;

import io.redlock.spi.Scheduler;
import io.redlock.spi.Ticker;
import java.util.ArrayDeque;
import java.util.List;

/**
 * The node timeouts of all rounds. All are equally long, so a queue keeps them in order and one
 * task in the scheduler serves them all. A round costs no timer of its own. Each that is added
 * removes those before it that are decided, so a busy service keeps no past rounds in memory.
 */
final class Timeouts {

  /** An operation that waits for nodes. */
  interface Timed {
    /** Returns true if it no longer waits. */
    boolean isDecided();

    /** Called when the node timeout has passed. */
    void onTimeout();
  }

  private static final class Entry {
    private final Timed operation;
    private long deadlineNanos;

    Entry(Timed operation, long deadlineNanos) {
      this.operation = operation;
      this.deadlineNanos = deadlineNanos;
    }
  }

  private final Scheduler scheduler;
  private final Ticker ticker;
  private final long timeoutNanos;

  private final ArrayDeque<Entry> entries = new ArrayDeque<>(); // guarded by this
  private boolean scheduled; // guarded by this
  private boolean closed; // guarded by this
  private final Runnable tick = this::tick;

  Timeouts(Scheduler scheduler, Ticker ticker, long timeoutNanos) {
    this.scheduler = scheduler;
    this.ticker = ticker;
    this.timeoutNanos = timeoutNanos;
  }

  /**
   * Calls {@link Timed#onTimeout} a node timeout after the start, unless it is decided then; at
   * once if this is closed.
   */
  void add(Timed operation, long startNanos) {
    boolean tooLate;
    synchronized (this) {
      tooLate = closed;
      if (!tooLate) {
        removeDecided();
        entries.add(new Entry(operation, startNanos + timeoutNanos));
        if (scheduled) {
          return;
        }
        scheduled = true;
      }
    }
    if (tooLate) {
      strike(operation);
    } else {
      arm(timeoutNanos);
    }
  }

  /** Ends all waits now: the scheduler is about to close, and runs no more ticks. */
  void close() {
    List<Entry> open;
    synchronized (this) {
      closed = true;
      open = List.copyOf(entries);
      entries.clear();
    }
    open.forEach(each -> strike(each.operation));
  }

  private void removeDecided() {
    assert Thread.holdsLock(this);
    while (!entries.isEmpty() && entries.getFirst().operation.isDecided()) {
      entries.removeFirst();
    }
  }

  /** Returns the number of timeouts that are kept. */
  synchronized int kept() {
    return entries.size();
  }

  /** Plans the next timeout, if memory was short when it should have been planned. */
  void check() {
    synchronized (this) {
      if (scheduled || entries.isEmpty()) {
        return;
      }
      scheduled = true;
    }
    arm(0);
  }

  private void tick() {
    long nextNanos = timeoutNanos; // if this fails
    try {
      nextNanos = strikeAllDue();
    } finally {
      if (nextNanos >= 0) {
        arm(nextNanos);
      }
    }
  }

  /** Runs all due timeouts; returns the time until the next one, −1 if there is none. */
  private long strikeAllDue() {
    while (true) {
      Entry due;
      long nowNanos;
      synchronized (this) {
        removeDecided();
        if (entries.isEmpty()) {
          scheduled = false;
          return -1;
        }
        nowNanos = ticker.monotonicNanos();
        long leftNanos = entries.getFirst().deadlineNanos - nowNanos;
        if (leftNanos > 0) {
          return leftNanos;
        }
        due = entries.removeFirst();
      }
      boolean isStruck = false;
      try {
        isStruck = strike(due.operation);
      } finally {
        if (!isStruck) {
          synchronized (this) {
            due.deadlineNanos = nowNanos + timeoutNanos;
            entries.add(due); // in the place that it had
          }
        }
      }
    }
  }

  private void arm(long delayNanos) {
    try {
      scheduler.schedule(tick, delayNanos);
    } catch (Throwable e) {
      synchronized (this) {
        scheduled = false; // so that the next round or check arms it
      }
      throw e;
    }
  }

  /** Returns false if there was no memory to do it. */
  private static boolean strike(Timed due) {
    try {
      if (!due.isDecided()) {
        due.onTimeout();
      }
    } catch (OutOfMemoryError e) {
      Log.LOG.error("A timeout comes again after a node timeout: memory is short", e);
      return false;
    } catch (Throwable e) { // one defect must not stop the other timeouts
      Log.LOG.error("A timeout failed; this is a defect of the lock library", e);
    }
    return true;
  }
}
