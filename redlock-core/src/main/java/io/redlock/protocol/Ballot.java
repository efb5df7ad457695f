package io.redlock.protocol;

import io.redlock.spi.NodeReply.Kind;

/**
 * The answers of one round, at most one per node: the kinds of the replies, packed four bits each
 * (zero: none yet). An immutable value; two ballots with the same answers are equal.
 *
 * @param nodes how many nodes vote
 * @param packed node i's answer in bits 4i to 4i+3
 */
public record Ballot(int nodes, long packed) {

  /** How many nodes fit. */
  public static final int MAX_NODES = 15;

  // Sets of kinds, one bit per ordinal + 1; bit zero is "no answer yet".

  /** No answer yet. */
  public static final int PENDING = 1;

  /** A yes to an acquire. */
  public static final int GRANTED = bit(Kind.GRANTED);

  /** A yes to an extend. */
  public static final int HELD = bit(Kind.EXTENDED) | bit(Kind.JOINED);

  /** The counter is not below the token. */
  public static final int STALE = bit(Kind.STALE);

  /** Others are ahead: they hold it, wait for it, or had a higher token. */
  public static final int TAKEN = bit(Kind.TAKEN) | bit(Kind.WAIT) | STALE;

  /** The token lies too far from the node's time. */
  public static final int CLOCK = bit(Kind.CLOCK);

  /** The owner does not hold it. */
  public static final int NOT_HELD = bit(Kind.NOT_HELD);

  /** The owner held it, and no more. */
  public static final int RELEASED = bit(Kind.RELEASED);

  private static final Kind[] KINDS = Kind.values();

  /** Nobody has answered. */
  public static Ballot empty(int nodes) {
    return new Ballot(nodes, 0);
  }

  private static int bit(Kind kind) {
    return 1 << kind.ordinal() + 1;
  }

  /** More than half of so many nodes. */
  public static int quorum(int nodes) {
    return nodes / 2 + 1;
  }

  /** More than half of these nodes. */
  public int quorum() {
    return quorum(nodes);
  }

  /** Whether the node has not answered. */
  public boolean isPending(int node) {
    return code(node) == 0;
  }

  /** The node's answer; only for a node that is not pending. */
  public Kind kind(int node) {
    return KINDS[code(node) - 1];
  }

  private int code(int node) {
    return (int) (packed >>> 4 * node) & 15;
  }

  /** With this answer, unless the node has answered already: each node counts once. */
  public Ballot with(int node, Kind kind) {
    return isPending(node)
        ? new Ballot(nodes, packed | (long) (kind.ordinal() + 1) << 4 * node)
        : this;
  }

  /** With every node that has not answered classed as unknown. */
  public Ballot closed() {
    Ballot closed = this;
    for (int node = 0; node < nodes; node++) {
      closed = closed.with(node, Kind.UNKNOWN);
    }
    return closed;
  }

  /** How many nodes gave an answer of the set. */
  public int count(int kinds) {
    int count = 0;
    for (int node = 0; node < nodes; node++) {
      count += kinds >>> code(node) & 1;
    }
    return count;
  }

  /** Whether this many nodes leave too few others for a quorum. */
  public boolean excludesQuorum(int count) {
    return nodes - count < quorum();
  }
}
