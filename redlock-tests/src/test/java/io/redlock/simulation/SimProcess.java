package io.redlock.simulation;

import io.redlock.spi.Quorum;
import io.redlock.spi.Ticker;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * One client process on its machine: its threads, which all stand still when the process is paused
 * or the machine suspended, and its machine's two clocks.
 */
final class SimProcess implements Ticker {

  /** One thread: does one thing at a time, in the order in which they came up. */
  final class Strand {
    private final ArrayDeque<Runnable> mailbox = new ArrayDeque<>();
    private boolean busy;

    /** Does it now, or once this thread is free and runs. */
    void run(Runnable task) {
      if (!dead) {
        mailbox.add(task);
        work();
      }
    }

    boolean isIdle() {
      return !busy && mailbox.isEmpty();
    }

    private void work() {
      if (busy) {
        return;
      }
      busy = true;
      Strand outer = current;
      while (!frozen && !dead && !mailbox.isEmpty()) {
        current = this;
        mailbox.remove().run();
      }
      current = outer;
      busy = false;
    }
  }

  private final String name;
  final Quorum quorum; // of the nodes that it knows
  final SimWorld world;
  final SimClock monotonic;
  final SimClock wall;
  private final SimPlan plan;
  private final SimRandom random;
  private final List<Strand> strands = new ArrayList<>();
  private Strand current; // whose code is running
  private @Nullable Strand schedulerStrand;
  private boolean frozen;
  private boolean closing;
  private int standing; // threads that stand still
  private boolean dead;
  private boolean observed;
  private @Nullable Strand blocked; // whose code waits for answers before it goes on
  private int awaiting; // stacks that stand still because their own code waits
  private long stoodStillNanos;
  private long thawedNanos; // when it last went on
  private long awakeSinceNanos; // the same, or when one of its threads did, by its own clock

  SimProcess(
      String name,
      SimWorld world,
      SimClock monotonic,
      SimClock wall,
      SimRandom random,
      Quorum quorum) {
    this.name = name;
    this.world = world;
    this.monotonic = monotonic;
    this.wall = wall;
    this.random = random;
    this.quorum = quorum;
    plan = world.plan;
    current = strand();
    awakeSinceNanos = monotonic.nanos();
  }

  Strand strand() {
    Strand strand = new Strand();
    strands.add(strand);
    return strand;
  }

  /** Returns the thread of its scheduler. */
  Strand schedulerStrand() {
    schedulerStrand = strand();
    return schedulerStrand;
  }

  /** Whether its scheduler has done what was due before now. */
  boolean schedulerIsIdle() {
    return schedulerStrand == null || schedulerStrand.isIdle();
  }

  boolean isDead() {
    return dead;
  }

  /** Whether no thread has anything to do and none stands still. */
  boolean isIdle() {
    return !frozen && strands.stream().allMatch(Strand::isIdle);
  }

  boolean isFrozen() {
    return frozen;
  }

  /** For how long, in sum, threads of this process have stood still so far. */
  long stoodStillNanos() {
    return stoodStillNanos;
  }

  /** Since when, on its monotonic clock, none of its threads has stood still. */
  long awakeSinceNanos() {
    return awakeSinceNanos;
  }

  /** Its lock service is being closed. */
  void closing() {
    closing = true;
  }

  boolean isClosing() {
    return closing;
  }

  /** The process is gone; whatever its threads were about to do does not happen. */
  void die() {
    dead = true;
    strands.forEach(strand -> strand.mailbox.clear());
  }

  /** The whole process stands still for so long. */
  void freeze(long nanos) {
    if (!dead && !frozen) {
      frozen = true;
      stoodStillNanos += nanos;
      world.after(nanos, this::thaw);
    }
  }

  private void thaw() {
    frozen = false;
    thawedNanos = world.nowNanos();
    awakeSinceNanos = monotonic.nanos();
    // Not on a stack that may hold locks.
    world.after(0, () -> new ArrayList<>(strands).forEach(Strand::work));
  }

  private boolean strikes(SimFault fault) {
    return world.strikes(fault, random, plan.pausePerMillion, 1_000_000);
  }

  /** Between two steps of the client's code: sometimes the whole process stands still. */
  private void maybeFreezeHere() {
    if (!observed && !dead && !frozen && world.mayNest() && strikes(SimFault.CLIENT_PAUSE)) {
      long nanos = world.untilCalm(random.spread(1_000_000, 2 * plan.maxTtlNanos()));
      world.note(1, () -> this + " stands still for " + nanos + " ns");
      frozen = true;
      letPass(nanos);
      thaw();
    }
  }

  /** Between two steps of the client's code: sometimes the one thread stands still. */
  void maybeHoldUpThread() {
    if (!dead && !frozen && !isBlocked() && world.mayNest() && strikes(SimFault.THREAD_PAUSE)) {
      long nanos = world.untilCalm(random.spread(10_000, plan.maxTtlNanos()));
      world.note(2, () -> this + ": a thread stands still, " + nanos);
      standStill(nanos);
    }
  }

  /** The thread stands still for so long; the others go on. */
  void standStill(long nanos) {
    if (nanos > 0 && !dead && !frozen && !isBlocked() && world.mayNest()) {
      standing++;
      letPass(nanos);
      long thenNanos = world.nowNanos();
      world.runWhile(() -> frozen && !dead, Long.MAX_VALUE);
      standing--;
      // Other stacks may have stood still on top of this one when the process went on.
      stoodStillNanos += world.nowNanos() - Math.max(thenNanos, thawedNanos);
    }
  }

  /** Whether a caller waits inside a call. */
  boolean isBlocked() {
    return blocked != null;
  }

  /**
   * Runs a call that waits for what others do, if no other thread is at work: one that stands still
   * beneath could not go on.
   *
   * @return whether it was run
   */
  boolean blocking(Runnable call) {
    if (dead || frozen || isBlocked() || !othersAreIdle() || !world.mayNest()) {
      return false;
    }
    blocked = current;
    try {
      call.run();
    } catch (SimWorld.Over e) {
      world.note(10, () -> this + ": the run is over");
    } finally {
      blocked = null;
    }
    return true;
  }

  /** The thread waits until that is so, for so long at most; the others go on. */
  void await(BooleanSupplier answered, long nanos) {
    if (world.mayNest()) {
      long endNanos = monotonic.nanos() + nanos;
      awaiting++;
      world.runWhile(
          () -> frozen || (!answered.getAsBoolean() && monotonic.nanos() - endNanos < 0),
          Long.MAX_VALUE);
      awaiting--;
    }
  }

  private boolean othersAreIdle() {
    for (Strand strand : strands) {
      if (strand != current && !strand.isIdle()) {
        return false;
      }
    }
    return true;
  }

  /** The world goes on for so long, or longer where other stacks stand still on top of this one. */
  private void letPass(long nanos) {
    long startNanos = world.nowNanos();
    world.runUntil(startNanos + nanos);
    stoodStillNanos += world.nowNanos() - startNanos;
    awakeSinceNanos = monotonic.nanos();
  }

  /** Whether a fault, or work, keeps it or one of its threads from going on. */
  boolean isHeldUp() {
    return frozen || standing > 0 || (awaiting == 0 && !isIdle());
  }

  @Override
  public long monotonicNanos() {
    maybeFreezeHere();
    long now = monotonic.nanos();
    maybeFreezeHere();
    return now;
  }

  @Override
  public long wallMicros() {
    maybeFreezeHere();
    long now = wall.micros();
    maybeFreezeHere();
    return now;
  }

  /** Asks the client's code something without any time passing. */
  <T> T observe(Supplier<T> question) {
    boolean outer = observed;
    observed = true;
    T answer = question.get();
    observed = outer;
    return answer;
  }

  @Override
  public String toString() {
    return name;
  }
}
