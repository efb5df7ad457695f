package io.redlock.protocol;

import io.redlock.spi.NodeReply;

/**
 * One fan-out of an extend to all nodes, as a pure value.
 *
 * <ol>
 *   <li>It is measured from its own start, on both clocks, read before the first send.
 *   <li>It succeeds with a quorum of nodes that still held the lease or could join it, if the
 *       deadline it is to replace has not passed when they are counted: only then was the lease
 *       held all the time.
 *   <li>It is lost when so many nodes no longer hold it that no quorum can.
 *   <li>Anything else is unknown and changes nothing.
 * </ol>
 *
 * @param terms what is asked
 * @param startNanos monotonic time before the first send
 * @param startWallMicros wall time before the first send
 * @param ballot the answers so far
 */
public record ExtendRound(Terms terms, long startNanos, long startWallMicros, Ballot ballot) {

  /** What to do next. */
  public enum Decision {
    /** Nothing is settled yet. */
    WAIT,
    /** A quorum holds the lease until {@link #deadline}. */
    EXTENDED,
    /** The lease is lost: refused by too many, or its deadline has passed. */
    LOST,
    /** Too few nodes answered, or too late to be of use. */
    UNKNOWN
  }

  /** A round of which nothing was sent yet. */
  public static ExtendRound begin(Terms terms, long startNanos, long startWallMicros) {
    return new ExtendRound(terms, startNanos, startWallMicros, Ballot.empty(terms.nodes()));
  }

  /** After a node's answer. */
  public ExtendRound answered(int node, NodeReply reply) {
    return new ExtendRound(terms, startNanos, startWallMicros, ballot.with(node, reply.kind()));
  }

  /** After the node timeout: who has not answered is unknown. */
  public ExtendRound timedOut() {
    return new ExtendRound(terms, startNanos, startWallMicros, ballot.closed());
  }

  /**
   * What to do next.
   *
   * @param current the lease's present deadline
   */
  public Decision decide(Deadline current, long nowNanos, long nowWallMicros) {
    if (current.remainingNanos(nowNanos, nowWallMicros) <= 0) {
      return Decision.LOST;
    }
    int yes = ballot.count(Ballot.HELD);
    if (yes >= ballot.quorum()) {
      long left = deadline().remainingNanos(nowNanos, nowWallMicros);
      return left > terms.minValidityNanos() ? Decision.EXTENDED : Decision.UNKNOWN;
    }
    int refused = ballot.count(Ballot.NOT_HELD);
    if (ballot.excludesQuorum(refused)) {
      return Decision.LOST;
    }
    int pending = ballot.count(Ballot.PENDING);
    boolean open = yes + pending >= ballot.quorum() || ballot.excludesQuorum(refused + pending);
    return open ? Decision.WAIT : Decision.UNKNOWN;
  }

  /** Until when this round's quorum holds. */
  public Deadline deadline() {
    return terms.deadline(startNanos, startWallMicros);
  }
}
