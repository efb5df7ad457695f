package io.redlock.chaos.history;

import java.util.List;
import java.util.Map;

/** When each node lost its data: from {@code losing} to {@code lost}, which are events of its. */
final class NodeLives {

  private final Map<String, List<Span>> losses;

  NodeLives(History history) {
    losses = Span.between(history, "losing", "lost", HistoryEvent::actor);
  }

  List<Span> of(String node) {
    return losses.getOrDefault(node, List.of());
  }

  /** How many losses lie before what happened between the two moments; −1 if one lies within. */
  int at(String node, long fromNanos, long toNanos) {
    int life = 0;
    for (Span loss : of(node)) {
      if (fromNanos > loss.toNanos()) {
        life++;
      } else if (toNanos >= loss.fromNanos()) {
        return -1;
      }
    }
    return life;
  }
}
