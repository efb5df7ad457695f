package io.redlock.protocol;

/**
 * What one operation asks of the nodes and what it may make of their answers.
 *
 * @param nodes how many nodes vote
 * @param ttlMillis for how long nodes are to hold the keys
 * @param driftNanos by how much their clocks may outrun ours meanwhile
 * @param minValidityNanos how much time must be left for the outcome to be of use
 */
public record Terms(int nodes, long ttlMillis, long driftNanos, long minValidityNanos) {

  private static final long DRIFT_FLOOR_NANOS = 2_000_000;

  /** ttl·driftFactor, rounded up, and two milliseconds for the nodes' expiry granularity. */
  public static long driftNanos(long ttlMillis, long driftPartsPerMillion) {
    return ttlMillis * driftPartsPerMillion + DRIFT_FLOOR_NANOS;
  }

  /** Until when a quorum that was asked at the given instant holds: start + ttl − drift. */
  public Deadline deadline(long startNanos, long startWallMicros) {
    return Deadline.after(startNanos, startWallMicros, ttlMillis * 1_000_000 - driftNanos);
  }
}
