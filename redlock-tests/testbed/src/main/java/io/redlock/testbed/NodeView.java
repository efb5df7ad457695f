package io.redlock.testbed;

import io.redlock.NodeStatus;
import io.redlock.NodeStatus.State;
import io.redlock.Redlock;

/** The nodes of a client, as it sees them. */
public final class NodeView {

  private NodeView() {}

  public static NodeStatus status(Redlock client, int node) {
    return client.operations().nodes().get(node);
  }

  public static State state(Redlock client, int node) {
    return status(client, node).state();
  }

  /** Why the node does not vote; empty if it does. */
  public static String reason(Redlock client, int node) {
    return status(client, node).reason().orElse("");
  }

  public static void await(Redlock client, int node, State state) {
    await(client, node, state, "");
  }

  /** Waits for a state, and for a reason that contains these words. */
  public static void await(Redlock client, int node, State state, String words) {
    Await.until(
        "node " + node + " is " + state + " " + words + ", not " + status(client, node),
        () -> state(client, node) == state && reason(client, node).contains(words));
  }

  public static void awaitAllUp(Redlock client) {
    for (int node = 0; node < client.operations().nodes().size(); node++) {
      await(client, node, State.UP);
    }
  }
}
