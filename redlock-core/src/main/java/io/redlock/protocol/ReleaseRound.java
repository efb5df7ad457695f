package io.redlock.protocol;

import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReply.Kind;

/**
 * The end of one owner id on the nodes where it may have left a key, as a pure value. A node is
 * told until it acknowledges; the result is known earlier, or never.
 *
 * @param targets the nodes to tell, as bits
 * @param acknowledged those that did what they were told, as bits
 * @param repeated those told more than once, as bits: "not held" from them may be the echo of an
 *     answer that was lost, and proves nothing
 * @param ballot what counts towards the result
 */
public record ReleaseRound(int targets, int acknowledged, int repeated, Ballot ballot) {

  /** What is known of a release. */
  public enum Known {
    /** A quorum held it and holds it no more. */
    RELEASED,
    /** No quorum can have held it. */
    NOT_HELD,
    /** Neither is certain. */
    UNCONFIRMED
  }

  /** A release of which nothing was sent yet; the targets are the nodes to tell, as bits. */
  public static ReleaseRound begin(int nodes, int targets) {
    Ballot ballot = Ballot.empty(nodes);
    for (int node = 0; node < nodes; node++) {
      if ((targets & 1 << node) == 0) {
        ballot = ballot.with(node, Kind.NOT_HELD);
      }
    }
    return new ReleaseRound(targets, 0, 0, ballot);
  }

  /** After a node's answer. */
  public ReleaseRound answered(int node, NodeReply reply) {
    int bit = 1 << node;
    return switch (reply.kind()) {
      case RELEASED ->
          new ReleaseRound(targets, acknowledged | bit, repeated, ballot.with(node, Kind.RELEASED));
      case NOT_HELD -> {
        Kind counted = (repeated & bit) == 0 ? Kind.NOT_HELD : Kind.UNKNOWN;
        yield new ReleaseRound(targets, acknowledged | bit, repeated, ballot.with(node, counted));
      }
      default -> new ReleaseRound(targets, acknowledged, repeated | bit, ballot);
    };
  }

  /** After the wait for the result is over; telling goes on. */
  public ReleaseRound timedOut() {
    return new ReleaseRound(targets, acknowledged, repeated, ballot.closed());
  }

  /** Whether the node must be told, or told again. */
  public boolean owes(int node) {
    return (targets & ~acknowledged & 1 << node) != 0;
  }

  /** Whether every node has done what it was told. */
  public boolean isComplete() {
    return acknowledged == targets;
  }

  /** Whether the result is settled, or every node has answered and some will be told again. */
  public boolean isSettled() {
    return ballot.count(Ballot.RELEASED) >= ballot.quorum()
        || ballot.excludesQuorum(ballot.count(Ballot.NOT_HELD))
        || (targets & ~(acknowledged | repeated)) == 0;
  }

  /** What is known of the release. */
  public Known known() {
    if (ballot.count(Ballot.RELEASED) >= ballot.quorum()) {
      return Known.RELEASED;
    }
    return ballot.excludesQuorum(ballot.count(Ballot.NOT_HELD))
        ? Known.NOT_HELD
        : Known.UNCONFIRMED;
  }
}
