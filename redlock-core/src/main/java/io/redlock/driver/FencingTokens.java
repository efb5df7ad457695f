package io.redlock.driver;

/**
 * Proposes fencing tokens: the time of the median clock, but above this client's earlier tokens, as
 * long as nodes may accept that. Nodes decide; if a counter is higher, the next round proposes
 * more.
 */
final class FencingTokens {

  private final MedianClock clock;
  private final long skewMicros;

  private long lastProposed; // guarded by this

  FencingTokens(MedianClock clock, long skewMicros) {
    this.clock = clock;
    this.skewMicros = skewMicros;
  }

  /** Returns a token to propose. */
  synchronized long next() {
    long now = clock.micros();
    boolean isAhead = lastProposed >= now && lastProposed < now + skewMicros; // A2
    lastProposed = isAhead ? lastProposed + 1 : now;
    return lastProposed;
  }
}
