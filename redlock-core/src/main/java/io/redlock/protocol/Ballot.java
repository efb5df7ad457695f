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

  public static final int MAX_NODES = 15;

  /** Sets of kinds, one bit per ordinal + 1; bit zero is "no answer yet". */
  public static final int PENDING = 1;

  public static final int GRANTED = bit(Kind.GRANTED);
  public static final int HELD = bit(Kind.EXTENDED) | bit(Kind.JOINED);
  public static final int STALE = bit(Kind.STALE);
  public static final int TAKEN = bit(Kind.TAKEN) | bit(Kind.WAIT) | STALE;
  public static final int CLOCK = bit(Kind.CLOCK);
  public static final int NOT_HELD = bit(Kind.NOT_HELD);
  public static final int RELEASED = bit(Kind.RELEASED);

  private static final Kind[] KINDS = Kind.values();

  public static Ballot empty(int nodes) {
    return new Ballot(nodes, 0);
  }

  private static int bit(Kind kind) {
    return 1 << kind.ordinal() + 1;
  }

  public static int quorum(int nodes) {
    return nodes / 2 + 1;
  }

  public int quorum() {
    return quorum(nodes);
  }

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
