package io.redlock.driver;

import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The calls of one lock service that wait: one line per resource (or set of resources), first come,
 * first served. Only the head of a line asks the nodes, and not even that while a lease of this
 * very service holds the resource: it proceeds when that lease ends, which is when its grants stand
 * right behind the release in every node's line. So a hot key costs the nodes no more than its
 * acquires and releases, however many wait.
 *
 * <p>A head may fail, and leave, before it has been told to proceed to the end, and so may the
 * next. So a line is handed on by one thread at a time, in a loop: no stack grows with the line.
 */
final class LocalQueues {

  /** A call that waits in a line. */
  interface Waiter {
    /** The line in which it waits. */
    List<String> names();

    boolean isFair();

    /** The line has moved, and this waiter is its head. Neither blocks nor throws. */
    void proceed(long delayNanos);
  }

  /**
   * So many leases in a row go to the head of the local line at once; then it pauses, so that other
   * processes, which can only poll, get their chance.
   */
  private static final int HANDOFFS_IN_A_ROW = 16;

  private static final long COURTESY_NANOS = 2_000_000;

  private static final class Line {
    final LinkedHashSet<Waiter> waiting = new LinkedHashSet<>(2);
    int leases;
    int handoffs;
    boolean isHandedOn; // some thread is in handOn()
    boolean hasMoved; // its head has not been told yet
    long delayNanos;
    @Nullable AttemptEnd refusal; // of the last attempt, if that failed

    @Nullable Waiter head() {
      return waiting.isEmpty() ? null : waiting.iterator().next();
    }

    boolean mayAsk(Waiter call) {
      return leases == 0 && head() == call;
    }
  }

  private final Map<List<String>, Line> lines = new HashMap<>(); // guarded by this, lines included

  /** True if nobody waits and nothing is leased. */
  synchronized boolean isEmpty() {
    return lines.isEmpty();
  }

  /** Joins the end of the line. True if the call may ask the nodes now. */
  synchronized boolean join(Waiter call) {
    Line line = lines.computeIfAbsent(call.names(), names -> new Line());
    line.waiting.add(call);
    return line.mayAsk(call);
  }

  /** True if the call is the head of its line and no lease of this service is in its way. */
  synchronized boolean mayAsk(Waiter call) {
    Line line = lines.get(call.names());
    return line != null && line.mayAsk(call);
  }

  /** The head has asked the nodes and failed. */
  synchronized void refused(Waiter call, AttemptEnd refusal) {
    Line line = lines.get(call.names());
    if (line != null) {
      line.refusal = refusal;
    }
  }

  /** The end of the line's last attempt; null if that succeeded, or if there was none. */
  synchronized @Nullable AttemptEnd refusal(Waiter call) {
    Line line = lines.get(call.names());
    return line == null ? null : line.refusal;
  }

  /** Leaves the line, from wherever in it; the next may be the new head. */
  void leave(Waiter call) {
    List<String> names = call.names();
    Line line;
    synchronized (this) {
      line = lines.get(names);
      if (line == null) {
        return;
      }
      boolean moves = line.mayAsk(call);
      line.waiting.remove(call);
      removeIfEmpty(names, line);
      if (!moves || isHandedOnElsewhere(line, 0)) {
        return;
      }
    }
    handOn(line);
  }

  /** A lease of this service holds the resource. */
  synchronized void leased(List<String> names) {
    Line line = lines.computeIfAbsent(names, absent -> new Line());
    line.leases++;
    line.refusal = null;
  }

  /** That lease has ended, and its release, if any, is on its way. */
  void ended(List<String> names) {
    Line line;
    synchronized (this) {
      line = lines.get(names);
      if (line == null || --line.leases > 0) {
        return;
      }
      Waiter next = line.head();
      if (next == null) {
        removeIfEmpty(names, line);
        return;
      }
      // A fair one stands behind the tickets of the others anyway.
      boolean pauses = !next.isFair() && ++line.handoffs % HANDOFFS_IN_A_ROW == 0;
      if (isHandedOnElsewhere(line, pauses ? COURTESY_NANOS : 0)) {
        return;
      }
    }
    handOn(line);
  }

  /** Notes that the line has moved; true if the thread that hands it on will see to that. */
  private boolean isHandedOnElsewhere(Line line, long delayNanos) {
    assert Thread.holdsLock(this);
    line.hasMoved = true;
    line.delayNanos = delayNanos;
    boolean elsewhere = line.isHandedOn;
    line.isHandedOn = true;
    return elsewhere;
  }

  private void handOn(Line line) {
    while (true) {
      Waiter next;
      long delayNanos;
      synchronized (this) {
        next = line.hasMoved && line.leases == 0 ? line.head() : null;
        delayNanos = line.delayNanos;
        line.hasMoved = false;
        if (next == null) {
          line.isHandedOn = false;
          return;
        }
      }
      boolean told = false;
      try {
        next.proceed(delayNanos);
        told = true;
      } finally {
        if (!told) { // short of memory: this must not be the end of the name
          synchronized (this) {
            line.isHandedOn = false;
          }
        }
      }
    }
  }

  private void removeIfEmpty(List<String> names, Line line) {
    if (line.leases == 0 && line.waiting.isEmpty()) {
      lines.remove(names);
    }
  }
}
