package io.redlock.jedis.membership;

import io.redlock.spi.OffsetBounds;

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

  private final long driftPartsPerMillion;
  private final OffsetBounds monotonic = new OffsetBounds();
  private final OffsetBounds wall = new OffsetBounds();
  private long lastNanos;

  ClockStepDetector(long driftPartsPerMillion) {
    this.driftPartsPerMillion = driftPartsPerMillion;
  }

  /**
   * Compares an audit with those before it.
   *
   * @param nodeMicros the node's clock, read between the two readings of the monotonic clock
   * @param wallAheadMicros the offset of this machine's wall clock from its monotonic clock
   * @return the step of the node's clock since the last audit; 0 if there was none
   */
  long stepMicros(long nodeMicros, long beforeNanos, long afterNanos, long wallAheadMicros) {
    long sinceMicros = (afterNanos - lastNanos) / 1_000; // any, before the first
    long drift = FLOOR_MICROS + sinceMicros / 1_000 * driftPartsPerMillion / 1_000;
    long byMonotonic = monotonic.step(nodeMicros, beforeNanos, afterNanos, drift);
    long byWall = wall.step(nodeMicros - wallAheadMicros, beforeNanos, afterNanos, drift);
    lastNanos = afterNanos;
    boolean isAhead = byWall > 0;
    return isAhead
        ? Math.max(0, Math.min(byMonotonic, byWall))
        : Math.min(0, Math.max(byMonotonic, byWall));
  }
}
