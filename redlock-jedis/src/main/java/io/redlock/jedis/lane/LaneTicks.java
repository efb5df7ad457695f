package io.redlock.jedis.lane;

/**
 * The time of a lane's next tick. A late tick shows that this process was paused. A part of the
 * {@link LaneMachine}, and guarded like it.
 */
final class LaneTicks {

  private final long watchNanos;
  private boolean isPlanned;
  private boolean isReplanned;
  private long nextNanos;
  private long awakeSinceNanos;

  /**
   * @param watchNanos the time between two ticks while something is under way
   */
  LaneTicks(long watchNanos, long nowNanos) {
    this.watchNanos = watchNanos;
    this.awakeSinceNanos = nowNanos;
  }

  /** Returns true if the next tick has changed since {@link #planned}. */
  boolean isReplanned() {
    return isReplanned;
  }

  /** Takes note that the shell has scheduled the next tick. */
  void planned() {
    isReplanned = false;
  }

  /** Returns the time of the next tick. */
  long nextNanos() {
    return nextNanos;
  }

  /** Plans a tick at this time, unless one is planned earlier. */
  void by(long nanos) {
    if (!isPlanned || nanos - nextNanos < 0) {
      isPlanned = true;
      isReplanned = true;
      nextNanos = nanos;
    }
  }

  /** Plans the next check of something that is under way. */
  void watch(long nowNanos) {
    by(nowNanos + watchNanos);
  }

  /** Takes note that the tick has come. */
  void come(long nowNanos) {
    if (isPlanned && !isInTime(nowNanos)) {
      awakeSinceNanos = nowNanos;
    }
    isPlanned = false;
  }

  /** Returns true if a tick is planned and not late. */
  boolean isInTime(long nowNanos) {
    return isPlanned && nowNanos - nextNanos <= watchNanos;
  }

  /** Returns the time since which this process was not paused. */
  long awakeSinceNanos() {
    return awakeSinceNanos;
  }
}
