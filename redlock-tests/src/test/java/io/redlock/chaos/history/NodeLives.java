package io.redlock.chaos.history;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** When each node lost its data: from {@code losing} to {@code lost}, which are events of its. */
final class NodeLives {

  /** A loss of data, certain to have happened between the two moments. */
  record Loss(long fromNanos, long toNanos) {}

  private final Map<String, List<Loss>> losses = new HashMap<>();

  NodeLives(History history) {
    Map<String, Long> losing = new HashMap<>();
    for (HistoryEvent event : history.of("losing", "lost").toList()) {
      if (event.is("losing")) {
        losing.put(event.actor(), event.atNanos());
      } else {
        losses
            .computeIfAbsent(event.actor(), node -> new ArrayList<>())
            .add(new Loss(losing.remove(event.actor()), event.atNanos()));
      }
    }
    losing.forEach(
        (node, from) ->
            losses
                .computeIfAbsent(node, n -> new ArrayList<>())
                .add(new Loss(from, Long.MAX_VALUE)));
  }

  List<Loss> of(String node) {
    return losses.getOrDefault(node, List.of());
  }

  /** How many losses lie before what happened between the two moments; −1 if one lies within. */
  int at(String node, long fromNanos, long toNanos) {
    int life = 0;
    for (Loss loss : of(node)) {
      if (fromNanos > loss.toNanos) {
        life++;
      } else if (toNanos >= loss.fromNanos) {
        return -1;
      }
    }
    return life;
  }
}
