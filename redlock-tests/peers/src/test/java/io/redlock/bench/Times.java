package io.redlock.bench;

import java.util.ArrayList;
import java.util.List;

/** How long the same thing took, each time. */
final class Times {

  private final List<Long> nanos = new ArrayList<>();

  void addSince(long startNanos) {
    add(System.nanoTime() - startNanos);
  }

  void add(long each) {
    nanos.add(each);
  }

  int count() {
    return nanos.size();
  }

  /** Returns the time that so many of a hundred did not exceed. */
  long percentileNanos(int percent) {
    List<Long> sorted = nanos.stream().sorted().toList();
    return sorted.get(Math.min(sorted.size() - 1, sorted.size() * percent / 100));
  }

  long medianNanos() {
    return percentileNanos(50);
  }

  /** Returns a percentile for a table, in milliseconds; a dash if there is none. */
  String millis(int percent) {
    return nanos.isEmpty() ? "–" : Report.number(percentileNanos(percent) / 1e6);
  }
}
