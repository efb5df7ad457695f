package io.redlock;

import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Proposes fencing tokens: the median clock, but above what this client has proposed before and
 * above every counter that nodes have reported for the resource. Both count only while nodes may
 * accept a token above them, so that a clock that was far ahead for a while spoils nothing. Nodes
 * alone decide; a good proposal only saves a round.
 */
final class Tokens {

  private static final int PRUNE_ABOVE = 256;

  private final MedianClock clock;
  private final long skewMicros;

  private long lastProposed; // guarded by this
  private final Map<String, Long> reportedAhead = new HashMap<>(); // guarded by this
  private int pruneAbove = PRUNE_ABOVE; // guarded by this

  Tokens(MedianClock clock, long skewMicros) {
    this.clock = clock;
    this.skewMicros = skewMicros;
  }

  /** A token to propose for these resources. */
  synchronized long next(List<String> names) {
    long now = clock.micros();
    long proposed = isWorthOutbidding(lastProposed, now) ? lastProposed + 1 : now;
    lastProposed = proposed;
    if (reportedAhead.isEmpty()) {
      return proposed;
    }
    long token = proposed;
    for (String name : names) {
      Long ahead = reportedAhead.remove(name);
      if (ahead != null && ahead >= token && isWorthOutbidding(ahead, now)) {
        token = ahead + 1;
      }
    }
    if (token > proposed) {
      for (String name : names) {
        reportedAhead.put(name, token);
      }
    }
    return token;
  }

  private boolean isWorthOutbidding(long counter, long now) {
    return counter >= now && counter < now + skewMicros;
  }

  /** Remembers a counter or a token of these resources while it lies ahead of the clock. */
  void reported(List<String> names, long counter) {
    long now = clock.micros();
    if (isWorthOutbidding(counter, now)) {
      remember(names, counter, now);
    }
  }

  private synchronized void remember(List<String> names, long counter, long now) {
    for (String name : names) {
      reportedAhead.merge(name, counter, Math::max);
    }
    if (reportedAhead.size() > pruneAbove) {
      reportedAhead.values().removeIf(ahead -> !isWorthOutbidding(ahead, now));
      pruneAbove = Math.max(PRUNE_ABOVE, 2 * reportedAhead.size());
    }
  }
}
