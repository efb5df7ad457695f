package io.redlock.driver;

import io.redlock.LeaseEnd;
import io.redlock.LeaseStatus;
import io.redlock.spi.Scheduler;
import io.redlock.spi.Ticker;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * All leases that have not ended. Each has its own timer on the monotonic clock. A coarse tick
 * compares that clock with the wall clock; if the wall clock has run ahead (the machine was
 * suspended, or the clock was set), every lease checks its deadline again. The tick also wakes what
 * had no memory to set a timer.
 */
final class LiveLeases {

  /** A lease that has not ended. */
  interface Live {
    /** Does what is due. */
    void check();

    /** Finds out whether a quorum still holds it after this node was reset. */
    void reaffirm(int node);

    /** Ends it, and leaves its keys to expire. */
    void abandon(LeaseEnd how);

    /** Returns its state; empty if it has ended. */
    Optional<LeaseStatus> status();
  }

  /** Something that plans what it does next, and may have no memory to plan it. */
  abstract static class Planned {
    private @Nullable Planned nextStalled; // guarded by the leases; a chain takes no memory
    private boolean isStalled; // guarded by the leases

    /** Does what is due, then plans what is due next. */
    abstract void wake();
  }

  private static final long TICK_NANOS = 50_000_000;
  private static final long STEP_MICROS = 5_000;

  private final Scheduler scheduler;
  private final Ticker ticker;

  private final Set<Live> leases = new LinkedHashSet<>(); // guarded by this
  private final Runnable tick = this::tick;
  private boolean ticking; // guarded by this
  private long checkedAheadMicros; // guarded by this
  private boolean mustCheck; // guarded by this
  private @Nullable Planned stalled; // guarded by this; the first of its chain

  LiveLeases(Scheduler scheduler, Ticker ticker) {
    this.scheduler = scheduler;
    this.ticker = ticker;
  }

  void add(Live lease) {
    synchronized (this) {
      leases.add(lease);
      if (ticking) {
        return;
      }
      checkedAheadMicros = wallAheadMicros(); // first, because it may find no memory
      ticking = true;
    }
    scheduleTick();
  }

  private void scheduleTick() {
    try {
      scheduler.schedule(tick, TICK_NANOS);
    } catch (Throwable e) {
      synchronized (this) {
        ticking = false; // so that the next lease or check schedules it again
      }
      throw e;
    }
  }

  /** Goes on, and checks all leases, if memory was short when the next tick should be scheduled. */
  void check() {
    synchronized (this) {
      if (ticking || isIdle()) {
        return;
      }
      ticking = true;
      mustCheck = true;
    }
    scheduleTick();
  }

  synchronized void remove(Live lease) {
    leases.remove(lease);
  }

  synchronized List<Live> snapshot() {
    return new ArrayList<>(leases);
  }

  /** Returns the states of the leases, in the order in which they were acquired. */
  List<LeaseStatus> statuses() {
    return snapshot().stream().map(Live::status).flatMap(Optional::stream).toList();
  }

  /** Runs the action for each lease; a failure for one does not affect the others. */
  void forEach(Consumer<Live> action) {
    each(snapshot(), action);
  }

  private boolean isIdle() {
    return leases.isEmpty() && stalled == null;
  }

  /** Has the next tick wake what could not be planned. */
  synchronized void stalled(Planned late) {
    if (!late.isStalled) {
      late.isStalled = true;
      late.nextStalled = stalled;
      stalled = late;
    }
  }

  /** Wakes what could not be planned. */
  void wakeStalled() {
    Planned next;
    synchronized (this) {
      next = stalled;
      stalled = null;
    }
    while (next != null) {
      Planned late = next;
      synchronized (this) {
        next = late.nextStalled;
        late.nextStalled = null;
        late.isStalled = false;
      }
      try {
        late.wake();
      } catch (OutOfMemoryError e) { // it has stalled again
        Log.LOG.error("{} goes on with the next tick: memory is short", late, e);
      } catch (Throwable e) {
        Log.LOG.error("{} could not go on; this is a defect of the lock library", late, e);
      }
    }
  }

  private static void each(List<Live> leases, Consumer<Live> action) {
    Live failed = null;
    Throwable why = null;
    for (Live lease : leases) {
      try {
        action.accept(lease);
      } catch (Throwable e) {
        failed = lease;
        why = e;
      }
    }
    if (failed != null) { // last, because even a line takes memory
      Log.LOG.error("{} could not be checked; this is a defect of the lock library", failed, why);
    }
  }

  private long wallAheadMicros() {
    return ticker.wallMicros() - ticker.monotonicNanos() / 1_000;
  }

  private void tick() {
    synchronized (this) {
      if (isIdle()) {
        ticking = false;
        return;
      }
    }
    scheduleTick();
    wakeStalled();
    List<Live> toCheck = List.of();
    synchronized (this) {
      long aheadMicros = wallAheadMicros();
      mustCheck |= aheadMicros - checkedAheadMicros > STEP_MICROS; // L2
      if (mustCheck || aheadMicros < checkedAheadMicros) {
        checkedAheadMicros = aheadMicros;
      }
      if (mustCheck) {
        toCheck = new ArrayList<>(leases);
        mustCheck = false;
      }
    }
    each(toCheck, Live::check);
  }
}
