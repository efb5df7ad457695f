package io.redlock.protocol;

import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReply.Kind;
import io.redlock.spi.Quorum;

/**
 * One fan-out that sets a name free for an operator, as a pure value. It succeeds with a quorum of
 * nodes on which the holder can extend nothing more: the key is not its own there, and the counter
 * is not below its token, so that it cannot join.
 *
 * <p>The token of the holder is not above the highest counter that a quorum reports, because one of
 * these nodes granted it. Nodes with a lower counter are asked again, to bury that one.
 *
 * @param quorum the nodes that are enough
 * @param buried the counter that nodes were asked to bury; 0 in the first round
 * @param ballot the answers so far
 * @param highest the highest counter that a node has reported, also in the round before
 * @param level the nodes with that counter, or in the second round one not below the buried, as
 *     bits
 * @param longestMillis the longest remaining life of a key that was set free
 */
public record FreeRound(
    Quorum quorum, long buried, Ballot ballot, long highest, int level, long longestMillis) {

  /** The result. */
  public enum Decision {
    /** Nodes have to be asked again, to bury {@link #highest}. */
    BURY,
    /** A quorum holds the name for nobody. */
    FREED,
    /** No quorum held it. */
    NOT_HELD,
    /** A quorum answered, and on some of it the name is held at another token. */
    OTHER_HOLDER,
    /** Too few nodes answered. */
    UNKNOWN
  }

  /** Returns a round of which nothing was sent yet. */
  public static FreeRound begin(Quorum quorum, long buried) {
    return new FreeRound(quorum, buried, Ballot.empty(quorum.nodes()), buried, 0, 0);
  }

  /** Returns the round after a node's answer. Only the first answer of a node counts. */
  public FreeRound answered(int node, NodeReply reply) {
    if (!ballot.isPending(node)) {
      return this;
    }
    long counter = reply.counter();
    int before = buried == 0 && counter > highest ? 0 : level;
    boolean isLevel = counter >= (buried == 0 ? highest : buried);
    return new FreeRound(
        quorum,
        buried,
        ballot.with(node, reply.kind()),
        Math.max(highest, counter),
        isLevel ? before | 1 << node : before,
        reply.kind() == Kind.RELEASED
            ? Math.max(longestMillis, reply.remainingMillis())
            : longestMillis);
  }

  /** Returns true if every node has answered. */
  public boolean isComplete() {
    return ballot.count(Ballot.PENDING) == 0;
  }

  /** Returns the result, by the answers so far; missing answers are unknown. */
  public Decision decide() {
    int missing = ballot.set(Ballot.NOT_HELD);
    int nobodys = ballot.set(Ballot.RELEASED) | missing;
    int others = ballot.set(Ballot.HELD_BY_ANOTHER);
    if (!quorum.isReachedBy(nobodys | others)) {
      return Decision.UNKNOWN;
    }
    int bound = nobodys & level; // there the holder can neither extend nor join
    if (buried == 0 && bound != nobodys && quorum.isReachedBy(nobodys)) {
      return Decision.BURY;
    }
    if (quorum.isReachedBy(bound)) {
      return quorum.isReachedBy(missing) ? Decision.NOT_HELD : Decision.FREED;
    }
    return others != 0 ? Decision.OTHER_HOLDER : Decision.UNKNOWN;
  }
}
