package io.redlock;

/** What is known of a release when its call returns. */
public enum ReleaseResult {
  /** A majority deleted the lock. */
  RELEASED,
  /** So few nodes still held the lock that it was no longer had when it was released. */
  NOT_HELD,
  /**
   * Too few nodes answered in time. They are told again in the background; at the latest the lock
   * runs out by its ttl.
   */
  UNCONFIRMED
}
