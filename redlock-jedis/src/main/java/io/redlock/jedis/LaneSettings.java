package io.redlock.jedis;

import java.util.concurrent.TimeUnit;

/**
 * What a lane needs to know about the lock service it belongs to.
 *
 * @param nodeTimeoutNanos after so much silence a node counts as silent
 * @param laneTimeoutNanos after so much silence a connection is abandoned
 * @param releaseLifeNanos after so long a release that could not be sent has become pointless: no
 *     key it could delete is left
 */
record LaneSettings(long nodeTimeoutNanos, long laneTimeoutNanos, long releaseLifeNanos) {

  /** Requests that may wait in one lane, releases not counted. */
  static final int MAX_QUEUED = 16_384;

  /** Bytes without an answer beyond which the worker, which may block, writes no more. */
  static final long MAX_UNANSWERED_BYTES = 1 << 20;

  /**
   * The same for everybody else: so little fits the socket buffers even of a server that has
   * stopped reading, so the write does not block.
   */
  static final long MAX_UNANSWERED_BYTES_OF_OTHERS = 64 << 10;

  /** A reply that takes longer than this is not waited for before the next request is written. */
  static final long PATIENCE_NANOS = TimeUnit.MILLISECONDS.toNanos(3);

  private static final long MAX_PING_NANOS = TimeUnit.SECONDS.toNanos(1);

  /** How long an idle lane waits before it asks the node whether it is there. */
  long pingNanos() {
    return Math.min(MAX_PING_NANOS, laneTimeoutNanos / 2);
  }

  /** How often a lane with something unanswered is looked at. */
  long watchNanos() {
    return Math.max(TimeUnit.MILLISECONDS.toNanos(1), nodeTimeoutNanos / 4);
  }

  /**
   * A read may begin just after one ping and see the next one: only a request sent after that must
   * not be cut short.
   */
  int soTimeoutMillis() {
    return (int) TimeUnit.NANOSECONDS.toMillis(laneTimeoutNanos + pingNanos());
  }
}
