package io.redlock.cli;

import java.util.Collection;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Values as JSON, on one line. */
final class Json {

  private Json() {}

  /** Returns a map, a collection, a number, a boolean, a text or null as JSON. */
  static String of(@Nullable Object value) {
    if (value instanceof Map<?, ?> map) {
      return map.entrySet().stream()
          .map(entry -> of(String.valueOf(entry.getKey())) + ":" + of(entry.getValue()))
          .collect(Collectors.joining(",", "{", "}"));
    }
    if (value instanceof Collection<?> all) {
      return all.stream().map(Json::of).collect(Collectors.joining(",", "[", "]"));
    }
    return value == null || value instanceof Number || value instanceof Boolean
        ? String.valueOf(value)
        : quoted(value.toString());
  }

  /** Escapes everything but printable ASCII, so that no terminal or reader is confused. */
  private static String quoted(String text) {
    StringBuilder quoted = new StringBuilder("\"");
    for (char each : text.toCharArray()) {
      if (each < ' ' || each > '~') {
        quoted.append(String.format(Locale.ROOT, "\\u%04x", (int) each));
      } else {
        quoted.append(each == '"' || each == '\\' ? "\\" : "").append(each);
      }
    }
    return quoted.append('"').toString();
  }
}
