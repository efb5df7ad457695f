package io.redlock.settings;

import io.redlock.text.Brief;
import java.time.Duration;
import java.time.format.DateTimeParseException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * A parser of settings from properties ({@code redlock.max-ttl}) or the environment ({@code
 * REDLOCK_MAX_TTL}). Ignores case, hyphens and underscores in their names.
 */
public final class SettingsParser {

  private static final String PROPERTY = Setting.PROPERTY;
  private static final String VARIABLE = "REDLOCK_";

  private static final Pattern AMOUNT = Pattern.compile("(-?\\d+)\\s*(ms|s|m|h|d)");

  /** A century: no setting and no option has a use for more, and sums of these overflow nothing. */
  private static final Duration LONGEST = Duration.ofDays(36_500);

  /** A name that differs in more characters is not meant. */
  private static final int MOST_TYPOS = 2;

  /** Takes the values of settings. */
  public interface Taker {
    /** Takes a value. */
    <T> void set(Setting<T> setting, T value);
  }

  private SettingsParser() {}

  /**
   * Reads settings.
   *
   * @return the faults, each with its fix, in the order of the table
   */
  public static List<String> read(Map<?, ?> settings, Taker taker) {
    Map<String, @Nullable String> named = new TreeMap<>();
    settings.forEach(
        (name, value) -> named.put(String.valueOf(name), Objects.toString(value, null)));
    List<String> faults = new ArrayList<>();
    Map<String, String> given = new HashMap<>();
    named.keySet().forEach(name -> recognize(name, given, faults));
    for (Setting<?> setting : Setting.ALL) {
      String name = given.get(setting.name());
      String value = name == null ? null : named.get(name);
      if (name != null && value == null) {
        faults.add(name + " is null: give it a value, or leave it out for the default");
      } else if (value != null) {
        try {
          set(taker, setting, value);
        } catch (IllegalArgumentException e) {
          faults.add(name + ": " + e.getMessage());
        }
      }
    }
    return faults;
  }

  private static <T> void set(Taker taker, Setting<T> setting, String text) {
    if (text.isBlank() && (setting == Setting.NODES || setting == Setting.MOVING_TO)) {
      throw new IllegalArgumentException("'' names no master: list them, or leave it out");
    }
    Class<T> type = setting.type();
    Object value =
        type == Duration.class
            ? duration(text.strip())
            : type == Boolean.class ? truth(text.strip()) : text;
    taker.set(setting, type.cast(value));
  }

  /**
   * An unknown property is a fault. An unknown variable may belong to another program, such as
   * Kubernetes' {@code REDLOCK_PORT} for a service of that name, unless it is nearly a setting.
   */
  private static void recognize(String name, Map<String, String> given, List<String> faults) {
    boolean property = name.startsWith(PROPERTY);
    if (!property && !name.startsWith(VARIABLE)) {
      return;
    }
    String bare = bare(name.substring(PROPERTY.length()));
    Setting<?> nearest =
        Collections.min(
            Setting.ALL, Comparator.comparingInt(setting -> distance(bare(setting.name()), bare)));
    int typos = distance(bare(nearest.name()), bare);
    if (typos == 0) {
      String before = given.put(nearest.name(), name);
      if (before != null) {
        faults.add(before + " and " + name + " are the same setting: leave one out");
      }
    } else if (property || typos <= MOST_TYPOS) {
      String meant = property ? nearest.property() : nearest.variable();
      faults.add(
          Brief.text(name)
              + " is unknown: "
              + (typos <= MOST_TYPOS
                  ? "did you mean " + meant + "?"
                  : "use one of "
                      + Setting.ALL.stream().map(Setting::name).collect(Collectors.joining(", "))));
    }
  }

  /** Returns how many characters to insert, delete or replace to make one text of the other. */
  private static int distance(String one, String other) {
    int[] row = new int[other.length() + 1];
    Arrays.setAll(row, length -> length);
    for (int i = 1; i <= one.length(); i++) {
      int diagonal = row[0];
      row[0] = i;
      for (int j = 1; j <= other.length(); j++) {
        int replaced = diagonal + (one.charAt(i - 1) == other.charAt(j - 1) ? 0 : 1);
        diagonal = row[j];
        row[j] = Math.min(replaced, 1 + Math.min(row[j], row[j - 1]));
      }
    }
    return row[other.length()];
  }

  private static String bare(String name) {
    return name.replaceAll("[-_]", "").toLowerCase(Locale.ROOT);
  }

  /**
   * Parses, for example, {@code 500ms}, {@code 30s}, {@code 5m}, {@code 2h}, {@code 1d}, {@code
   * PT30S}.
   *
   * @throws IllegalArgumentException if the text is no duration from zero to a century
   */
  public static Duration duration(String text) {
    Matcher amount = AMOUNT.matcher(text);
    String unit = amount.matches() ? amount.group(2) : "";
    String iso =
        unit.isEmpty()
            ? text
            : (unit.equals("d") ? "P" : "PT") + amount.group(1) + unit.replace("ms", "s");
    String fault = "out of range: write a duration from 0s to " + Brief.exact(LONGEST);
    try {
      Duration duration = Duration.parse(iso).dividedBy(unit.equals("ms") ? 1_000 : 1);
      if (!duration.isNegative() && duration.compareTo(LONGEST) <= 0) {
        return duration;
      }
    } catch (DateTimeParseException e) {
      if (e.getCause() == null) { // else it has the form, but its number is too long
        fault = "not a duration: write 500ms, 30s, 5m, 2h or ISO 8601 as in PT30S";
      }
    }
    throw new IllegalArgumentException("'" + Brief.text(text) + "' is " + fault);
  }

  private static boolean truth(String text) {
    if (!text.matches("(?i)true|false")) {
      throw new IllegalArgumentException(
          "'" + Brief.text(text) + "' is neither true nor false: write one of them");
    }
    return Boolean.parseBoolean(text);
  }
}
