package io.redlock.protocol;

/**
 * The facts that decide if a lease is passed on.
 *
 * @param isHeld true if it has not ended
 * @param token its token
 * @param ownerToken the highest token of its owner
 * @param extended true if an extend was begun for it
 * @param ttlMillis the life of its keys
 * @param leftNanos the time until its deadline, by the clock that shows less
 */
public record Passing(
    boolean isHeld, long token, long ownerToken, boolean extended, long ttlMillis, long leftNanos) {

  /** Returns true if it may be passed on, with this token, to a call with these terms. */
  public boolean allows(long next, LeaseTerms terms) {
    return isHeld
        && next == token + 1
        && next <= ownerToken // P2
        && !extended
        && ttlMillis == terms.ttlMillis()
        && leftNanos > terms.minValidityNanos(); // P3
  }
}
