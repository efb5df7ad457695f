package io.redlock.membership;

import io.redlock.NodeStatus;
import io.redlock.RedlockListener;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

/** Remembers what a client tells of its nodes. */
final class NodeNews implements RedlockListener {

  private final Queue<NodeStatus> states = new ConcurrentLinkedQueue<>();
  private final Queue<String> losses = new ConcurrentLinkedQueue<>();

  @Override
  public void onNodeState(NodeStatus status) {
    states.add(status);
  }

  @Override
  public void onNodeReset(String node, String reason) {
    losses.add(node + ": " + reason);
  }

  /** The states that a node went through, in the order in which they were told. */
  List<NodeStatus.State> states(String node) {
    return states.stream()
        .filter(status -> status.name().equals(node))
        .map(NodeStatus::state)
        .toList();
  }

  /** Which nodes lost their past, and how. */
  List<String> losses() {
    return List.copyOf(losses);
  }
}
