package io.redlock.protocol;

/**
 * When a renewed lease is extended next. An immutable value.
 *
 * @param terms the terms of its extends
 * @param until the end of the longest hold
 * @param dueNanos the next extend, on the monotonic clock
 */
public record Renewal(LeaseTerms terms, Deadline until, long dueNanos) {

  /** Due times are rounded down to it, so that many leases share the batches of the lanes. */
  private static final long GRID_NANOS = 10_000_000;

  static Renewal begin(LeaseTerms terms, Deadline until, long nowNanos) {
    long delayNanos = terms.ttlMillis() * 1_000_000 / 3; // E9
    long dueNanos = nowNanos + delayNanos;
    long offNanos = Math.floorMod(dueNanos, Math.min(GRID_NANOS, delayNanos + 1));
    return new Renewal(terms, until, dueNanos - offNanos);
  }

  Renewal failed(long nowNanos, TenureRules rules) {
    long pauseNanos = terms.ttlMillis() * 1_000_000 / 20;
    return new Renewal(terms, until, nowNanos + pauseNanos + rules.randomNanos(pauseNanos)); // E9
  }

  /** Returns true if the lease has been held for as long as it may be renewed. */
  boolean isOver(long nowNanos, long nowWallMicros) {
    return until.remainingNanos(nowNanos, nowWallMicros) <= 0;
  }
}
