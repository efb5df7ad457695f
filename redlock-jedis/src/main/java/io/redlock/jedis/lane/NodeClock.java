package io.redlock.jedis.lane;

import java.util.OptionalLong;

/** The known lead of a node's clock over the monotonic clock. Thread-safe. */
final class NodeClock {

  private static final long UNKNOWN = Long.MIN_VALUE;

  private volatile long offsetMicros = UNKNOWN;

  /** Takes a time that the node reported between two readings of the monotonic clock. */
  void learn(long nodeMicros, long beforeNanos, long afterNanos) {
    long middleNanos = beforeNanos + (afterNanos - beforeNanos) / 2;
    offsetMicros = nodeMicros - middleNanos / 1000;
  }

  OptionalLong offsetMicros() {
    long offset = offsetMicros;
    return offset == UNKNOWN ? OptionalLong.empty() : OptionalLong.of(offset);
  }
}
