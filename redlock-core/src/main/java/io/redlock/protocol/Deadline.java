package io.redlock.protocol;

import java.util.concurrent.TimeUnit;

/**
 * A point in time on both clocks; the earlier one counts. A suspended machine stops the monotonic
 * clock, while the nodes' time passes. A wall clock that is set forward ends things early, which is
 * safe. If it is set back, the monotonic clock decides.
 *
 * @param nanos on the monotonic clock
 * @param wallMicros on the wall clock
 */
public record Deadline(long nanos, long wallMicros) {

  /** Returns the time this long after it. */
  public Deadline plus(long delayNanos) {
    return new Deadline(nanos + delayNanos, wallMicros + Math.floorDiv(delayNanos, 1_000L));
  }

  /** Returns the nanoseconds left at the given instant; zero or less if it has passed. */
  public long remainingNanos(long nowNanos, long nowWallMicros) {
    return Math.min(
        nanos - nowNanos, TimeUnit.MICROSECONDS.toNanos(wallMicros - nowWallMicros)); // T5
  }

  /**
   * Returns the later of the two deadlines, unchanged: an extension never shortens a lease. If each
   * clock's later value were taken, a wall clock that was set back would hide a suspended machine
   * from then on.
   */
  public Deadline max(Deadline other) {
    return nanos - other.nanos >= 0 ? this : other;
  }
}
