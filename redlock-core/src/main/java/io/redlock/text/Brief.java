package io.redlock.text;

import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Locale;

/**
 * The forms in which messages, logs and commands print durations, and text from users and servers.
 */
public final class Brief {

  /** The longest text or list of names that is printed, in characters, before its ellipsis. */
  private static final int LONGEST = 512;

  private static final Duration MILLISECOND = Duration.ofMillis(1);
  private static final int TENTH_OF_A_SECOND_NANOS = 100_000_000;

  private record Unit(String name, long seconds) {}

  private static final List<Unit> LONG_UNITS =
      List.of(new Unit("d", 86_400), new Unit("h", 3_600), new Unit("m", 60));

  private Brief() {}

  /** Returns three digits at most and a unit: 340µs, 12ms, 4.1s, 90s, −2.0s. */
  public static String duration(Duration duration) {
    if (duration.isNegative()) {
      return "-" + duration(opposite(duration));
    }
    long seconds = duration.toSeconds();
    if (seconds >= 10) {
      return seconds + "s";
    }
    if (seconds >= 1) {
      return seconds + "." + duration.getNano() / TENTH_OF_A_SECOND_NANOS + "s";
    }
    return duration.compareTo(MILLISECOND) < 0
        ? duration.toNanos() / 1_000 + "µs"
        : duration.toMillis() + "ms";
  }

  /** Returns all digits and the largest unit without a fraction: 50ms, 90s, 2h, −3599.999s. */
  public static String exact(Duration duration) {
    if (duration.isNegative()) {
      return "-" + exact(opposite(duration));
    }
    long seconds = duration.getSeconds();
    int nanos = duration.getNano();
    if (nanos == 0) {
      for (Unit unit : LONG_UNITS) {
        if (seconds > 0 && seconds % unit.seconds == 0) {
          return seconds / unit.seconds + unit.name;
        }
      }
      return seconds + "s";
    }
    if (nanos % 1_000_000 == 0 && seconds < 1) {
      return nanos / 1_000_000 + "ms";
    }
    return seconds + "." + String.format(Locale.ROOT, "%09d", nanos).replaceAll("0+$", "") + "s";
  }

  private static Duration opposite(Duration negative) {
    boolean isLeast = negative.getSeconds() == Long.MIN_VALUE;
    return isLeast ? Duration.ofSeconds(Long.MAX_VALUE) : negative.negated();
  }

  /** Returns the text as {@link #line} does, and of bounded length. */
  public static String text(String text) {
    return printable(text, LONGEST);
  }

  /**
   * Returns the text in one line that no terminal obeys: a control character or an invisible one,
   * such as those that reverse the direction of writing, becomes its number.
   */
  public static String line(String text) {
    return printable(text, Integer.MAX_VALUE);
  }

  private static String printable(String text, int longest) {
    int visible = 0; // no stream: every answer of a node comes here
    while (visible < text.length() && isVisible(text.codePointAt(visible))) {
      visible += Character.charCount(text.codePointAt(visible));
    }
    if (visible == text.length() && visible <= longest) {
      return text;
    }
    StringBuilder printed = new StringBuilder();
    int at = 0;
    while (at < text.length() && printed.length() < longest) {
      int character = text.codePointAt(at);
      if (isVisible(character)) {
        printed.appendCodePoint(character);
      } else {
        for (char each : Character.toChars(character)) {
          printed.append(String.format(Locale.ROOT, "\\u%04x", (int) each));
        }
      }
      at += Character.charCount(character);
    }
    return at < text.length() ? printed + "…" : printed.toString();
  }

  private static boolean isVisible(int character) {
    return switch (Character.getType(character)) {
      case Character.CONTROL,
          Character.FORMAT,
          Character.SURROGATE,
          Character.LINE_SEPARATOR,
          Character.PARAGRAPH_SEPARATOR ->
          false;
      default -> true;
    };
  }

  /** Returns the names of a request's resources, of bounded length: {@code orders/42 + stock/7}. */
  public static String names(Collection<String> resources) {
    StringBuilder printed = new StringBuilder();
    int shown = 0;
    for (String name : resources) {
      if (printed.length() >= LONGEST) {
        return printed + " and " + (resources.size() - shown) + " more";
      }
      printed.append(shown == 0 ? "" : " + ").append(text(name));
      shown++;
    }
    return printed.toString();
  }
}
