package io.redlock.jedis.lane;

import io.redlock.spi.OffsetBounds;
import java.util.OptionalLong;

/**
 * The known offset of a node's clock from the monotonic clock. A reading that took long says
 * little: it moves the offset only as far as it contradicts the quick ones before it. One thread at
 * a time may learn; any may ask.
 */
final class NodeClock {

  /** A clock that is being set slowly drifts by 500 ppm at most (RFC 5905, section 11.3). */
  private static final long NANOS_PER_MICRO_OF_DRIFT = 2_000_000;

  private final OffsetBounds bounds = new OffsetBounds();
  private long learnedNanos;
  private volatile OptionalLong offsetMicros = OptionalLong.empty();

  /** Takes a time that the node reported between two readings of the monotonic clock. */
  void learn(long nodeMicros, long beforeNanos, long afterNanos) {
    long driftMicros = (afterNanos - learnedNanos) / NANOS_PER_MICRO_OF_DRIFT;
    bounds.step(nodeMicros, beforeNanos, afterNanos, driftMicros);
    learnedNanos = afterNanos;
    offsetMicros = OptionalLong.of(bounds.middleMicros());
  }

  OptionalLong offsetMicros() {
    return offsetMicros;
  }
}
