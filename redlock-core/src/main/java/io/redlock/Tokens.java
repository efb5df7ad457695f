package io.redlock;

import java.util.HashMap;
import java.util.List;
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

  /** A token to propose for these resources. */
  synchronized long next(List<String> names) {
    long token = Math.max(clock.micros(), lastProposed + 1);
    lastProposed = token;
    if (reportedAhead.isEmpty()) {
      return token;
    }
    for (String name : names) {
      Long ahead = reportedAhead.get(name);
      if (ahead != null && ahead >= token) {
        token = ahead + 1;
      } else if (ahead != null) {
        reportedAhead.remove(name);
      }
    }
    return token;
  }

  /** Remembers a counter or a token of these resources while it lies ahead of the clock. */
  synchronized void reported(List<String> names, long counter) {
    long now = clock.micros();
    if (counter < now) {
      return;
    }
    for (String name : names) {
      reportedAhead.merge(name, counter, Math::max);
    }
    if (reportedAhead.size() > pruneAbove) {
      reportedAhead.values().removeIf(ahead -> ahead < now);
      pruneAbove = Math.max(PRUNE_ABOVE, 2 * reportedAhead.size());
    }
  }
}
