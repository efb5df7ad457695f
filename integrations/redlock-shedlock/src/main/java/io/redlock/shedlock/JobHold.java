package io.redlock.shedlock;

import io.redlock.ExtendResult;
import io.redlock.Lease;
import io.redlock.spi.BackgroundLog;
import java.time.Duration;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/** A renewed lease that is released within limits, which an extension moves. */
final class JobHold {

  private static final BackgroundLog LOG = BackgroundLog.of(RedlockLockProvider.class.getName());

  private static final String RELEASED =
      "{} has reached its lockAtMostFor and is released; its job still runs";

  /**
   * When the lease is released, in the time of {@link System#nanoTime()}.
   *
   * @param earliestNanos not before this
   * @param latestNanos at this, unless it was unlocked before
   */
  record Limits(long earliestNanos, long latestNanos) {}

  private final Lease lease;
  private final ScheduledExecutorService timers;

  private Limits limits; // guarded by this
  private Future<?> latest; // guarded by this; the timer of the latest time

  /** Begins with a new lease; releases it if its timer cannot be set. */
  JobHold(Lease lease, Limits limits, ScheduledExecutorService timers) {
    this.lease = lease;
    this.timers = timers;
    this.limits = limits;
    boolean begun = false;
    try {
      this.latest = schedule(this::releaseIfOver, limits.latestNanos);
      begun = true;
    } finally {
      if (!begun) {
        lease.close();
      }
    }
  }

  /**
   * Moves the limits if the masters confirm that the lease is held, at least for {@code ttl} from
   * now.
   *
   * @return false if it is not held any longer, or not certainly; then the limits stay
   */
  boolean extend(Limits next, Duration ttl) {
    Limits before;
    synchronized (this) {
      if (isOver() || !lease.isValid()) {
        return false;
      }
      before = limits;
      limit(next);
    }
    boolean extended = false;
    try {
      extended = lease.extend(ttl) instanceof ExtendResult.Extended;
    } catch (InterruptedException e) { // whether it is extended is not known
      Thread.currentThread().interrupt();
    } finally {
      if (!extended) {
        limit(before);
      }
    }
    return extended;
  }

  /** Releases the lease, at its earliest time if that is to come. */
  void end() {
    long earliestNanos;
    synchronized (this) {
      latest.cancel(false);
      earliestNanos = limits.earliestNanos;
    }
    if (earliestNanos - System.nanoTime() > 0) {
      schedule(lease::close, earliestNanos);
      return;
    }
    try {
      lease.release();
    } catch (InterruptedException e) { // the release goes on
      Thread.currentThread().interrupt();
    }
  }

  private synchronized void limit(Limits next) {
    limits = next;
    latest.cancel(false);
    latest = schedule(this::releaseIfOver, next.latestNanos);
  }

  private synchronized boolean isOver() {
    return System.nanoTime() - limits.latestNanos >= 0;
  }

  private void releaseIfOver() {
    if (isOver()) {
      boolean isHeld = lease.isValid();
      lease.close();
      if (isHeld) {
        LOG.warn(RELEASED, lease);
      }
    }
  }

  private Future<?> schedule(Runnable task, long atNanos) {
    return timers.schedule(task, atNanos - System.nanoTime(), TimeUnit.NANOSECONDS);
  }
}
