package io.redlock.chaos.history;

import io.redlock.simulation.SimInvariant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/** What the rules find in a history. */
final class Findings {

  private final List<Finding> all = new ArrayList<>();

  void add(SimInvariant invariant, long atNanos, String what) {
    all.add(new Finding(invariant, atNanos, what));
  }

  void add(SimInvariant invariant, HistoryEvent event, String what) {
    add(invariant, event.atNanos(), what);
  }

  List<Finding> inOrder() {
    return all.stream().sorted(Comparator.comparingLong(Finding::atNanos)).toList();
  }
}
