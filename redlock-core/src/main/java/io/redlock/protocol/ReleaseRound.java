package io.redlock.protocol;

import io.redlock.ReleaseResult;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReply.Kind;
import io.redlock.spi.Quorum;

/**
 * The release of one owner on the nodes where it may have left a key, as a pure value. The release
 * is sent to a node until the node acknowledges it; the result is known earlier, or never.
 *
 * @param quorum the nodes that are enough
 * @param targets the nodes to release on, as bits
 * @param acknowledged those that executed the release, as bits
 * @param repeated those that get it again, as bits: their "not held" proves nothing, for a release
 *     whose answer was lost may have deleted the key
 * @param ballot the answers that count for the result
 */
public record ReleaseRound(
    Quorum quorum, int targets, int acknowledged, int repeated, Ballot ballot) {

  /** Returns a release of which nothing was sent yet, for these nodes, given as bits. */
  public static ReleaseRound begin(Quorum quorum, int targets) {
    int nodes = quorum.nodes();
    Ballot ballot = Ballot.empty(nodes);
    for (int node = 0; node < nodes; node++) {
      if ((targets & 1 << node) == 0) {
        ballot = ballot.with(node, Kind.NOT_HELD);
      }
    }
    return new ReleaseRound(quorum, targets, 0, 0, ballot);
  }

  /** Returns the release after a node's answer. */
  public ReleaseRound answered(int node, NodeReply reply) {
    int bit = 1 << node;
    Kind kind = reply.kind();
    if (kind != Kind.RELEASED && kind != Kind.NOT_HELD) {
      return new ReleaseRound(quorum, targets, acknowledged, repeated | bit, ballot);
    }
    boolean isDoubtful = kind == Kind.NOT_HELD && (repeated & bit) != 0;
    Ballot counted = ballot.with(node, isDoubtful ? Kind.UNKNOWN : kind);
    return new ReleaseRound(quorum, targets, acknowledged | bit, repeated, counted);
  }

  /** Returns the release after the wait for its result; it is still sent to nodes that owe it. */
  public ReleaseRound timedOut() {
    return new ReleaseRound(quorum, targets, acknowledged, repeated, ballot.closed());
  }

  /** Returns the release once no key can be left: it is sent to nobody any more. */
  public ReleaseRound givenUp() {
    return new ReleaseRound(quorum, acknowledged, acknowledged, repeated, ballot); // R7
  }

  /** Returns true if the wait for its result is over, and some node has not executed it. */
  public boolean isOverdue() {
    return !isComplete() && ballot.set(Ballot.PENDING) == 0;
  }

  /** Returns true if the node must still execute the release. */
  public boolean owes(int node) {
    return (targets & ~acknowledged & 1 << node) != 0;
  }

  /** Returns true if every target has executed the release. */
  public boolean isComplete() {
    return (targets & ~acknowledged) == 0;
  }

  /** Returns true if the result is settled, or if every target has answered at least once. */
  public boolean isSettled() {
    return known() != ReleaseResult.UNCONFIRMED || (targets & ~(acknowledged | repeated)) == 0;
  }

  /** Returns the result, as far as it is known. */
  public ReleaseResult known() {
    if (quorum.isReachedBy(ballot.set(Ballot.RELEASED))) {
      return ReleaseResult.RELEASED;
    }
    return quorum.isRuledOutBy(ballot.set(Ballot.NOT_HELD))
        ? ReleaseResult.NOT_HELD
        : ReleaseResult.UNCONFIRMED;
  }
}
