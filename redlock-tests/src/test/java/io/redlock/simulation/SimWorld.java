package io.redlock.simulation;

import java.util.Arrays;
import java.util.Set;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Virtual time. Everything that happens is an event at a true time, which nobody in the simulation
 * can read; events at one time happen in the order in which they were planned. No thread, no sleep.
 *
 * <p>{@link #runUntil} may be called from within an event: the caller's stack then stands still
 * while the world goes on, which is how a thread is paused between two of its steps.
 */
final class SimWorld {

  /** More than this many stacks do not stand still at once. */
  static final int MAX_DEPTH = 4;

  private static final long MAX_DELAY_NANOS = 1_000_000_000_000_000L;

  /** Something that will happen unless it is cancelled. */
  static final class Event {
    final long atNanos;
    private final long sequence;
    private @Nullable Runnable action;

    private Event(long atNanos, long sequence, Runnable action) {
      this.atNanos = atNanos;
      this.sequence = sequence;
      this.action = action;
    }

    void cancel() {
      action = null;
    }

    private boolean isBefore(Event other) {
      return atNanos < other.atNanos || (atNanos == other.atNanos && sequence < other.sequence);
    }
  }

  /** The planned events as a binary heap: half the time of a queue that calls a comparison. */
  private static final class Plan {
    private Event[] heap = new Event[1 << 10];
    private int size;

    @Nullable Event first() {
      return size == 0 ? null : heap[0];
    }

    void add(Event event) {
      if (size == heap.length) {
        heap = Arrays.copyOf(heap, 2 * size);
      }
      int place = size++;
      while (place > 0 && event.isBefore(heap[(place - 1) / 2])) {
        heap[place] = heap[(place - 1) / 2];
        place = (place - 1) / 2;
      }
      heap[place] = event;
    }

    void removeFirst() {
      Event last = heap[--size];
      int place = 0;
      int below = 1;
      while (below < size) {
        if (below + 1 < size && heap[below + 1].isBefore(heap[below])) {
          below++;
        }
        if (!heap[below].isBefore(last)) {
          break;
        }
        heap[place] = heap[below];
        place = below;
        below = 2 * place + 1;
      }
      heap[place] = last;
    }
  }

  /** Unwinds a stack that has nothing to wait for any more. */
  static final class Over extends Error {
    private static final long serialVersionUID = 1;

    private Over() {
      super("the run is over", null, false, false);
    }
  }

  final SimTrace trace;
  private final Plan events = new Plan();
  private final Set<SimInvariant> unchecked;
  private final long maxSteps;
  private Runnable afterEach = () -> {};
  private long nowNanos;
  private long planned;
  private long steps;
  private int depth;
  private @Nullable Violation violation;

  SimWorld(SimTrace trace, Set<SimInvariant> unchecked, long maxSteps) {
    this.trace = trace;
    this.unchecked = unchecked;
    this.maxSteps = maxSteps;
  }

  long nowNanos() {
    return nowNanos;
  }

  /** How many events have happened. */
  long steps() {
    return steps;
  }

  void afterEach(Runnable check) {
    afterEach = check;
  }

  Event at(long atNanos, Runnable action) {
    Event event = new Event(Math.max(atNanos, nowNanos), planned++, action);
    events.add(event);
    return event;
  }

  Event after(long delayNanos, Runnable action) {
    return at(nowNanos + Math.min(Math.max(delayNanos, 0), MAX_DELAY_NANOS), action);
  }

  /** Whether one more stack may stand still. */
  boolean mayNest() {
    return depth < MAX_DEPTH;
  }

  /** Lets everything happen up to and at that time. */
  void runUntil(long endNanos) {
    runWhile(() -> true, endNanos);
    if (violation == null) {
      nowNanos = Math.max(nowNanos, endNanos);
    }
  }

  /** Lets things happen while the condition holds, up to and at that time. */
  void runWhile(BooleanSupplier condition, long endNanos) {
    depth++;
    while (violation == null && condition.getAsBoolean() && step(endNanos)) {
      continue;
    }
    depth--;
  }

  private boolean step(long endNanos) {
    Event next = events.first();
    if (next == null || next.atNanos > endNanos) {
      return false;
    }
    events.removeFirst();
    Runnable action = next.action;
    if (action == null) {
      return true;
    }
    nowNanos = Math.max(nowNanos, next.atNanos);
    if (++steps > maxSteps) {
      violated(SimInvariant.I12, () -> "more than " + maxSteps + " events: something never ends");
      return false;
    }
    action.run();
    afterEach.run();
    return true;
  }

  /** The first violation ends the run. */
  void violated(SimInvariant invariant, Supplier<String> what) {
    if (violation == null && !unchecked.contains(invariant)) {
      violation = new Violation(invariant, nowNanos, what.get());
      trace.note(nowNanos, -1, () -> "VIOLATION " + violation);
    }
  }

  /** What a stack ends with that has nothing to wait for. */
  Over over() {
    return new Over();
  }

  @Nullable Violation violation() {
    return violation;
  }
}
