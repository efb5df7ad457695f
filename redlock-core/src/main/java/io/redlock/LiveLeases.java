package io.redlock;

import io.redlock.spi.Scheduler;
import io.redlock.spi.Ticker;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * All leases that have not ended. Each has a timer of its own on the monotonic clock; here a coarse
 * tick compares that clock with the wall clock and, when the wall clock has run ahead (a suspended
 * machine, a step), has every lease look at its deadline again.
 */
final class LiveLeases {

  private static final long TICK_NANOS = 50_000_000;
  private static final long STEP_MICROS = 5_000;

  private final Scheduler scheduler;
  private final Ticker ticker;

  private final Set<HeldLease> leases = new LinkedHashSet<>(); // guarded by this
  private boolean ticking; // guarded by this
  private long checkedAheadMicros; // guarded by this

  LiveLeases(Scheduler scheduler, Ticker ticker) {
    this.scheduler = scheduler;
    this.ticker = ticker;
  }

  void add(HeldLease lease) {
    synchronized (this) {
      leases.add(lease);
      if (ticking) {
        return;
      }
      ticking = true;
      checkedAheadMicros = wallAheadMicros();
    }
    scheduler.schedule(this::tick, TICK_NANOS);
  }

  synchronized void remove(HeldLease lease) {
    leases.remove(lease);
  }

  synchronized List<HeldLease> snapshot() {
    return new ArrayList<>(leases);
  }

  private long wallAheadMicros() {
    return ticker.wallMicros() - ticker.monotonicNanos() / 1_000;
  }

  private void tick() {
    List<HeldLease> toCheck = List.of();
    synchronized (this) {
      if (leases.isEmpty()) {
        ticking = false;
        return;
      }
      long aheadMicros = wallAheadMicros();
      if (aheadMicros - checkedAheadMicros > STEP_MICROS) {
        toCheck = new ArrayList<>(leases);
        checkedAheadMicros = aheadMicros;
      } else if (aheadMicros < checkedAheadMicros) {
        checkedAheadMicros = aheadMicros;
      }
    }
    scheduler.schedule(this::tick, TICK_NANOS);
    toCheck.forEach(HeldLease::checkDeadline);
  }
}
