package io.redlock.jedis.membership;

/**
 * The bounds of the offset of a node's clock from a clock of this process. Each reading narrows
 * them, the drift of the clocks since the reading before widens them, and a reading that
 * contradicts them replaces them. Not thread-safe.
 *
 * <p>Source: the intersection of intervals by K. Marzullo and S. Owicki, "Maintaining the Time in a
 * Distributed System" (1983).
 */
public final class OffsetBounds {

  private long atLeast;
  private long atMost;
  private boolean known;

  /** Returns the least offset of a clock that was read before this time. */
  public static long leastMicros(long nodeMicros, long afterNanos) {
    return nodeMicros - Math.floorDiv(afterNanos, 1_000) - 1;
  }

  /** Returns the greatest offset of a clock that was read after this time. */
  public static long mostMicros(long nodeMicros, long beforeNanos) {
    return nodeMicros - Math.floorDiv(beforeNanos, 1_000) + 1;
  }

  /**
   * Takes a reading.
   *
   * @param driftMicros by how much the clocks can have drifted apart since the last reading
   * @return how far the offset has moved if the reading contradicts the bounds; 0 if both can be
   *     true
   */
  public long step(long newAtLeast, long newAtMost, long driftMicros) {
    long oldAtLeast = atLeast - driftMicros;
    long oldAtMost = atMost + driftMicros;
    if (!known || newAtLeast > oldAtMost || newAtMost < oldAtLeast) {
      long step = middle(newAtLeast, newAtMost) - middleMicros();
      boolean isFirst = !known;
      atLeast = newAtLeast;
      atMost = newAtMost;
      known = true;
      return isFirst ? 0 : step;
    }
    atLeast = Math.max(oldAtLeast, newAtLeast);
    atMost = Math.min(oldAtMost, newAtMost);
    return 0;
  }

  /** Returns the middle of the bounds. */
  public long middleMicros() {
    return middle(atLeast, atMost);
  }

  private static long middle(long a, long b) {
    return Math.floorDiv(a + b, 2);
  }
}
