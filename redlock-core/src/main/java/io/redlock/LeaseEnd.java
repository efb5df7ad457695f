package io.redlock;

/**
 * The end of a lease.
 *
 * @param cause what ended it
 * @param detail the reason in words, for an operator
 */
public record LeaseEnd(Cause cause, String detail) {

  /** The causes that end a lease. */
  public enum Cause {
    /** Its holder released it. */
    RELEASED,
    /** It was not extended before its deadline came near. */
    EXPIRED,
    /** Too few nodes still held it for a majority. */
    REFUSED,
    /** It was renewed for as long as its request allowed, and then expired. */
    RENEWAL_ENDED,
    /** Its {@link Redlock} was closed, so nothing watches it any longer. */
    CLOSED
  }

  /** Returns true if the lease ended in any way but by its holder's release. */
  public boolean lost() {
    return cause != Cause.RELEASED;
  }
}
