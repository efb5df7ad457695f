package io.redlock;

import java.util.Optional;

/**
 * The result of an acquire.
 *
 * @param outcome how it ended
 * @param lease the lease, which the receiver of this result owns; empty unless the outcome is
 *     {@link Outcome#ACQUIRED}
 * @param votes the answer of each node in the last round, or the reason why it has none. Empty if
 *     only other calls of the same {@link Redlock} were in the way, so that no node was asked;
 *     empty, too, if the lease was passed on
 * @param contendedBy who was in the way; empty unless the outcome is {@link Outcome#CONTENDED}
 */
public record AcquireResult(
    Outcome outcome, Optional<Lease> lease, Votes votes, Optional<By> contendedBy) {

  /** The four ways in which an acquire, or one attempt of it, ends. */
  public enum Outcome {
    /** A majority granted the lease in time. */
    ACQUIRED,
    /**
     * Others hold the resource, or each a part of it, on so many nodes that no majority is left.
     */
    CONTENDED,
    /** Too few nodes were able to vote: they are down, silent, abstaining or misconfigured. */
    UNAVAILABLE,
    /**
     * A majority granted the lease, but so late that too little of its ttl was left, or nothing
     * when the caller was to get it.
     */
    TOO_SLOW
  }

  /** The answers to the question who is in the way, as far as the nodes tell. */
  public enum By {
    /** One client holds the resource, or readers do: a quorum of nodes named the same owner. */
    HOLDER,
    /**
     * Several requests came together, and each got a part of the nodes, so that nobody may hold the
     * resource. With {@link LeaseRequest#unlessHeld} they ask again until one of them does.
     */
    SPLIT,
    /**
     * Too few nodes named an owner to tell; also if only other calls of the same {@link Redlock}
     * were in the way.
     */
    UNKNOWN
  }

  /**
   * Checks that the outcome has what belongs to it, and nothing else.
   *
   * @throws IllegalArgumentException if a lease without {@link Outcome#ACQUIRED}, or a cause
   *     without {@link Outcome#CONTENDED}, is given, or is missing with it
   */
  public AcquireResult {
    if (lease.isPresent() != (outcome == Outcome.ACQUIRED)) {
      throw new IllegalArgumentException(outcome + " with lease " + lease);
    }
    if (contendedBy.isPresent() != (outcome == Outcome.CONTENDED)) {
      throw new IllegalArgumentException(outcome + " with contendedBy " + contendedBy);
    }
  }

  /**
   * Creates the result of an acquire that succeeded.
   *
   * @param lease the lease
   * @param votes the answers that had arrived when it was acquired
   * @return a result with {@link Outcome#ACQUIRED}
   */
  public static AcquireResult acquired(Lease lease, Votes votes) {
    return new AcquireResult(Outcome.ACQUIRED, Optional.of(lease), votes, Optional.empty());
  }

  /**
   * Creates the result of an acquire that others prevented.
   *
   * @param by who was in the way
   * @param votes the answer of each node
   * @return a result with {@link Outcome#CONTENDED}
   */
  public static AcquireResult contended(By by, Votes votes) {
    return new AcquireResult(Outcome.CONTENDED, Optional.empty(), votes, Optional.of(by));
  }

  /**
   * Creates the result of an acquire for which too few nodes voted.
   *
   * @param votes the answer of each node, or the reason why it has none
   * @return a result with {@link Outcome#UNAVAILABLE}
   */
  public static AcquireResult unavailable(Votes votes) {
    return new AcquireResult(Outcome.UNAVAILABLE, Optional.empty(), votes, Optional.empty());
  }

  /**
   * Creates the result of an acquire that was granted, or passed on, too late.
   *
   * @param votes the answer of each node, and the time that it took
   * @return a result with {@link Outcome#TOO_SLOW}
   */
  public static AcquireResult tooSlow(Votes votes) {
    return new AcquireResult(Outcome.TOO_SLOW, Optional.empty(), votes, Optional.empty());
  }

  /**
   * Returns the lease, for callers that go on only with it.
   *
   * @param request the request that this is the result of
   * @return the lease
   * @throws LockNotAcquiredException if there is none; its message names the resources of the
   *     request, and the reason
   */
  public Lease orElseThrow(LeaseRequest request) {
    return lease.orElseThrow(() -> new LockNotAcquiredException(request, this));
  }

  /** For example {@code CONTENDED by HOLDER: 0 of 3 granted, 2 needed (…)}. */
  @Override
  public String toString() {
    return outcome
        + lease.map(held -> " " + held).orElse("")
        + contendedBy.map(by -> " by " + by).orElse("")
        + ": "
        + votes;
  }
}
