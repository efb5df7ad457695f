package io.redlock.chaos.history;

import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Something that happened. As text: time, actor and kind, then details as {@code name=value}, all
 * set apart by tabs.
 *
 * @param atNanos on the host's monotonic clock, which is the same for all processes
 * @param actor who says so, for example {@code c2.1/0}: caller 0 of the second life of client 2
 * @param kind what happened, for example {@code held}
 * @param details by name
 */
public record HistoryEvent(long atNanos, String actor, String kind, Map<String, String> details) {

  /** An event of now. */
  public static HistoryEvent now(String actor, String kind, Object... details) {
    return at(System.nanoTime(), actor, kind, details);
  }

  /**
   * An event of some time ago.
   *
   * @param details name, value, name, value …
   */
  public static HistoryEvent at(long atNanos, String actor, String kind, Object... details) {
    Map<String, String> named = new LinkedHashMap<>();
    for (int i = 0; i < details.length; i += 2) {
      named.put(details[i].toString(), String.valueOf(details[i + 1]));
    }
    return new HistoryEvent(atNanos, actor, kind, named);
  }

  static HistoryEvent parse(String line) {
    String[] parts = line.split("\t", -1);
    Map<String, String> named = new LinkedHashMap<>();
    for (int i = 3; i < parts.length; i++) {
      int equals = parts[i].indexOf('=');
      named.put(parts[i].substring(0, equals), parts[i].substring(equals + 1));
    }
    return new HistoryEvent(Long.parseLong(parts[0]), parts[1], parts[2], named);
  }

  public boolean is(String otherKind) {
    return kind.equals(otherKind);
  }

  public String text(String name) {
    String value = details.get(name);
    if (value == null) {
      throw new IllegalArgumentException("no " + name + " in " + this);
    }
    return value;
  }

  public long number(String name) {
    return Long.parseLong(text(name));
  }

  /** The process that says so: the actor without its caller. */
  public String process() {
    int slash = actor.indexOf('/');
    return slash < 0 ? actor : actor.substring(0, slash);
  }

  @Override
  public String toString() {
    StringBuilder line = new StringBuilder();
    line.append(atNanos).append('\t').append(actor).append('\t').append(kind);
    details.forEach(
        (name, value) ->
            line.append('\t')
                .append(name)
                .append('=')
                .append(value.replaceAll("[\\t\\r\\n]+", " ")));
    return line.toString();
  }
}
