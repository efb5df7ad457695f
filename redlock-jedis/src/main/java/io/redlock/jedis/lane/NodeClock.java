package io.redlock.jedis.lane;

import java.util.OptionalLong;

/** How far a node's clock lies ahead of the monotonic clock, as far as is known. Thread-safe. */
final class NodeClock {

  private static final long UNKNOWN = Long.MIN_VALUE;

  private volatile long offsetMicros = UNKNOWN;

  /** The node said that it was so late, between two readings of the monotonic clock. */
  void learn(long nodeMicros, long beforeNanos, long afterNanos) {
    long middleNanos = beforeNanos + (afterNanos - beforeNanos) / 2;
    offsetMicros = nodeMicros - middleNanos / 1000;
  }

  OptionalLong offsetMicros() {
    long offset = offsetMicros;
    return offset == UNKNOWN ? OptionalLong.empty() : OptionalLong.of(offset);
  }
}
