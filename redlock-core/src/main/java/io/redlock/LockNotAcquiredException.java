package io.redlock;

import io.redlock.text.Brief;

/** The lock could not be had; the message says why, node by node. */
public final class LockNotAcquiredException extends RedlockException {

  private static final long serialVersionUID = 1L;

  private final transient AcquireResult result;

  /**
   * An exception for a result that is not {@link AcquireResult.Acquired}.
   *
   * @param request what was asked for
   * @param result how the last attempt went
   */
  public LockNotAcquiredException(LeaseRequest request, AcquireResult result) {
    super("not acquired: " + Brief.names(request.resources()) + ": " + reason(result));
    this.result = result;
  }

  private static String reason(AcquireResult result) {
    String votes = result.votes().toString();
    if (result instanceof AcquireResult.TooSlow) {
      return "granted too late to be of use: " + votes;
    }
    if (result.votes().nodes().isEmpty()) {
      return "others in this process held it or were first in line all the time";
    }
    return votes;
  }

  /**
   * How the last attempt went. Not serialized: null in a copy that came over a stream.
   *
   * @return the result
   */
  public AcquireResult result() {
    return result;
  }
}
