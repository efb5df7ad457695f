package io.redlock.spring.boot;

import io.redlock.NodeStatus;
import io.redlock.Redlock;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The health of a lock service: up while enough of its masters vote. A local look, which sends
 * nothing.
 *
 * @param isUp true if enough masters vote for a lease
 * @param details a line per master
 */
record NodesHealth(boolean isUp, Map<String, String> details) {

  static NodesHealth of(Redlock redlock) {
    Map<String, String> details = new LinkedHashMap<>();
    for (NodeStatus node : redlock.operations().nodes()) {
      details.put(node.name(), node.state() + node.reason().map(reason -> " " + reason).orElse(""));
    }
    return new NodesHealth(redlock.operations().isAvailable(), details);
  }
}
