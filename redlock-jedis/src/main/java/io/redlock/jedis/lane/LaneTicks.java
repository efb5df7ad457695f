package io.redlock.jedis.lane;

/**
 * The time of a lane's next tick. A late tick shows that this process was paused. A part of the
 * {@link LaneMachine}, and guarded like it.
 */
final class LaneTicks {

  /** The time of a tick that is not planned. */
  static final long NEVER = Long.MIN_VALUE;

  private final long watchNanos;
  private boolean isPlanned;
  private long nextNanos;
  private long awakeSinceNanos;

  /**
   * @param watchNanos the time between two ticks while something is under way
   */
  LaneTicks(long watchNanos, long nowNanos) {
    this.watchNanos = watchNanos;
    this.awakeSinceNanos = nowNanos;
  }

  /** Returns the time of the next tick, or {@link #NEVER}. */
  long nextNanos() {
    return isPlanned ? nextNanos : NEVER;
  }

  /**
   * Plans a tick at this time, unless one is planned earlier; at once if the time has passed: such
   * a tick is not late.
   */
  void by(long nanos, long nowNanos) {
    long dueNanos = nowNanos + Math.max(0, nanos - nowNanos);
    if (!isPlanned || dueNanos - nextNanos < 0) {
      isPlanned = true;
      nextNanos = dueNanos;
    }
  }

  /** Plans the next check of something that is under way. */
  void watch(long nowNanos) {
    by(nowNanos + watchNanos, nowNanos);
  }

  /**
   * Takes note that the tick has come.
   *
   * @return how long this process was paused; zero if the tick is not late
   */
  long come(long nowNanos) {
    long pausedNanos = isPlanned && !isInTime(nowNanos) ? nowNanos - nextNanos : 0;
    if (pausedNanos > 0) {
      awakeSinceNanos = nowNanos;
    }
    isPlanned = false;
    return pausedNanos;
  }

  /** Returns true if a tick is planned and not late. */
  boolean isInTime(long nowNanos) {
    return isPlanned && nowNanos - nextNanos <= watchNanos;
  }

  /** Returns the end of the last pause of this process, or the begin of the lane. */
  long awakeSinceNanos() {
    return awakeSinceNanos;
  }

  /** Returns the earlier of two times. */
  static long earlier(long oneNanos, long otherNanos) {
    return oneNanos + Math.min(0, otherNanos - oneNanos);
  }

  /** Returns a time that is later by a pause that ends now, so that the pause does not count. */
  static long later(long nanos, long pausedNanos, long nowNanos) {
    return earlier(nanos + pausedNanos, nowNanos);
  }
}
