package io.redlock;

/**
 * How a lease ended.
 *
 * @param cause what ended it
 * @param detail what to tell a person
 */
public record LeaseEnd(Cause cause, String detail) {

  /** What ends a lease. */
  public enum Cause {
    /** Its holder released it. */
    RELEASED,
    /** Its deadline came near and it had not been extended. */
    EXPIRED,
    /** So many nodes no longer held it that no majority could. */
    REFUSED,
    /** It was renewed for as long as its request allowed, and then ran out. */
    MAX_HOLD,
    /** The lock service was closed; nobody watches the lease any more. */
    CLOSED
  }

  /** Whether the lease ended in any other way than by its holder's release. */
  public boolean lost() {
    return cause != Cause.RELEASED;
  }
}
