package io.redlock;

import java.util.HashMap;
import java.util.Map;

/**
 * Proposes fencing tokens: the median clock, but above everything this client has proposed before
 * and above every counter that nodes have reported for the resource. Nodes alone decide; a good
 * proposal only saves a round.
 */
final class Tokens {

  private static final int PRUNE_ABOVE = 256;

  private final MedianClock clock;

  private long lastProposed; // guarded by this
  private final Map<String, Long> reportedAhead = new HashMap<>(); // guarded by this
  private int pruneAbove = PRUNE_ABOVE; // guarded by this

  Tokens(MedianClock clock) {
    this.clock = clock;
  }

  /** A token to propose for this resource. */
  synchronized long next(String name) {
    long now = clock.micros();
    long token = Math.max(now, lastProposed + 1);
    lastProposed = token;
    if (!reportedAhead.isEmpty()) {
      Long ahead = reportedAhead.get(name);
      if (ahead != null && ahead >= token) {
        return ahead + 1;
      }
      if (ahead != null) {
        reportedAhead.remove(name);
      }
    }
    return token;
  }

  /** Remembers a counter or a token of this resource while it lies ahead of the clock. */
  synchronized void reported(String name, long counter) {
    long now = clock.micros();
    if (counter < now) {
      return;
    }
    reportedAhead.merge(name, counter, Math::max);
    if (reportedAhead.size() > pruneAbove) {
      reportedAhead.values().removeIf(ahead -> ahead < now);
      pruneAbove = Math.max(PRUNE_ABOVE, 2 * reportedAhead.size());
    }
  }
}
