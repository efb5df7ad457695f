package io.redlock.spi;

import java.util.ArrayList;
import java.util.List;

/**
 * The sets of nodes that are enough: a majority of the nodes or, while clients move to other nodes,
 * a majority of the present nodes and a majority of the future ones. Sets of nodes are bits.
 *
 * @param present the nodes, or the present ones
 * @param future the future nodes, which may overlap with the present ones; 0 if no client moves
 */
public record Quorum(int present, int future) {

  /** Returns the majorities of this number of nodes. */
  public static Quorum of(int nodes) {
    return new Quorum((1 << nodes) - 1, 0);
  }

  /**
   * Returns the majorities of two sets of nodes. The present ones come first, then those that only
   * the future has, in their order.
   *
   * @param present the names of the present nodes
   * @param future the names of the future nodes; empty if no client moves
   */
  public static Quorum of(List<String> present, List<String> future) {
    List<String> all = new ArrayList<>(present);
    int ofFuture = 0;
    for (String name : future) {
      if (!all.contains(name)) {
        all.add(name);
      }
      ofFuture |= 1 << all.indexOf(name);
    }
    return new Quorum((1 << present.size()) - 1, ofFuture);
  }

  /** Returns the smallest majority of this number of nodes. */
  public static int majority(int nodes) {
    return nodes / 2 + 1;
  }

  /** Returns how many nodes of a set are needed: for each rule and each message the same. */
  public static int needed(int group) {
    return majority(Integer.bitCount(group));
  }

  /** Returns the number of nodes. */
  public int nodes() {
    return Integer.bitCount(present | future);
  }

  /** Returns true if clients move to other nodes, so that two majorities are needed. */
  public boolean isJoint() {
    return future != 0;
  }

  /** Returns true if these nodes are enough. */
  public boolean isReachedBy(int nodes) {
    return hasMajority(nodes, present) && (future == 0 || hasMajority(nodes, future));
  }

  /** Returns true if the other nodes are not enough. */
  public boolean isRuledOutBy(int nodes) {
    return !isReachedBy(~nodes);
  }

  private static boolean hasMajority(int nodes, int group) {
    return Integer.bitCount(nodes & group) >= needed(group);
  }

  /** Returns the smallest number of nodes that can be enough. */
  public int least() {
    int ofPresent = needed(present);
    if (future == 0) {
      return ofPresent;
    }
    int ofFuture = needed(future);
    int both = Integer.bitCount(present & future);
    return Math.max(Math.max(ofPresent, ofFuture), ofPresent + ofFuture - both);
  }

  /** For example {@code 3 of 5}, or {@code 2 of 3 old masters and 3 of 5 new ones}. */
  @Override
  public String toString() {
    int old = Integer.bitCount(present);
    String ofPresent = needed(present) + " of " + old;
    int coming = Integer.bitCount(future);
    return future == 0
        ? ofPresent
        : ofPresent + " old masters and " + needed(future) + " of " + coming + " new ones";
  }
}
