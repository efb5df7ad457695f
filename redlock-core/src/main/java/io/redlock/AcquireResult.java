package io.redlock;

import java.util.Optional;

/**
 * The result of an acquire. {@link #outcome()} is for a {@code switch} on any Java version; the
 * four records are for pattern matching; {@link #optionalLease()} is for callers to whom the reason
 * does not matter.
 */
public sealed interface AcquireResult {

  /** The four ways in which an acquire, or one attempt of it, ends. */
  enum Outcome {
    /** A majority granted the lease in time. */
    ACQUIRED,
    /**
     * Others hold the resource, or each a part of it, on so many nodes that no majority is left.
     */
    CONTENDED,
    /** Too few nodes were able to vote: they are down, silent, abstaining or misconfigured. */
    UNAVAILABLE,
    /** A majority granted the lease, but so late that too little of its ttl was left. */
    TOO_SLOW
  }

  /** Returns how it ended; never null. */
  Outcome outcome();

  /** Returns the answer of each node in the last round. */
  Votes votes();

  /** Returns the lease; empty unless the outcome is {@link Outcome#ACQUIRED}. */
  default Optional<Lease> optionalLease() {
    return Optional.empty();
  }

  /**
   * {@link Outcome#ACQUIRED}.
   *
   * @param lease the lease, which the receiver of this result owns
   * @param votes the answers that had arrived when the lease was acquired
   */
  record Acquired(Lease lease, Votes votes) implements AcquireResult {
    @Override
    public Outcome outcome() {
      return Outcome.ACQUIRED;
    }

    @Override
    public Optional<Lease> optionalLease() {
      return Optional.of(lease);
    }
  }

  /**
   * {@link Outcome#CONTENDED}.
   *
   * @param votes the answer of each node; empty if only other calls of the same {@link Redlock}
   *     were in the way, so that no node was asked
   * @param by who was in the way
   */
  record Contended(Votes votes, By by) implements AcquireResult {

    /** The answers to the question who is in the way, as far as the nodes tell. */
    public enum By {
      /** One client holds the resource: a quorum of nodes named the same owner. */
      HOLDER,
      /**
       * Several requests came together, and each got a part of the nodes, so that nobody may hold
       * the resource. With {@link LeaseRequest#unlessHeld} they ask again until one of them does.
       */
      SPLIT,
      /**
       * Too few nodes named an owner to tell; also if only other calls of the same {@link Redlock}
       * were in the way.
       */
      UNKNOWN
    }

    /**
     * Returns the label of the client that holds the resource, as {@link Votes#holder()}.
     *
     * @return the label; {@code freed by} and the label of the operator if it was set free; empty
     *     if no node names a holder
     */
    public Optional<String> holder() {
      return votes.holder();
    }

    @Override
    public Outcome outcome() {
      return Outcome.CONTENDED;
    }
  }

  /**
   * {@link Outcome#UNAVAILABLE}.
   *
   * @param votes the answer of each node, or the reason why it has none
   */
  record Unavailable(Votes votes) implements AcquireResult {
    @Override
    public Outcome outcome() {
      return Outcome.UNAVAILABLE;
    }
  }

  /**
   * {@link Outcome#TOO_SLOW}.
   *
   * @param votes the answer of each node, and the time that it took
   */
  record TooSlow(Votes votes) implements AcquireResult {
    @Override
    public Outcome outcome() {
      return Outcome.TOO_SLOW;
    }
  }
}
