package io.redlock.protocol;

/**
 * A point in time on both clocks, whichever comes first. A suspended machine stops the monotonic
 * clock while the nodes count on; a wall clock that is set forward ends things early, which is the
 * safe side, and one that is set back is overruled by the monotonic clock.
 *
 * @param nanos on the monotonic clock
 * @param wallMicros on the wall clock
 */
public record Deadline(long nanos, long wallMicros) {

  /** This long after the given instant. */
  public static Deadline after(long nanos, long wallMicros, long delayNanos) {
    return new Deadline(nanos + delayNanos, wallMicros + Math.floorDiv(delayNanos, 1_000L));
  }

  /** Nanoseconds left at the given instant, zero or less when it has passed. */
  public long remainingNanos(long nowNanos, long nowWallMicros) {
    long byMonotonic = nanos - nowNanos;
    long byWall = wallMicros - nowWallMicros;
    if (byWall > Long.MAX_VALUE / 1_000) {
      return byMonotonic;
    }
    if (byWall < Long.MIN_VALUE / 1_000) {
      return Long.MIN_VALUE;
    }
    return Math.min(byMonotonic, byWall * 1_000);
  }

  /**
   * The later of two deadlines: an extension never shortens. One of the two as it is: with each
   * clock's later half, a wall clock that was set back would hide a suspended machine ever after.
   */
  public Deadline max(Deadline other) {
    return nanos - other.nanos >= 0 ? this : other;
  }
}
