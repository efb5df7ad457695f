package io.redlock.jedis.lane;

import io.redlock.jedis.scripts.RequestEncoder;
import io.redlock.spi.BackgroundLog;
import io.redlock.text.Brief;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The settings of all lanes of a lock service, derived from its own.
 *
 * @param nodeTimeoutNanos the time without an answer after which a node counts as silent
 * @param silenceTimeoutNanos the time without an answer after which a connection is given up
 * @param releaseLifeNanos the time after which an unsent release is pointless: all keys that it
 *     could delete have expired
 * @param skewMicros the allowed difference between the clocks of two nodes
 * @param encoder encodes a request once for all lanes
 */
public record LaneSettings(
    long nodeTimeoutNanos,
    long silenceTimeoutNanos,
    long releaseLifeNanos,
    long skewMicros,
    RequestEncoder encoder) {

  /** The log for everything about a node; users configure it by this name. */
  static final BackgroundLog LOG = BackgroundLog.of("io.redlock.jedis.NodeLane");

  /** The largest number of requests that wait in one lane, not counting releases. */
  static final int MAX_QUEUED = 16_384;

  /** The unanswered bytes beyond which the reading thread, which may block, stops writing. */
  static final long MAX_UNANSWERED_BYTES = 1 << 20;

  /**
   * The same for all other threads: so few bytes fit the socket buffers even if the server has
   * stopped reading, so the write does not block.
   */
  static final long MAX_UNANSWERED_BYTES_OF_OTHERS = 64 << 10;

  /** The time after which the next request is written without waiting for the reply any longer. */
  static final long PATIENCE_NANOS = TimeUnit.MILLISECONDS.toNanos(3);

  private static final long MAX_PING_NANOS = TimeUnit.SECONDS.toNanos(1);
  private static final Duration LEAST_SILENCE_TIMEOUT = Duration.ofSeconds(2);
  private static final Duration LONGEST_SILENCE_TIMEOUT = Duration.ofMinutes(10);
  private static final int SILENCE_TIMEOUT_NODE_TIMEOUTS = 20;
  private static final Duration USUAL_RETENTION = Duration.ofMinutes(10);
  private static final Duration MARGIN = Duration.ofSeconds(1);
  private static final Duration LONGEST = Duration.ofDays(365);

  /**
   * Returns these settings, with defaults for those that are not set.
   *
   * @param silenceTimeout null for the default
   * @param fenceRetention null for the default
   * @param faults takes the faults of these two; the lock service checks the other values, which
   *     are only kept within bounds here
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
    } else {
      String tooShort = "below twice the node timeout";
      check("silenceTimeout", lane, least, tooShort, LONGEST_SILENCE_TIMEOUT, faults);
    }
    lane = within(least, lane, LONGEST_SILENCE_TIMEOUT);
    Duration ttl = bounded(maxTtl);
    Duration skew = bounded(clockSkew);
    long skewMicros = TimeUnit.NANOSECONDS.toMicros(skew.toNanos());
    long retentionMillis = retention(fenceRetention, ttl, skew, faults).toMillis();
    return new LaneSettings(
        node.toNanos(),
        lane.toNanos(),
        ttl.plus(skew).plus(MARGIN).toNanos(),
        skewMicros,
        new RequestEncoder(retentionMillis, skewMicros));
  }

  /**
   * Returns the retention. A grant may arrive a ttl and a skew after its token, at a node whose
   * clock is off by another skew. The counter that its release left must outlive that; otherwise
   * the grant locks a name for nobody. A token drawn from the clocks after the counter is gone must
   * also be higher.
   */
  private static Duration retention(
      @Nullable Duration fenceRetention, Duration maxTtl, Duration skew, List<String> faults) {
    Duration least = maxTtl.plus(skew.multipliedBy(4));
    if (fenceRetention == null) {
      return longer(USUAL_RETENTION, longer(maxTtl.multipliedBy(10), least));
    }
    String tooShort = "below maxTtl and four times clockSkew";
    check("fenceRetention", fenceRetention, least, tooShort, LONGEST, faults);
    return bounded(fenceRetention);
  }

  private static void check(
      String setting,
      Duration value,
      Duration least,
      String tooShort,
      Duration most,
      List<String> faults) {
    String shown = setting + " " + Brief.exact(value) + " is ";
    if (value.compareTo(least) < 0) {
      faults.add(shown + tooShort + ": use at least " + Brief.exact(least));
    } else if (value.compareTo(most) > 0) {
      faults.add(shown + "too long: use at most " + Brief.exact(most));
    }
  }

  /** Returns the nearest duration that is safe to calculate with. */
  public static Duration bounded(Duration value) {
    return within(Duration.ofMillis(1), value, LONGEST);
  }

  private static Duration within(Duration least, Duration value, Duration most) {
    return longer(least, Collections.min(List.of(value, most)));
  }

  private static Duration longer(Duration a, Duration b) {
    return Collections.max(List.of(a, b));
  }

  /** Returns the time without an answer after which a connection is given up. */
  public Duration silenceTimeout() {
    return Duration.ofNanos(silenceTimeoutNanos);
  }

  /** Returns how long an idle lane waits before it pings the node. */
  long pingNanos() {
    return Math.min(MAX_PING_NANOS, silenceTimeoutNanos / 2);
  }

  /** Returns the time between two checks of a lane that waits for an answer. */
  long watchNanos() {
    return Math.max(TimeUnit.MILLISECONDS.toNanos(1), nodeTimeoutNanos / 4);
  }

  /**
   * Returns the read timeout. A read may begin just after one ping and last until the next: a
   * request that is sent then must still get its whole silence timeout.
   */
  int soTimeoutMillis() {
    return (int) TimeUnit.NANOSECONDS.toMillis(silenceTimeoutNanos + pingNanos());
  }
}
