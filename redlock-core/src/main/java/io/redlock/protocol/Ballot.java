package io.redlock.protocol;

import io.redlock.spi.NodeReply.Kind;

/**
 * The answers of one round, at most one per node: the kinds of the replies, packed into four bits
 * each (zero: none yet). An immutable value; two ballots with the same answers are equal.
 *
 * @param nodes the number of nodes that vote
 * @param packed node i's answer in bits 4i to 4i+3
 */
public record Ballot(int nodes, long packed) {

  /** The largest number of nodes that fit. */
  public static final int MAX_NODES = 15;

  // Sets of kinds, one bit per ordinal + 1; bit zero is "no answer yet".

  /** No answer yet. */
  public static final int PENDING = 1;

  /** Yes to a grant. */
  public static final int GRANTED = bit(Kind.GRANTED);

  /** Yes to an extend. */
  public static final int HELD = bit(Kind.EXTENDED) | bit(Kind.JOINED);

  /** No: the node's counter is not below the token. */
  public static final int STALE = bit(Kind.STALE);

  /** No: others hold the resource, are first in its queue, or had a higher token. */
  public static final int REFUSED = bit(Kind.HELD) | bit(Kind.WAIT) | STALE;

  /** No: another owner holds the resource. */
  public static final int HELD_BY_ANOTHER = bit(Kind.HELD);

  /** No: the token is too far from the node's time. */
  public static final int CLOCK = bit(Kind.CLOCK);

  /** The owner does not hold the resource. */
  public static final int NOT_HELD = bit(Kind.NOT_HELD);

  /** The owner held the resource until this release. */
  public static final int RELEASED = bit(Kind.RELEASED);

  /** Returns a ballot without answers. */
  public static Ballot empty(int nodes) {
    return new Ballot(nodes, 0);
  }

  private static int bit(Kind kind) {
    return 1 << kind.ordinal() + 1;
  }

  /** Returns true if the node has not answered. */
  public boolean isPending(int node) {
    return code(node) == 0;
  }

  private int code(int node) {
    return (int) (packed >>> 4 * node) & 15;
  }

  /** Returns the ballot with this answer. Only the first answer of a node counts. */
  public Ballot with(int node, Kind kind) {
    return isPending(node)
        ? new Ballot(nodes, packed | (long) (kind.ordinal() + 1) << 4 * node)
        : this;
  }

  /** Returns the ballot with every missing answer as unknown. */
  public Ballot closed() {
    Ballot closed = this;
    for (int node = 0; node < nodes; node++) {
      closed = closed.with(node, Kind.UNKNOWN);
    }
    return closed;
  }

  /** Returns the nodes whose answer is in the set, as bits. */
  public int set(int kinds) {
    int set = 0;
    for (int node = 0; node < nodes; node++) {
      set |= (kinds >>> code(node) & 1) << node;
    }
    return set;
  }
}
