package io.redlock;

import io.redlock.text.Brief;
import java.util.Optional;

/** Thrown when the lock could not be acquired; the message gives the reason, node by node. */
public final class LockNotAcquiredException extends RedlockException {

  private static final long serialVersionUID = 1L;

  private final transient AcquireResult result;

  /**
   * Creates an exception for a result without a lease.
   *
   * @param request the resources and terms
   * @param result the result of the last attempt
   */
  public LockNotAcquiredException(LeaseRequest request, AcquireResult result) {
    super(
        "not acquired: "
            + (request.isAnyOf() ? "any of " : "")
            + Brief.names(request.resources())
            + ": "
            + reason(result));
    this.result = result;
  }

  private static String reason(AcquireResult result) {
    String votes = result.votes().toString();
    if (result.outcome() == AcquireResult.Outcome.TOO_SLOW) {
      return "granted too late to be of use: " + votes;
    }
    if (result.votes().nodes().isEmpty()) {
      return "others in this process held it, or were ahead in the queue, all the time";
    }
    return votes;
  }

  /**
   * Returns the label of the client that holds the resource, as {@link Votes#holder()}.
   *
   * @return the label, or what {@link Votes#holder()} has in its place; empty if no node names a
   *     holder, and in a deserialized copy
   */
  public Optional<String> holder() {
    return Optional.ofNullable(result).flatMap(last -> last.votes().holder());
  }

  /**
   * Returns the result of the last attempt. Not serialized: null in a deserialized copy.
   *
   * @return the result
   */
  public AcquireResult result() {
    return result;
  }
}
