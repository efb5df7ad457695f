package io.redlock.jedis.trust;

import java.util.OptionalLong;

/**
 * A detector of steps of a node's clock. Between two audits that clock may gain or lose the drift
 * that leases allow for, and the time that the audits took. Anything beyond is a step. Not
 * thread-safe.
 *
 * <p>Every node is ahead of the monotonic clock of a machine that slept, and off the wall clock of
 * a machine whose clock was set. A step of the node shows on both clocks.
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
   * @param wallAheadMicros the lead of this machine's wall clock over its monotonic clock
   * @return the step of the node's clock since the last audit; empty if there was none
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

  /** The bounds of a node clock's lead over one of our clocks, since its last step. */
  private static final class Bounds {
    private long atLeast;
    private long atMost;

    /** Returns how far the new bounds lie outside the old ones; 0 if both can be true. */
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
