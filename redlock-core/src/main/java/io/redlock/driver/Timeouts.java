package io.redlock.driver;

import io.redlock.spi.Scheduler;
import io.redlock.spi.Ticker;
import java.util.ArrayDeque;
import java.util.List;

/**
 * The node timeouts of all rounds. All are equally long, so a queue keeps them in order and one
 * task in the scheduler serves them all. A round costs no timer of its own.
 */
final class Timeouts {

  /** An operation that waits for nodes. */
  interface Timed {
    /** Returns true if it no longer waits. */
    boolean isDecided();

    /** Called when the node timeout has passed. */
    void onTimeout();
  }

  private record Entry(Timed operation, long deadlineNanos) {}

  private final Scheduler scheduler;
  private final Ticker ticker;
  private final long timeoutNanos;

  private final ArrayDeque<Entry> entries = new ArrayDeque<>(); // guarded by this
  private boolean scheduled; // guarded by this
  private boolean closed; // guarded by this

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
      Timed due = null;
      synchronized (this) {
        long nowNanos = ticker.monotonicNanos();
        while (due == null && !entries.isEmpty()) {
          Entry head = entries.getFirst();
          if (head.operation.isDecided()) {
            entries.removeFirst();
          } else if (head.deadlineNanos - nowNanos <= 0) {
            due = entries.removeFirst().operation;
          } else {
            return head.deadlineNanos - nowNanos;
          }
        }
        if (due == null) {
          scheduled = false;
          return -1;
        }
      }
      strike(due);
    }
  }

  private void arm(long delayNanos) {
    boolean armed = false;
    try {
      scheduler.schedule(this::tick, delayNanos);
      armed = true;
    } finally {
      if (!armed) {
        synchronized (this) {
          scheduled = false; // so that the next round arms it
        }
      }
    }
  }

  private static void strike(Timed due) {
    try {
      if (!due.isDecided()) {
        due.onTimeout();
      }
    } catch (Throwable e) { // one defect must not stop the other timeouts
      Log.LOG.error("A timeout failed; this is a defect of the lock library", e);
    }
  }
}
