package io.redlock.protocol;

import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReply.Kind;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** The words of scenes: nodes are letters, times have units, answers are named by their kind. */
final class Told {

  private static final Kind[] KINDS = Kind.values();

  private Told() {}

  /** Returns the nodes that letters name, in their order. */
  static List<Integer> nodes(String letters) {
    return letters.chars().map(letter -> letter - 'a').boxed().toList();
  }

  /** Returns the nodes that letters name, as bits. */
  static int bits(String letters) {
    return nodes(letters).stream().mapToInt(node -> 1 << node).sum();
  }

  /** Returns the letters of nodes that are given as bits. */
  static String nodes(int bits) {
    StringBuilder letters = new StringBuilder();
    for (int node = 0; node < Integer.SIZE; node++) {
      letters.append((bits & 1 << node) == 0 ? "" : (char) ('a' + node));
    }
    return letters.isEmpty() ? "nobody" : letters.toString();
  }

  /** Returns the answer of a node that has given one. */
  static Kind kind(Ballot ballot, int node) {
    return KINDS[(int) (ballot.packed() >>> 4 * node & 15) - 1];
  }

  /** Returns a name as scenes write it. */
  static String word(Enum<?> name) {
    return name.name().toLowerCase(Locale.ROOT).replace('_', '-');
  }

  /** Returns a time such as {@code 10s}, {@code 20ms-1} or {@code 7}, which is nanoseconds. */
  static long nanos(String text) {
    long sum = 0;
    for (String each : text.replace("-", "+-").split("\\+")) {
      int scale = each.endsWith("ms") ? 6 : each.endsWith("s") ? 9 : 0;
      String number = each.replaceAll("m?s", "");
      sum += number.isEmpty() ? 0 : new BigDecimal(number).movePointRight(scale).longValueExact();
    }
    return sum;
  }

  /** Returns a time in seconds. */
  static String seconds(long nanos) {
    return BigDecimal.valueOf(nanos, 9).stripTrailingZeros().toPlainString() + "s";
  }

  /** Returns an answer: its kind, then in any order its holder, its counter, its key's life. */
  static NodeReply reply(String text) {
    List<String> words = new ArrayList<>(List.of(text.split(" ")));
    Kind kind = Kind.valueOf(words.remove(0).toUpperCase(Locale.ROOT).replace('-', '_'));
    long counter = 0;
    long remainingMillis = -1;
    String owner = "";
    for (String word : words) {
      String value = word.substring(word.indexOf('=') + 1);
      switch (word.substring(0, word.indexOf('='))) {
        case "counter" -> counter = Long.parseLong(value);
        case "for" -> remainingMillis = nanos(value) / 1_000_000;
        case "by" -> owner = value;
        default -> throw new IllegalArgumentException(word);
      }
    }
    return new NodeReply(kind, counter, remainingMillis, "", owner, null, null);
  }
}
