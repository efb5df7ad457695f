package io.redlock.protocol;

import io.redlock.protocol.Decision.Outcome;
import io.redlock.spi.NodeReply;
import io.redlock.spi.Quorum;

/**
 * One fan-out of an extend to all nodes, as a pure value, by the rules E4 to E8.
 *
 * @param tag marks its answers
 * @param purpose why the lease is extended
 * @param terms the terms of the extend
 * @param start the time before the first send
 * @param ballot the answers so far
 */
public record ExtendRound(
    int tag, Purpose purpose, LeaseTerms terms, Deadline start, Ballot ballot) {

  /** Why a lease is extended. */
  public enum Purpose {
    /** Its holder asked for it. */
    CALLED,
    /** It is renewed. */
    RENEWED,
    /** To find out whether a quorum holds it. */
    CONFIRMED
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
    return new ExtendRound(tag, purpose, terms, start, answers);
  }

  /**
   * Returns what came of it: if it is extended, a quorum holds the lease until {@link #deadline}.
   *
   * @param lossTime when the lease is lost if it is not extended
   */
  public Outcome decide(Deadline lossTime, long nowNanos, long nowWallMicros) {
    if (lossTime.remainingNanos(nowNanos, nowWallMicros) <= 0) {
      return Outcome.EXPIRED; // E8
    }
    Quorum quorum = terms.quorum();
    if (quorum.isReachedBy(ballot.set(Ballot.HELD))) { // E5
      long left = deadline().remainingNanos(nowNanos, nowWallMicros);
      return left > terms.minValidityNanos() ? Outcome.EXTENDED : Outcome.UNKNOWN;
    }
    if (quorum.isRuledOutBy(ballot.set(Ballot.NOT_HELD))) {
      return Outcome.REFUSED;
    }
    boolean open =
        quorum.isReachedBy(ballot.set(Ballot.HELD | Ballot.PENDING))
            || quorum.isRuledOutBy(ballot.set(Ballot.NOT_HELD | Ballot.PENDING));
    return open ? Outcome.NOTHING : Outcome.UNKNOWN;
  }

  /** Returns the end of the time for which a quorum of this round holds the lease. */
  public Deadline deadline() {
    return terms.deadline(start);
  }
}
