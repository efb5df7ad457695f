package io.redlock.jedis.lane;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * What a lane needs to know about the lock service it belongs to.
 *
 * @param nodeTimeoutNanos after so much silence a node counts as silent
 * @param silenceTimeoutNanos after so much silence a connection is abandoned
 * @param releaseLifeNanos after so long a release that could not be sent has become pointless: no
 *     key it could delete is left
 * @param retentionMillis how long a node keeps a counter after its last write
 * @param skewMicros how far the clocks of two nodes may lie apart
 */
public record LaneSettings(
    long nodeTimeoutNanos,
    long silenceTimeoutNanos,
    long releaseLifeNanos,
    long retentionMillis,
    long skewMicros) {

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
  private static final Duration LEAST_SILENCE_TIMEOUT = Duration.ofSeconds(2);
  private static final Duration LONGEST_SILENCE_TIMEOUT = Duration.ofMinutes(10);
  private static final int SILENCE_TIMEOUT_NODE_TIMEOUTS = 20;
  private static final Duration USUAL_RETENTION = Duration.ofMinutes(10);
  private static final Duration MARGIN = Duration.ofSeconds(1);
  private static final Duration LONGEST = Duration.ofDays(365);

  /**
   * Derives what is not set.
   *
   * @param silenceTimeout null for the default
   * @param fenceRetention null for the default
   * @param faults where to say what is wrong with these two; the other values are checked by the
   *     lock service and only kept within what the arithmetic bears
   */
  public static LaneSettings derive(
      Duration nodeTimeout,
      @Nullable Duration silenceTimeout,
      Duration maxTtl,
      Duration clockSkew,
      @Nullable Duration fenceRetention,
      List<String> faults) {
    Duration node = within(Duration.ofMillis(1), nodeTimeout, LONGEST_SILENCE_TIMEOUT.dividedBy(2));
    Duration least = node.multipliedBy(2);
    Duration lane =
        silenceTimeout == null ? node.multipliedBy(SILENCE_TIMEOUT_NODE_TIMEOUTS) : silenceTimeout;
    if (silenceTimeout == null) {
      least = longer(least, LEAST_SILENCE_TIMEOUT);
    } else if (lane.compareTo(least) < 0) {
      faults.add(
          "silenceTimeout " + lane + " is below twice the node timeout: use at least " + least);
    } else if (lane.compareTo(LONGEST_SILENCE_TIMEOUT) > 0) {
      faults.add("silenceTimeout " + lane + " is too long: use at most " + LONGEST_SILENCE_TIMEOUT);
    }
    lane = within(least, lane, LONGEST_SILENCE_TIMEOUT);
    Duration ttl = bounded(maxTtl);
    Duration skew = bounded(clockSkew);
    return new LaneSettings(
        node.toNanos(),
        lane.toNanos(),
        ttl.plus(skew).plus(MARGIN).toNanos(),
        retention(fenceRetention, ttl, skew, faults).toMillis(),
        TimeUnit.NANOSECONDS.toMicros(skew.toNanos()));
  }

  /**
   * A grant may arrive as late after its token as a ttl and a skew, on a node whose clock is off by
   * as much as that token's was: the trace of its release must outlast that, or it locks a name for
   * nobody. And a token that is drawn from the clocks after the counter is gone must be higher.
   */
  private static Duration retention(
      @Nullable Duration fenceRetention, Duration maxTtl, Duration skew, List<String> faults) {
    Duration skews = skew.multipliedBy(4);
    if (fenceRetention == null) {
      return longer(USUAL_RETENTION, longer(maxTtl.multipliedBy(10), skews));
    }
    Duration least = maxTtl.plus(skews);
    if (fenceRetention.compareTo(least) < 0) {
      faults.add(
          "fenceRetention "
              + fenceRetention
              + " is below maxTtl and four times clockSkew: use at least "
              + least);
    } else if (fenceRetention.compareTo(LONGEST) > 0) {
      faults.add("fenceRetention " + fenceRetention + " is too long: use at most " + LONGEST);
    }
    return bounded(fenceRetention);
  }

  /** What the arithmetic bears. */
  public static Duration bounded(Duration value) {
    return within(Duration.ofMillis(1), value, LONGEST);
  }

  private static Duration within(Duration least, Duration value, Duration most) {
    return value.compareTo(most) > 0 ? most : longer(value, least);
  }

  private static Duration longer(Duration a, Duration b) {
    return a.compareTo(b) >= 0 ? a : b;
  }

  /** After so much silence a connection is abandoned. */
  public Duration silenceTimeout() {
    return Duration.ofNanos(silenceTimeoutNanos);
  }

  /** How long an idle lane waits before it asks the node whether it is there. */
  long pingNanos() {
    return Math.min(MAX_PING_NANOS, silenceTimeoutNanos / 2);
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
    return (int) TimeUnit.NANOSECONDS.toMillis(silenceTimeoutNanos + pingNanos());
  }
}
