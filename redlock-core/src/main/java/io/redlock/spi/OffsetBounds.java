package io.redlock.spi;

/**
 * The bounds of the offset of a node's clock from a clock of this process. Each reading narrows
 * them, the drift of the clocks since the reading before widens them, and a reading that
 * contradicts them replaces them. Not thread-safe.
 *
 * <p>Source: the intersection of intervals by K. Marzullo and S. Owicki, "Maintaining the Time in a
 * Distributed System" (1983).
 */
public final class OffsetBounds {

  /** As good as without bounds, and far from an overflow. */
  private static final long UNBOUNDED_MICROS = Long.MAX_VALUE / 4;

  private long atLeast = -UNBOUNDED_MICROS;
  private long atMost = UNBOUNDED_MICROS;

  /**
   * Takes a time that the clock showed between two readings of the monotonic clock.
   *
   * @param driftMicros by how much the clocks can have drifted apart since the last reading
   * @return how far the offset has moved if the reading contradicts the bounds; 0 if both can be
   *     true
   */
  public long step(long nodeMicros, long beforeNanos, long afterNanos, long driftMicros) {
    long newAtLeast = nodeMicros - Math.floorDiv(afterNanos, 1_000) - 1;
    long newAtMost = nodeMicros - Math.floorDiv(beforeNanos, 1_000) + 1;
    long oldMiddle = middleMicros();
    atLeast -= driftMicros;
    atMost += driftMicros;
    if (newAtLeast > atMost || newAtMost < atLeast) {
      atLeast = newAtLeast;
      atMost = newAtMost;
      return middleMicros() - oldMiddle;
    }
    atLeast = Math.max(atLeast, newAtLeast);
    atMost = Math.min(atMost, newAtMost);
    return 0;
  }

  /** Returns the middle of the bounds. */
  public long middleMicros() {
    return Math.floorDiv(atLeast + atMost, 2);
  }
}
