package io.redlock.jedis.membership;

import io.redlock.text.Brief;
import java.time.Duration;
import java.util.Comparator;

/**
 * The terms on which all clients of a set of masters agreed, or those of one client. Marks carry
 * them; they are made when a set is founded, and only copied afterwards.
 *
 * @param guarded true if the clients respect the marks
 * @param maxTtlMillis the longest ttl of any lease
 * @param abstentionMillis how long a master that was reset abstains: until every lease that it may
 *     have forgotten has ended
 */
public record Agreement(boolean guarded, long maxTtlMillis, long abstentionMillis) {

  /** Terms under which a master that was reset abstains for longer come last. */
  static final Comparator<Agreement> BY_CAUTION =
      Comparator.comparing(Agreement::guarded)
          .thenComparingLong(Agreement::abstentionMillis)
          .thenComparingLong(Agreement::maxTtlMillis);

  /** The longest abstention: no client holds anything longer. */
  private static final long LONGEST_ABSTENTION_MILLIS = 7_200_000;

  /** Makes the abstention bounded. */
  public Agreement {
    abstentionMillis = Math.min(LONGEST_ABSTENTION_MILLIS, abstentionMillis);
  }

  /** Returns the same for an abstention of at least this time. */
  Agreement abstainingFor(long leastMillis) {
    return new Agreement(guarded, maxTtlMillis, Math.max(abstentionMillis, leastMillis));
  }

  /** Returns the terms as a message has them. */
  public String inWords() {
    return "maxTtl "
        + Brief.exact(Duration.ofMillis(maxTtlMillis))
        + ", restartGuard "
        + guarded
        + ", abstention "
        + Brief.exact(Duration.ofMillis(abstentionMillis));
  }
}
