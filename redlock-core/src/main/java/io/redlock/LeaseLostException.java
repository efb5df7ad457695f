package io.redlock;

/** Thrown when a lease has ended before the caller was done with it. */
public final class LeaseLostException extends RedlockException {

  private static final long serialVersionUID = 1L;

  private final transient LeaseEnd end;

  /**
   * Creates an exception for a lease.
   *
   * @param lease the lease, named in the message
   * @param end how it ended
   */
  public LeaseLostException(Lease lease, LeaseEnd end) {
    super(lease + " has ended: " + end.cause() + ", " + end.detail());
    this.end = end;
  }

  /**
   * Returns how the lease ended. Not serialized: null in a deserialized copy.
   *
   * @return the end
   */
  public LeaseEnd end() {
    return end;
  }
}
