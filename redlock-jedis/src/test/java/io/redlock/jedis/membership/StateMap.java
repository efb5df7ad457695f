package io.redlock.jedis.membership;

import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Maps of what comes of all combinations of the states of three. */
final class StateMap {

  private static final int WIDTH = 120;
  private static final String SIGNS =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

  /** What comes of one combination. */
  interface Question {
    String ask(char a, char b, char c);
  }

  private StateMap() {}

  /**
   * Draws a map for each state of the first master, with a line for each of the second; below them
   * what their signs mean. States that differ in nothing share a map, or a line.
   */
  static String draw(String states, Question question) {
    Map<String, Character> signs = new LinkedHashMap<>();
    Map<List<String>, String> firsts =
        alike(states, first -> each(states, second -> row(first, second, states, question, signs)));
    List<List<String>> maps =
        firsts.keySet().stream()
            .sorted(Comparator.comparing(map -> -Set.copyOf(map).size()))
            .toList();
    StringBuilder text = new StringBuilder();
    int width = states.length();
    int aLine = WIDTH / (width + 1) - 1;
    for (int from = 0; from < maps.size(); from += aLine) {
      List<List<String>> some = maps.subList(from, Math.min(maps.size(), from + aLine));
      text.append(line(width, "", some.stream().map(firsts::get).toList()));
      text.append(line(width, "", some.stream().map(map -> states).toList()));
      alike(states, second -> some.stream().map(map -> map.get(states.indexOf(second))).toList())
          .forEach((rows, seconds) -> text.append(line(width, seconds, rows)));
    }
    signs.forEach((meaning, sign) -> text.append(sign).append(" ").append(meaning).append("\n"));
    return text.toString().stripTrailing();
  }

  private static <T> List<T> each(String states, Function<Character, T> what) {
    return states.chars().mapToObj(state -> what.apply((char) state)).toList();
  }

  /** Returns what comes of the states, and of which of them, in their order. */
  private static <T> Map<T, String> alike(String states, Function<Character, T> what) {
    Map<T, String> alike = new LinkedHashMap<>();
    each(states, state -> alike.merge(what.apply(state), state.toString(), String::concat));
    return alike;
  }

  private static String line(int width, String label, List<String> parts) {
    return Stream.concat(Stream.of(label), parts.stream())
            .map(part -> part + " ".repeat(width - part.length()))
            .collect(Collectors.joining(" "))
            .stripTrailing()
        + "\n";
  }

  private static String row(
      char first, char second, String thirds, Question question, Map<String, Character> signs) {
    return each(thirds, third -> question.ask(first, second, third)).stream()
        .map(each -> signs.computeIfAbsent(each, key -> SIGNS.charAt(signs.size())) + "")
        .collect(Collectors.joining());
  }
}
