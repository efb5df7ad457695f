package io.redlock.chaos.history;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/** A time between two moments. */
record Span(long fromNanos, long toNanos) {

  /** From when the event says that it began until it was written. */
  static Span of(HistoryEvent event) {
    return new Span(event.number("from"), event.atNanos());
  }

  /**
   * Returns the times from an event of one kind to the next of another, by what they are about.
   * What never ends lasts for ever.
   */
  static Map<String, List<Span>> between(
      History history, String begins, String ends, Function<HistoryEvent, String> about) {
    Map<String, List<Span>> spans = new LinkedHashMap<>();
    Map<String, Long> since = new LinkedHashMap<>();
    for (HistoryEvent event : history.of(begins, ends).toList()) {
      String what = about.apply(event);
      if (event.is(begins)) {
        since.put(what, event.atNanos());
      } else if (since.containsKey(what)) {
        add(spans, what, new Span(since.remove(what), event.atNanos()));
      }
    }
    since.forEach((what, from) -> add(spans, what, new Span(from, Long.MAX_VALUE)));
    return spans;
  }

  private static void add(Map<String, List<Span>> spans, String what, Span span) {
    spans.computeIfAbsent(what, key -> new ArrayList<>()).add(span);
  }

  /** The times in which this process or server was stopped. */
  static List<Span> stopped(History history, String target) {
    return between(history, "pause", "resume", event -> event.text("target"))
        .getOrDefault(target, List.of());
  }

  long nanos() {
    return toNanos - fromNanos;
  }

  /** How much of it lies within the other. */
  long within(Span other) {
    return Math.max(0, Math.min(toNanos, other.toNanos) - Math.max(fromNanos, other.fromNanos));
  }

  boolean contains(long atNanos) {
    return fromNanos <= atNanos && atNanos < toNanos;
  }
}
