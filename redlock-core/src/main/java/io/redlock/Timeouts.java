package io.redlock;

import io.redlock.spi.Scheduler;
import io.redlock.spi.Ticker;
import java.util.ArrayDeque;
import java.util.List;

/**
 * The node timeouts of all rounds. They are all equally long, so a queue keeps them in order and
 * one task in the scheduler serves them all: a round that is decided in time, as nearly all are,
 * costs no timer of its own.
 */
final class Timeouts {

  /** Something that waits for nodes. */
  interface Waiting {
    /** Whether it no longer waits. */
    boolean isDecided();

    /** The node timeout has passed. */
    void onTimeout();
  }

  private record Entry(Waiting waiting, long deadlineNanos) {}

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
   * Calls {@link Waiting#onTimeout} a node timeout after the start, unless it is decided then; at
   * once if this is closed.
   */
  void add(Waiting waiting, long startNanos) {
    boolean tooLate;
    synchronized (this) {
      tooLate = closed;
      if (!tooLate) {
        entries.add(new Entry(waiting, startNanos + timeoutNanos));
        if (scheduled) {
          return;
        }
        scheduled = true;
      }
    }
    if (tooLate) {
      strike(waiting);
    } else {
      scheduler.schedule(this::tick, timeoutNanos);
    }
  }

  /** Nobody waits any longer: the scheduler is about to end, and may have taken a tick with it. */
  void close() {
    List<Entry> open;
    synchronized (this) {
      closed = true;
      open = List.copyOf(entries);
      entries.clear();
    }
    for (Entry each : open) {
      if (!each.waiting.isDecided()) {
        try {
          each.waiting.onTimeout();
        } catch (RuntimeException e) {
          Cluster.LOG.error("A timeout failed; this is a defect of the lock library", e);
        }
      }
    }
  }

  private void tick() {
    while (true) {
      Waiting due = null;
      long delayNanos = 0;
      synchronized (this) {
        long nowNanos = ticker.monotonicNanos();
        while (due == null && !entries.isEmpty()) {
          Entry head = entries.getFirst();
          if (head.waiting.isDecided()) {
            entries.removeFirst();
          } else if (head.deadlineNanos - nowNanos <= 0) {
            due = entries.removeFirst().waiting;
          } else {
            delayNanos = head.deadlineNanos - nowNanos;
            break;
          }
        }
        if (due == null && entries.isEmpty()) {
          scheduled = false;
          return;
        }
      }
      if (due == null) {
        scheduler.schedule(this::tick, delayNanos);
        return;
      }
      strike(due);
    }
  }

  private void strike(Waiting due) {
    boolean done = false;
    try {
      due.onTimeout();
      done = true;
    } finally {
      if (!done) {
        scheduler.schedule(this::tick, 0); // one defect must not stop every other timeout
      }
    }
  }
}
