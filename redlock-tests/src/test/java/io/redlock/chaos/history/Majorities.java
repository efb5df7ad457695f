package io.redlock.chaos.history;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** The nodes that each client needs for a lease: a majority of all, or of those it knows. */
final class Majorities {

  final Set<String> allNodes;
  private final Map<String, List<Set<String>>> known = new HashMap<>(); // by process
  private final Map<String, Long> knownNanos = new HashMap<>(); // by node

  Majorities(History history) {
    allNodes =
        IntStream.range(0, RunSettings.of(history).nodes())
            .mapToObj(node -> "n" + node)
            .collect(Collectors.toUnmodifiableSet());
    for (HistoryEvent event : history.of("knows").toList()) {
      List<Set<String>> sets = new ArrayList<>();
      sets.add(Set.of(event.text("nodes").split(",")));
      if (!event.text("movingTo").isEmpty()) {
        sets.add(Set.of(event.text("movingTo").split(",")));
      }
      known.put(event.actor(), sets);
      for (Set<String> set : sets) {
        set.forEach(node -> knownNanos.putIfAbsent(node, event.atNanos()));
      }
    }
  }

  /** Whether these nodes are enough for the client; for one that moves, of both sets. */
  boolean areReached(String process, Set<String> nodes) {
    return sets(process).stream()
        .allMatch(set -> 2 * set.stream().filter(nodes::contains).count() > set.size());
  }

  /** When the first client was told of the node. */
  long knownNanos(String node) {
    return knownNanos.getOrDefault(node, known.isEmpty() ? Long.MIN_VALUE : Long.MAX_VALUE);
  }

  /** For example {@code [[n0, n1, n2]]}. */
  List<Set<String>> sets(String process) {
    return known.getOrDefault(process, List.of(allNodes));
  }
}
