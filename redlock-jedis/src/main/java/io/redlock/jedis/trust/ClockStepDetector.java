package io.redlock.jedis.trust;

import java.util.OptionalLong;

/**
 * Notices when a node's clock is set. Between two audits it may gain or lose no more on this
 * machine's clock than the drift that leases allow for; what exceeds that, and the time the audits
 * took, was a step. Not thread-safe.
 *
 * <p>A machine that slept finds every node ahead of its monotonic clock, one whose own clock was
 * set finds every node off its wall clock: a step is what shows on both.
 */
final class ClockStepDetector {

  private static final long FLOOR_MICROS = 2_000;

  private final double driftFactor;
  private final Bounds monotonic = new Bounds();
  private final Bounds wall = new Bounds();
  private long lastNanos;
  private boolean started;

  ClockStepDetector(double driftFactor) {
    this.driftFactor = driftFactor;
  }

  /**
   * Compares an audit with those before it.
   *
   * @param nodeMicros the node's clock, read between the two readings of the monotonic clock
   * @param wallAheadMicros how far this machine's wall clock is ahead of the monotonic one
   * @return by how much the node's clock was set since the last audit; empty if it was not
   */
  OptionalLong stepMicros(
      long nodeMicros, long beforeNanos, long afterNanos, long wallAheadMicros) {
    long atLeast = nodeMicros - afterNanos / 1_000 - 1;
    long atMost = nodeMicros - beforeNanos / 1_000 + 1;
    long sinceMicros = started ? (afterNanos - lastNanos) / 1_000 : 0;
    long drift = FLOOR_MICROS + (long) (sinceMicros * driftFactor);
    long byMonotonic = monotonic.step(atLeast, atMost, drift, started);
    long byWall = wall.step(atLeast - wallAheadMicros, atMost - wallAheadMicros, drift, started);
    lastNanos = afterNanos;
    started = true;
    if (byMonotonic == 0 || byWall == 0 || byMonotonic > 0 != byWall > 0) {
      return OptionalLong.empty();
    }
    return OptionalLong.of(Math.abs(byMonotonic) < Math.abs(byWall) ? byMonotonic : byWall);
  }

  /** Between what the node's clock has been ahead of one of ours since it was last set. */
  private static final class Bounds {
    private long atLeast;
    private long atMost;

    /** By how much the new bounds lie outside of the old ones; 0 if they may be one truth. */
    long step(long newAtLeast, long newAtMost, long driftMicros, boolean started) {
      long oldAtLeast = atLeast - driftMicros;
      long oldAtMost = atMost + driftMicros;
      if (!started || newAtLeast > oldAtMost || newAtMost < oldAtLeast) {
        long step = (newAtLeast + newAtMost) / 2 - (atLeast + atMost) / 2;
        atLeast = newAtLeast;
        atMost = newAtMost;
        return started ? step : 0;
      }
      atLeast = Math.max(oldAtLeast, newAtLeast);
      atMost = Math.min(oldAtMost, newAtMost);
      return 0;
    }
  }
}
