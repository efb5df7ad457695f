package io.redlock.text;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.ResourceLock;
import org.junit.jupiter.api.parallel.Resources;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class BriefTest {

  @ParameterizedTest
  @CsvSource({
    "0, 0µs",
    "999, 999µs",
    "1000, 1ms",
    "999999, 999ms",
    "1000000, 1.0s",
    "9999999, 9.9s",
    "10000000, 10s",
    "90000000, 90s"
  })
  void durationsAreShort(long micros, String text) {
    assertEquals(text, Brief.duration(Duration.ofNanos(micros * 1_000)));
  }

  @Test
  void durationThatNanosecondsCannotCountHasAShortFormToo() {
    assertEquals("9223372036854775s", Brief.duration(Duration.ofMillis(Long.MAX_VALUE)));
  }

  @Test
  void negativeDurationIsItsOppositeWithASign() {
    Duration step = Duration.ofMillis(-3_599_999);
    assertEquals("-3599s", Brief.duration(step));
    assertEquals("-3599.999s", Brief.exact(step));
    assertEquals("-9223372036854775807s", Brief.exact(Duration.ofSeconds(Long.MIN_VALUE)));
  }

  @Test
  @ResourceLock(Resources.LOCALE)
  void digitsAreThoseOfSettingsInEveryLocale() {
    Locale before = Locale.getDefault();
    Locale.setDefault(Locale.forLanguageTag("ar-EG"));
    try {
      assertEquals("1.005s", Brief.exact(Duration.ofMillis(1_005)));
    } finally {
      Locale.setDefault(before);
    }
  }

  @ParameterizedTest
  @CsvSource({
    "PT0S, 0s",
    "PT0.000000001S, 0.000000001s",
    "PT0.05S, 50ms",
    "PT1.5S, 1.5s",
    "PT90S, 90s",
    "PT2M, 2m",
    "PT2H, 2h",
    "PT48H, 2d"
  })
  void exactDurationsAreWrittenAsInSettings(Duration duration, String text) {
    assertEquals(text, Brief.exact(duration));
  }

  @ParameterizedTest
  @ValueSource(
      ints = {
        0, '\t', '\n', '\r', 0x1b, 0x7f, 0x80, 0x85, 0x9b, 0x9f, 0xad, 0x61c, 0x200b, 0x200e,
        0x200f, 0x2028, 0x2029, 0x202a, 0x202e, 0x2066, 0x2069, 0xfeff, 0xd800, 0xdfff, 0xe0001
      })
  void characterThatATerminalMayObeyOrHideBecomesItsNumber(int character) {
    String text = "a" + new String(Character.toChars(character)) + "b";
    assertTrue(Brief.text(text).matches("a(\\\\u[0-9a-f]{4})+b"), Brief.text(text));
    assertEquals(Brief.text(text), Brief.line(text));
  }

  @Test
  void visibleTextStaysAsItIs() {
    String text = "auftr\u00e4ge/42 \u05d0 \ud83d\udd12 a\\b";
    assertEquals(text, Brief.text(text));
  }

  @Test
  void textAndListsAreBoundedAndSayWhatTheyLeaveOut() {
    assertEquals("x".repeat(512), Brief.text("x".repeat(512)));
    assertEquals("x".repeat(512) + "…", Brief.text("x".repeat(513)));
    assertEquals("x".repeat(10_000), Brief.line("x".repeat(10_000)));
    List<String> names = Stream.iterate(1, i -> i + 1).limit(1_000).map(i -> "pool/" + i).toList();
    assertTrue(Brief.names(names).length() < 600, Brief.names(names));
    assertTrue(Brief.names(names).endsWith(" + pool/53 and 947 more"), Brief.names(names));
    assertEquals("a\\u000ab", Brief.names(List.of("a\nb")));
  }

  @Test
  void resourcesAreJoined() {
    assertEquals(
        "orders/42 + stock/7", Brief.names(new TreeSet<>(List.of("stock/7", "orders/42"))));
  }
}
