package io.redlock.chaos.picture;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/** One row of the picture. */
final class Lane {

  /**
   * Something that lasted, or a moment.
   *
   * @param text what to say of it
   * @param mark what to write on it; may be empty
   */
  record Part(long fromNanos, long toNanos, String text, String mark) {}

  final String name;
  final String group;
  final Map<Kind, List<Part>> parts = new EnumMap<>(Kind.class);
  private final Map<Kind, Part> open = new EnumMap<>(Kind.class);

  Lane(String name, String group) {
    this.name = name;
    this.group = group;
  }

  void add(Kind kind, long fromNanos, long toNanos, String text) {
    add(kind, new Part(fromNanos, toNanos, text, ""));
  }

  void add(Kind kind, Part part) {
    parts.computeIfAbsent(kind, k -> new ArrayList<>()).add(part);
  }

  void moment(Kind kind, long atNanos, String text) {
    add(kind, atNanos, atNanos, text);
  }

  /** Begins what is not yet going on. */
  void begin(Kind kind, long atNanos, String text) {
    open.putIfAbsent(kind, new Part(atNanos, atNanos, text, ""));
  }

  /** Ends it, if it is going on. */
  void end(Kind kind, long atNanos) {
    Part part = open.remove(kind);
    if (part != null) {
      add(kind, part.fromNanos, atNanos, part.text);
    }
  }

  void endAll(long atNanos) {
    List.copyOf(open.keySet()).forEach(kind -> end(kind, atNanos));
  }
}
