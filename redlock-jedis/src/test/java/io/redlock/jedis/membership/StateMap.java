package io.redlock.jedis.membership;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;

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

  /** Draws a map for each state of the first master; below them what their signs mean. */
  static String draw(String states, Question question) {
    Map<String, Character> signs = new LinkedHashMap<>();
    StringBuilder text = new StringBuilder();
    int aLine = WIDTH / (states.length() + 3);
    for (int from = 0; from < states.length(); from += aLine) {
      String some = states.substring(from, Math.min(states.length(), from + aLine));
      text.append(line(some, first -> first + " " + states));
      for (char second : states.toCharArray()) {
        text.append(line(some, first -> row(first, second, states, question, signs)));
      }
    }
    signs.forEach((meaning, sign) -> text.append(sign).append(" ").append(meaning).append("\n"));
    return text.toString().strip();
  }

  private static String line(String firsts, Function<Character, String> part) {
    return firsts
            .chars()
            .mapToObj(first -> part.apply((char) first))
            .collect(Collectors.joining(" "))
        + "\n";
  }

  private static String row(
      char first, char second, String thirds, Question question, Map<String, Character> signs) {
    return second
        + " "
        + thirds
            .chars()
            .mapToObj(third -> question.ask(first, second, (char) third))
            .map(each -> signs.computeIfAbsent(each, key -> SIGNS.charAt(signs.size())) + "")
            .collect(Collectors.joining());
  }
}
