package io.redlock.protocol;

import io.redlock.spi.NodeReply.Kind;

/**
 * Where one owner id may have left a key: the nodes that must hear of its end, and no others. Per
 * node the class is sticky: one yes, or one operation of unknown fate, marks it for good. Nodes
 * that only refused are left alone, since a tombstone there would hurt the winner.
 *
 * @param yes nodes that said yes to any operation of this owner, as bits
 * @param unknown nodes where any operation of this owner has an unknown fate, as bits
 */
public record Footprint(int yes, int unknown) {

  /** Nothing was left anywhere. */
  public static final Footprint NONE = new Footprint(0, 0);

  /** After a node's answer to any operation of the owner. */
  public Footprint with(int node, Kind kind) {
    int bit = 1 << node;
    return switch (kind) {
      case GRANTED, EXTENDED, JOINED -> new Footprint(yes | bit, unknown);
      case UNKNOWN, DENIED -> new Footprint(yes, unknown | bit);
      default -> this;
    };
  }

  /** The nodes to release on, given those that still owe an answer. */
  public int releaseSet(int unanswered) {
    return yes | unknown | unanswered;
  }
}
