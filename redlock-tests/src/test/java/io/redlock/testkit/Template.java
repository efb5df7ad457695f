package io.redlock.testkit;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A text beside a class, with gaps like <code>${name}</code>. */
public final class Template {

  private static final Pattern GAP = Pattern.compile("\\$\\{(\\w+)}");

  private Template() {}

  /** Returns the text with every gap filled. */
  public static String fill(Class<?> beside, String file, Map<String, String> gaps) {
    return GAP.matcher(text(beside, file))
        .replaceAll(gap -> Matcher.quoteReplacement(gaps.get(gap.group(1))));
  }

  private static String text(Class<?> beside, String file) {
    try (InputStream in = beside.getResourceAsStream(file)) {
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
