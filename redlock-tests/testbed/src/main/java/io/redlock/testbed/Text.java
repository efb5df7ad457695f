package io.redlock.testbed;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** Text that is the same whatever the language of the machine. */
public final class Text {

  private Text() {}

  /** Returns values in a format of {@link String#format}. */
  public static String of(String format, @Nullable Object... values) {
    return String.format(Locale.ROOT, format, values);
  }

  /** Returns the digest under which a server caches a script. */
  public static String sha1(String script) {
    MessageDigest sha = Unchecked.call(() -> MessageDigest.getInstance("SHA-1"));
    return HexFormat.of().formatHex(sha.digest(script.getBytes(StandardCharsets.UTF_8)));
  }
}
