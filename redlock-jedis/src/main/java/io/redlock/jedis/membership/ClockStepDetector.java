package io.redlock.jedis.membership;

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
   * @return the step of the node's clock since the last audit; empty if there was none
   */
  OptionalLong stepMicros(
      long nodeMicros, long beforeNanos, long afterNanos, long wallAheadMicros) {
    long atLeast = OffsetBounds.leastMicros(nodeMicros, afterNanos);
    long atMost = OffsetBounds.mostMicros(nodeMicros, beforeNanos);
    long sinceMicros = (afterNanos - lastNanos) / 1_000; // any, before the first
    long drift = FLOOR_MICROS + sinceMicros / 1_000 * driftPartsPerMillion / 1_000;
    long byMonotonic = monotonic.step(atLeast, atMost, drift);
    long byWall = wall.step(atLeast - wallAheadMicros, atMost - wallAheadMicros, drift);
    lastNanos = afterNanos;
    if (Long.signum(byMonotonic) * Long.signum(byWall) <= 0) {
      return OptionalLong.empty();
    }
    return OptionalLong.of(Long.signum(byWall) * Math.min(Math.abs(byMonotonic), Math.abs(byWall)));
  }
}
