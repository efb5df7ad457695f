package io.redlock.simulation;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A world with its virtual time and all that is in it. Everything that happens is an event at a
 * true time, which nobody in the simulation can read; events at one time happen in the order in
 * which they were planned. No sleep, and one thread at a time.
 *
 * <p>{@link #runUntil} may be called from within an event: the caller's stack then stands still
 * while the world goes on, which is how a thread is paused between two of its steps.
 */
final class SimWorld {

  /** More than this many stacks do not stand still at once. */
  static final int MAX_DEPTH = 4;

  private static final long MAX_DELAY_NANOS = 1_000_000_000_000_000L;

  /** Something that will happen unless it is cancelled. */
  static final class Event implements Comparable<Event> {
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

    @Override
    public int compareTo(Event other) {
      int byTime = Long.compare(atNanos, other.atNanos);
      return byTime != 0 ? byTime : Long.compare(sequence, other.sequence);
    }
  }

  /** Unwinds a stack that has nothing to wait for any more. */
  static final class Over extends Error {
    private static final long serialVersionUID = 1;

    private Over() {
      super("the run is over", null, false, false);
    }
  }

  final SimPlan plan;
  final Parts parts;
  final SimTrace trace;
  final Map<SimFault, Long> faults = new EnumMap<>(SimFault.class); // how often each has struck
  final List<SimServer> servers = new ArrayList<>();
  final List<SimClient> clients = new ArrayList<>();
  final List<SimThread> threads = new ArrayList<>();
  final Checker checker;
  private final PriorityQueue<Event> events = new PriorityQueue<>();
  private long nowNanos;
  private long planned;
  private long steps;
  private int depth;
  private @Nullable Violation violation;

  /** A world in which nothing is broken, and of which no trace can be read. */
  SimWorld(SimPlan plan) {
    this(plan, new Parts(), false);
  }

  SimWorld(SimPlan plan, Parts parts, boolean readable) {
    this.plan = plan;
    this.parts = parts;
    trace = new SimTrace(readable);
    checker = new Checker(this);
  }

  long nowNanos() {
    return nowNanos;
  }

  /** How many events have happened. */
  long steps() {
    return steps;
  }

  /** Something happens now that is told apart by a number. */
  void note(long number, Supplier<String> what) {
    trace.note(nowNanos, number, what);
  }

  /** Whether nothing goes wrong any more. */
  boolean isCalm() {
    return nowNanos >= plan.calmFromNanos();
  }

  /** So long, or only until nothing goes wrong any more. */
  long untilCalm(long nanos) {
    return Math.max(0, Math.min(nanos, plan.calmFromNanos() - nowNanos));
  }

  /** Whether a fault that strikes so many times of so many does so now, which is counted. */
  boolean strikes(SimFault fault, SimRandom random, long times, long ofTimes) {
    boolean strikes = plan.has(fault) && !isCalm() && random.nextLong(ofTimes) < times;
    if (strikes) {
      struck(fault);
    }
    return strikes;
  }

  /** Counts a fault. */
  void struck(SimFault fault) {
    faults.merge(fault, 1L, Long::sum);
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
    Event next = events.peek();
    if (next == null || next.atNanos > endNanos) {
      return false;
    }
    events.poll();
    Runnable action = next.action;
    if (action == null) {
      return true;
    }
    nowNanos = Math.max(nowNanos, next.atNanos);
    if (++steps > plan.maxSteps) {
      violated(
          SimInvariant.I12, () -> "more than " + plan.maxSteps + " events: something never ends");
      return false;
    }
    action.run();
    checker.holds.checkOverlaps();
    return true;
  }

  /** The first violation ends the run. */
  void violated(SimInvariant invariant, Supplier<String> what) {
    if (violation == null && !plan.unchecked.contains(invariant)) {
      violation = new Violation(invariant, nowNanos, what.get());
      note(-1, () -> "VIOLATION " + violation);
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
