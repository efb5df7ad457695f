package io.redlock.driver;

import io.redlock.AcquireResult.Contended.By;
import io.redlock.spi.Quorum;
import java.util.HashMap;
import java.util.Map;

/** The owners that the nodes named when they refused a round. Guarded by its user. */
final class NamedOwners {

  private final Quorum quorum;
  private final Map<String, Integer> nodes = new HashMap<>(2); // as bits, by owner

  NamedOwners(Quorum quorum) {
    this.quorum = quorum;
  }

  /** Records the owner that a node named; empty if it could not. */
  void named(int node, String owner) {
    if (!owner.isEmpty()) {
      nodes.merge(owner, 1 << node, (some, one) -> some | one);
    }
  }

  /** Returns true if the answers of these nodes may show that one owner holds the resource. */
  boolean mayBeSettledBy(int pending) {
    return pending != 0 && !isHeldWith(0) && isHeldWith(pending);
  }

  /** Returns true if one owner would hold the resource if these nodes named it too. */
  private boolean isHeldWith(int others) {
    return nodes.values().stream().anyMatch(set -> quorum.isReachedBy(set | others));
  }

  /**
   * Returns who was in the way.
   *
   * @param othersRuledOut true if so many nodes granted that no other owner can have a quorum
   */
  By by(boolean othersRuledOut) {
    if (isHeldWith(0)) {
      return By.HOLDER;
    }
    return othersRuledOut || nodes.size() > 1 ? By.SPLIT : By.UNKNOWN;
  }
}
