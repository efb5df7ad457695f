package io.redlock;

import io.redlock.text.Brief;
import java.time.Duration;

/**
 * Thrown by {@link Lease#ensureValid} when a lease is valid, but for less time than was asked. The
 * caller still holds it, and can extend it.
 */
public final class LeaseTooShortException extends RedlockException {

  private static final long serialVersionUID = 1L;

  private final Duration remaining;

  /**
   * Creates an exception for a lease.
   *
   * @param lease the lease, named in the message
   * @param remaining how long it was still valid
   * @param atLeast how long it was to be valid
   */
  public LeaseTooShortException(Lease lease, Duration remaining, Duration atLeast) {
    super(
        lease
            + " is valid for "
            + Brief.duration(remaining)
            + " only, less than "
            + Brief.duration(atLeast)
            + ": extend it first");
    this.remaining = remaining;
  }

  /** Returns how long the lease was still valid when it was asked. */
  public Duration remaining() {
    return remaining;
  }
}
