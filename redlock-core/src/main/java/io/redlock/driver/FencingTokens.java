package io.redlock.driver;

/**
 * Proposes fencing tokens: the median clock, but above what this client has proposed before, while
 * nodes may accept that. Nodes alone decide; where a counter is higher, the next round outbids it.
 */
final class FencingTokens {

  private final MedianClock clock;
  private final long skewMicros;

  private long lastProposed; // guarded by this

  FencingTokens(MedianClock clock, long skewMicros) {
    this.clock = clock;
    this.skewMicros = skewMicros;
  }

  /** A token to propose. */
  synchronized long next() {
    long now = clock.micros();
    boolean isAhead = lastProposed >= now && lastProposed < now + skewMicros;
    lastProposed = isAhead ? lastProposed + 1 : now;
    return lastProposed;
  }
}
