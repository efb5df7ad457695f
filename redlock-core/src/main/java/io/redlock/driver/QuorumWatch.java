package io.redlock.driver;

import io.redlock.NodeStatus;
import io.redlock.NodeStatus.State;
import io.redlock.spi.Quorum;
import java.util.Arrays;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Tells when the last majority of nodes is lost, and when there is one again. A node's own lane
 * knows nothing of the others, so a short silence there is no warning. Thread-safe.
 */
final class QuorumWatch {

  private final Quorum quorum;
  private final @Nullable NodeStatus[] nodes; // guarded by this; null until the first change
  private boolean isReached; // guarded by this
  private boolean wasLost; // guarded by this; since it was reached first

  QuorumWatch(Quorum quorum, int nodes) {
    this.quorum = quorum;
    this.nodes = new NodeStatus[nodes];
  }

  /** Takes a change of state. Returns the line for the log; null if it changes no majority. */
  synchronized @Nullable String changed(int node, NodeStatus status) {
    nodes[node] = status;
    boolean before = isReached;
    isReached = quorum.isReachedBy(granting(nodes));
    if (before == isReached) {
      return null;
    }
    if (before) {
      wasLost = true;
      return Arrays.stream(nodes)
          .filter(each -> each != null && !grants(each))
          .map(
              each ->
                  each.name()
                      + (each.state() == State.UP
                          ? " " + each.reason().orElse("")
                          : " is " + each.state()))
          .collect(Collectors.joining(", ", "No majority of masters grants leases: ", ""));
    }
    return wasLost ? "A majority of masters grants leases again" : null;
  }

  /** Returns the nodes that grant, as bits; one of which nothing is known does not. */
  static int granting(@Nullable NodeStatus... nodes) {
    int granting = 0;
    for (int node = 0; node < nodes.length; node++) {
      NodeStatus status = nodes[node];
      granting |= status != null && grants(status) ? 1 << node : 0;
    }
    return granting;
  }

  /** Returns true if the node votes, and nothing is known that keeps it from granting. */
  private static boolean grants(NodeStatus node) {
    return node.state() == State.UP && node.reason().isEmpty();
  }
}
