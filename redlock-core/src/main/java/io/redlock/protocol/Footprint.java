package io.redlock.protocol;

import io.redlock.spi.NodeReply.Kind;

/**
 * The nodes on which one owner may have left a key, and which its release must therefore reach. A
 * mark stays: one yes, or one operation without a known result, is enough. Nodes that only refused
 * get no release, since a tombstone there would hurt the winner.
 *
 * @param yes nodes that said yes to an operation of this owner, as bits
 * @param unknown nodes that may have executed an operation of this owner, as bits
 */
public record Footprint(int yes, int unknown) {

  /** No key on any node. */
  public static final Footprint NONE = new Footprint(0, 0);

  /** Returns the footprint after a node's answer to an operation of the owner. */
  public Footprint with(int node, Kind kind) {
    int bit = 1 << node;
    return switch (kind) {
      case GRANTED, EXTENDED, JOINED -> new Footprint(yes | bit, unknown);
      case UNKNOWN, DENIED -> new Footprint(yes, unknown | bit);
      default -> this;
    };
  }

  /** Returns the nodes to release on, given those that have not answered. */
  public int releaseSet(int unanswered) {
    return yes | unknown | unanswered;
  }
}
