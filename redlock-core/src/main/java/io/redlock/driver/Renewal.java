package io.redlock.driver;

import io.redlock.ExtendResult;
import io.redlock.protocol.Deadline;
import io.redlock.spi.Scheduler.Cancellable;
import org.jspecify.annotations.Nullable;

/**
 * Renews one lease: extends it every third of its ttl, and sooner after an unknown result, until it
 * ends or has been held for the request's longest hold. Due times are rounded down to a common
 * grid, so that many leases share the batches of the nodes' lanes.
 */
final class Renewal {

  private static final long GRID_NANOS = 10_000_000;
  private static final long FIRST_RETRY_NANOS = 10_000_000;
  private static final int MAX_DOUBLINGS = 16;

  private final Extension.Extendable lease;
  private final ServiceContext context;
  private final long ttlMillis;
  private final Deadline until;

  private int failures; // guarded by this
  private @Nullable Cancellable timer; // guarded by this
  private boolean stalled; // guarded by this; an error prevented the next extension
  private boolean stopped; // guarded by this

  Renewal(Extension.Extendable lease, ServiceContext context, long ttlMillis, Deadline until) {
    this.lease = lease;
    this.context = context;
    this.ttlMillis = ttlMillis;
    this.until = until;
  }

  void start() {
    scheduleNext(ttlMillis * 1_000_000 / 3); // E9
  }

  synchronized void stop() {
    stopped = true;
    if (timer != null) {
      timer.cancel();
    }
  }

  /** Returns true if the lease has been held for as long as it may be renewed. */
  boolean isOver() {
    return until.remainingNanos(context.ticker.monotonicNanos(), context.ticker.wallMicros()) <= 0;
  }

  private void scheduleNext(long delayNanos) {
    long dueNanos = context.ticker.monotonicNanos() + delayNanos;
    long onGrid = delayNanos - Math.floorMod(dueNanos, Math.min(GRID_NANOS, delayNanos + 1));
    schedule(onGrid);
  }

  private synchronized void schedule(long delayNanos) {
    if (!stopped) {
      stalled = true;
      timer = context.scheduler.schedule(this::renew, delayNanos);
      stalled = false;
    }
  }

  /** Continues if an error has stopped the renewal. */
  synchronized void resume() {
    if (stalled) {
      schedule(0);
    }
  }

  private void renew() {
    if (!isOver()) {
      lease.extend(ttlMillis, this::renewed);
    }
  }

  private synchronized void renewed(ExtendResult result) {
    if (result.outcome() == ExtendResult.Outcome.EXTENDED) {
      failures = 0;
      scheduleNext(ttlMillis * 1_000_000 / 3);
    } else if (result.outcome() == ExtendResult.Outcome.UNKNOWN) {
      long cap = Math.max(FIRST_RETRY_NANOS, ttlMillis * 1_000_000 / 10);
      long ceiling = Math.min(cap, FIRST_RETRY_NANOS << Math.min(failures++, MAX_DOUBLINGS));
      schedule(1 + context.random.nextLong(ceiling));
    }
  }
}
