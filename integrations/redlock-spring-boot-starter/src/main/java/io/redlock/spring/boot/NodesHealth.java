package io.redlock.spring.boot;

import io.redlock.NodeStatus;
import io.redlock.NodeStatus.State;
import io.redlock.Redlock;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The health of a lock service: up while a majority of its masters votes. A local look, which sends
 * nothing.
 *
 * @param isUp true if a majority votes
 * @param details a line per master
 */
record NodesHealth(boolean isUp, Map<String, String> details) {

  static NodesHealth of(Redlock redlock) {
    List<NodeStatus> nodes = redlock.nodes();
    long up = nodes.stream().filter(node -> node.state() == State.UP).count();
    Map<String, String> details = new LinkedHashMap<>();
    nodes.forEach(
        node -> details.put(node.name(), (node.state() + " " + node.reason()).stripTrailing()));
    return new NodesHealth(up > nodes.size() / 2, details);
  }
}
