package io.redlock.testbed;

import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** Text that is the same whatever the language of the machine. */
public final class Text {

  private Text() {}

  /** Returns values in a format of {@link String#format}. */
  public static String of(String format, @Nullable Object... values) {
    return String.format(Locale.ROOT, format, values);
  }
}
