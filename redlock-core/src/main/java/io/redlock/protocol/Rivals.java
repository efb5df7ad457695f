package io.redlock.protocol;

import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReply.Kind;
import io.redlock.spi.Quorum;
import java.util.ArrayList;
import java.util.List;

/**
 * The holders and waiters that nodes named when they refused a round. An immutable value.
 *
 * @param named the owners that they named
 * @param remainingMillis the shortest remaining life of a holder's key or first ticket; −1 if none
 *     was reported
 * @param endless the nodes, as bits, whose key does not end within the longest life of a lease
 */
public record Rivals(List<Named> named, long remainingMillis, int endless) {

  /** No node has named anybody. */
  public static final Rivals NONE = new Rivals(List.of(), -1, 0);

  private static final long LONGEST_LEASE_MILLIS = 3_600_000;

  /**
   * An owner that holds the resource on some nodes.
   *
   * @param owner its id
   * @param nodes those that named it, as bits
   */
  public record Named(String owner, int nodes) {}

  /** Returns the value after a node's answer. */
  public Rivals with(int node, NodeReply reply) {
    boolean isHeld = reply.kind() == Kind.HELD;
    if (!isHeld && reply.kind() != Kind.WAIT) {
      return this;
    }
    long left = reply.remainingMillis();
    long shortest =
        left < 0 || remainingMillis < 0
            ? Math.max(left, remainingMillis)
            : Math.min(left, remainingMillis);
    boolean names = isHeld && !reply.owner().isEmpty();
    boolean ends = left >= 0 && left <= LONGEST_LEASE_MILLIS;
    return new Rivals(
        names ? naming(reply.owner(), 1 << node) : named,
        shortest,
        isHeld && !ends ? endless | 1 << node : endless);
  }

  private List<Named> naming(String owner, int node) {
    List<Named> more = new ArrayList<>(named.size() + 1);
    int nodes = node;
    for (Named each : named) {
      if (each.owner.equals(owner)) {
        nodes |= each.nodes;
      } else {
        more.add(each);
      }
    }
    more.add(new Named(owner, nodes));
    return List.copyOf(more);
  }

  /** Returns true if the answers of these nodes may yet show that one owner holds the resource. */
  public boolean mayBeSettledBy(Quorum quorum, int pending) {
    return !isOne(quorum) && isOneWith(quorum, pending);
  }

  /** Returns true if one owner holds the resource on a quorum. */
  public boolean isOne(Quorum quorum) {
    return isOneWith(quorum, 0);
  }

  private boolean isOneWith(Quorum quorum, int others) {
    for (Named each : named) {
      if (quorum.isReachedBy(each.nodes | others)) {
        return true;
      }
    }
    return false;
  }

  /**
   * Returns true if no owner can have a quorum.
   *
   * @param othersRuledOut true if so many nodes granted that no other owner can have one
   */
  public boolean isSplit(Quorum quorum, boolean othersRuledOut) {
    return !isOne(quorum) && (othersRuledOut || named.size() > 1);
  }
}
