package io.redlock.protocol;

import io.redlock.spi.NodeReply;
import io.redlock.spi.Quorum;

/**
 * One fan-out of an extend to all nodes, as a pure value, by the rules E4 to E8.
 *
 * @param tag marks its answers
 * @param purpose why the lease is extended
 * @param terms the terms of the extend
 * @param startNanos monotonic time before the first send
 * @param startWallMicros wall time before the first send
 * @param ballot the answers so far
 */
public record ExtendRound(
    int tag,
    Purpose purpose,
    LeaseTerms terms,
    long startNanos,
    long startWallMicros,
    Ballot ballot) {

  /** Why a lease is extended. */
  public enum Purpose {
    /** Its holder asked for it. */
    CALLED,
    /** It is renewed. */
    RENEWED,
    /** To find out whether a quorum holds it. */
    CONFIRMED
  }

  /** The next step of the driver. */
  public enum Decision {
    /** The result is not settled yet. */
    WAIT,
    /** A quorum holds the lease until {@link #deadline}. */
    EXTENDED,
    /** The lease is lost: refused by too many, or its deadline has passed. */
    LOST,
    /** Too few nodes answered, or too late. */
    UNKNOWN
  }

  /** Returns a round of which nothing was sent yet. */
  public static ExtendRound begin(
      int tag, Purpose purpose, LeaseTerms terms, long startNanos, long startWallMicros) {
    Ballot empty = Ballot.empty(terms.quorum().nodes());
    return new ExtendRound(tag, purpose, terms, startNanos, startWallMicros, empty);
  }

  /** Returns the round after a node's answer. */
  public ExtendRound answered(int node, NodeReply reply) {
    return with(ballot.with(node, reply.kind()));
  }

  /** Returns the round after the node timeout: missing answers are unknown. */
  public ExtendRound timedOut() {
    return with(ballot.closed());
  }

  private ExtendRound with(Ballot answers) {
    return new ExtendRound(tag, purpose, terms, startNanos, startWallMicros, answers);
  }

  /**
   * Returns what to do now.
   *
   * @param current the lease's present deadline
   */
  public Decision decide(Deadline current, long nowNanos, long nowWallMicros) {
    if (current.remainingNanos(nowNanos, nowWallMicros) <= 0) {
      return Decision.LOST;
    }
    Quorum quorum = terms.quorum();
    if (quorum.isReachedBy(ballot.set(Ballot.HELD))) { // E5
      long left = deadline().remainingNanos(nowNanos, nowWallMicros);
      return left > terms.minValidityNanos() ? Decision.EXTENDED : Decision.UNKNOWN;
    }
    if (quorum.isRuledOutBy(ballot.set(Ballot.NOT_HELD))) {
      return Decision.LOST;
    }
    boolean open =
        quorum.isReachedBy(ballot.set(Ballot.HELD | Ballot.PENDING))
            || quorum.isRuledOutBy(ballot.set(Ballot.NOT_HELD | Ballot.PENDING));
    return open ? Decision.WAIT : Decision.UNKNOWN;
  }

  /** Returns the end of the time for which a quorum of this round holds the lease. */
  public Deadline deadline() {
    return terms.deadline(startNanos, startWallMicros);
  }
}
