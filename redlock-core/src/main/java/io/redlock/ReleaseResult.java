package io.redlock;

/** The result of a release, as known when its call returns. */
public enum ReleaseResult {
  /**
   * A majority deleted the lock. Or the lease was passed on to the next call of the same {@link
   * Redlock}: then it was valid, by both clocks, and no node was asked.
   */
  RELEASED,
  /** Too few nodes still held the lock when it was released: it had been lost before. */
  NOT_HELD,
  /**
   * Too few nodes answered in time. They are asked again in the background; the lock expires by its
   * ttl at the latest.
   */
  UNCONFIRMED
}
