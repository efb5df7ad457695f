package io.redlock.chaos.history;

import java.util.Arrays;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

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
  public static HistoryEvent now(String text, Object... values) {
    return at(System.nanoTime(), text, values);
  }

  /**
   * An event of some time ago.
   *
   * @param text actor, kind and details, for example {@code "%s held resources=%s token=%s"}
   * @param values what stands for each {@code %s}, which is the end of a word
   */
  public static HistoryEvent at(long atNanos, String text, Object... values) {
    Iterator<Object> left = Arrays.asList(values).iterator();
    List<String> words = Stream.of(text.split(" ")).map(word -> filled(word, left)).toList();
    if (left.hasNext()) {
      throw new IllegalArgumentException("too many values for " + text);
    }
    return of(atNanos, words);
  }

  private static String filled(String word, Iterator<Object> values) {
    return word.endsWith("%s") ? word.replace("%s", String.valueOf(values.next())) : word;
  }

  static HistoryEvent parse(String line) {
    List<String> words = List.of(line.split("\t", -1));
    return of(Long.parseLong(words.get(0)), words.subList(1, words.size()));
  }

  private static HistoryEvent of(long atNanos, List<String> words) {
    Map<String, String> details = new LinkedHashMap<>();
    for (String word : words.subList(2, words.size())) {
      int equals = word.indexOf('=');
      details.put(word.substring(0, equals), word.substring(equals + 1));
    }
    return new HistoryEvent(atNanos, words.get(0), words.get(1), details);
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
    StringBuilder line = new StringBuilder(atNanos + "\t" + actor + "\t" + kind);
    details.forEach(
        (name, value) -> line.append("\t" + name + "=" + value.replaceAll("[\\t\\r\\n]+", " ")));
    return line.toString();
  }
}
