package io.redlock.protocol;

import io.redlock.spi.Quorum;

/**
 * The terms of one operation: what it asks of the nodes, and how it counts their answers.
 *
 * @param quorum the nodes that are enough
 * @param ttlMillis the life of the keys on the nodes
 * @param driftNanos the time that their clocks may gain on ours meanwhile
 * @param minValidityNanos a quorum with this much time left, or less, comes too late
 * @param lossMarginNanos how long before its deadline a lease is lost
 */
public record LeaseTerms(
    Quorum quorum, long ttlMillis, long driftNanos, long minValidityNanos, long lossMarginNanos) {

  private static final long DRIFT_FLOOR_NANOS = 2_000_000;

  /** Returns ttl · drift plus two milliseconds, since nodes expire keys by the millisecond. */
  public static long driftNanos(long ttlMillis, long driftPartsPerMillion) {
    return ttlMillis * driftPartsPerMillion + DRIFT_FLOOR_NANOS; // T2
  }

  /** Returns how long a quorum asked at the given instant holds: until start + ttl − drift. */
  public Deadline deadline(Deadline start) {
    return start.plus(ttlMillis * 1_000_000 - driftNanos); // T3
  }

  /** Returns when a lease with this deadline is lost if it is not extended. */
  public Deadline lossTime(Deadline deadline) {
    return deadline.plus(-lossMarginNanos); // T4
  }
}
