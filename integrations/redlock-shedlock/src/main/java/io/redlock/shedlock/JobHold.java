package io.redlock.shedlock;

import io.redlock.ExtendResult;
import io.redlock.Lease;
import io.redlock.spi.BackgroundLog;
import java.time.Duration;

/** A renewed lease that is released within limits, which an extension moves. */
final class JobHold {

  private static final BackgroundLog LOG = BackgroundLog.of(RedlockLockProvider.class.getName());

  private static final String RELEASED =
      "{} has reached its lockAtMostFor and is released; its job still runs";

  private static final long PATIENCE_NANOS = 50_000_000;

  /**
   * When the lease is released, in the time of {@link System#nanoTime()}.
   *
   * @param earliestNanos not before this
   * @param latestNanos at this, unless it was unlocked before
   */
  record Limits(long earliestNanos, long latestNanos) {}

  private final Lease lease;
  private final JobTimer timer;

  private Limits confirmed; // guarded by this; the limits without an extension under way
  private Limits limits; // guarded by this
  private long overNanos; // guarded by this; when it is released
  private boolean unlocked; // guarded by this

  JobHold(Lease lease, Limits limits, JobTimer timer) {
    this.lease = lease;
    this.timer = timer;
    this.confirmed = limits;
    this.limits = limits;
    this.overNanos = limits.latestNanos;
  }

  /**
   * Moves the limits if the masters confirm that the lease is held, at least for {@code ttl} from
   * now.
   *
   * @return false if it is unlocked, or not held any longer, or not certainly; then the limits stay
   */
  boolean extend(Limits next, Duration ttl) {
    synchronized (this) {
      if (unlocked || System.nanoTime() - limits.latestNanos >= 0 || !lease.isValid()) {
        return false;
      }
      limit(next);
    }
    boolean extended = false;
    try {
      extended = lease.extend(ttl).outcome() == ExtendResult.Outcome.EXTENDED;
    } catch (InterruptedException e) { // whether it is extended is not known
      Thread.currentThread().interrupt();
    } finally {
      settle(next, extended);
      timer.moved();
    }
    return extended;
  }

  private synchronized void settle(Limits next, boolean extended) {
    if (extended) {
      confirmed = next;
    } else if (limits == next) { // else another extension has moved them
      limit(confirmed);
    }
  }

  private void limit(Limits next) {
    assert Thread.holdsLock(this);
    limits = next;
    overNanos = unlocked ? next.earliestNanos : next.latestNanos;
  }

  /** Releases the lease, at its earliest time if that is to come. */
  void end() {
    boolean isEarly;
    synchronized (this) {
      unlocked = true;
      overNanos = limits.earliestNanos;
      isEarly = leftNanos(System.nanoTime()) > 0;
    }
    try {
      if (!isEarly) {
        lease.release();
      }
    } catch (InterruptedException e) { // the release goes on
      Thread.currentThread().interrupt();
    } finally {
      timer.moved(); // which repeats a release that failed, and forgets what is released
    }
  }

  /** Returns how long it is held from this time on, unless it is unlocked or extended. */
  synchronized long leftNanos(long nowNanos) {
    return overNanos - nowNanos;
  }

  /**
   * Releases the lease if its time has come.
   *
   * @return false if an extension has moved that time; if it throws, call it again later
   */
  boolean releaseIfOver() {
    boolean isHeld;
    synchronized (this) {
      long nowNanos = System.nanoTime();
      if (leftNanos(nowNanos) > 0) {
        return false;
      }
      overNanos = nowNanos + PATIENCE_NANOS; // if it throws, others go first
      isHeld = !unlocked && lease.isValid();
    }
    lease.close();
    if (isHeld) {
      LOG.warn(RELEASED, lease);
    }
    return true;
  }
}
