package io.redlock;

import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Who waits for what within one lock service: one line per resource (or set of resources), first
 * come, first served. Only the head of a line asks the nodes, and not even that while a lease of
 * this very service holds the resource: it is told when that lease ends, which is when its grants
 * stand right behind the release in every node's line. So a hot key costs the nodes no more than
 * its acquires and releases, however many wait.
 */
final class LocalLines {

  /**
   * So many leases in a row go to the head of the local line at once; then it pauses, so that other
   * processes, which can only poll, get their chance.
   */
  private static final int HANDOFFS_IN_A_ROW = 16;

  private static final long COURTESY_NANOS = 2_000_000;

  private static final class Line {
    final ArrayDeque<AcquireLoop> waiting = new ArrayDeque<>(0);
    int leases;
    int handoffs;
  }

  private final Map<List<String>, Line> lines = new HashMap<>(); // guarded by this

  /** Joins the end of the line. True if the call may ask the nodes now. */
  synchronized boolean join(AcquireLoop call) {
    Line line = lines.computeIfAbsent(call.names(), names -> new Line());
    line.waiting.add(call);
    return line.leases == 0 && line.waiting.peek() == call;
  }

  /** Whether the call is the head of its line and no lease of this service is in its way. */
  synchronized boolean mayAsk(AcquireLoop call) {
    Line line = lines.get(call.names());
    return line != null && line.leases == 0 && line.waiting.peek() == call;
  }

  /** Leaves the line, from wherever in it; the next may be the new head. */
  void leave(AcquireLoop call) {
    AcquireLoop next = null;
    synchronized (this) {
      Line line = lines.get(call.names());
      if (line == null) {
        return;
      }
      boolean wasHead = line.waiting.peek() == call;
      line.waiting.remove(call);
      if (wasHead && line.leases == 0) {
        next = line.waiting.peek();
      }
      removeIfEmpty(call.names(), line);
    }
    proceed(next, 0);
  }

  /** A lease of this service holds the resource. */
  synchronized void leased(List<String> names) {
    lines.computeIfAbsent(names, absent -> new Line()).leases++;
  }

  /** That lease has ended, and its release, if any, is on its way. */
  void ended(List<String> names) {
    AcquireLoop next = null;
    long delayNanos = 0;
    synchronized (this) {
      Line line = lines.get(names);
      if (line == null) {
        return;
      }
      if (--line.leases == 0) {
        next = line.waiting.peek();
        // A fair one stands behind the tickets of the others anyway.
        if (next != null && !next.isFair() && ++line.handoffs % HANDOFFS_IN_A_ROW == 0) {
          delayNanos = COURTESY_NANOS;
        }
      }
      removeIfEmpty(names, line);
    }
    proceed(next, delayNanos);
  }

  private void removeIfEmpty(List<String> names, Line line) {
    if (line.leases == 0 && line.waiting.isEmpty()) {
      lines.remove(names);
    }
  }

  private static void proceed(@Nullable AcquireLoop next, long delayNanos) {
    if (next != null) {
      next.proceed(delayNanos);
    }
  }
}
