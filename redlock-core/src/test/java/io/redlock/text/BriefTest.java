package io.redlock.text;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.time.Duration;
import java.util.List;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

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
  void resourcesAreJoined() {
    assertEquals(
        "orders/42 + stock/7", Brief.names(new TreeSet<>(List.of("stock/7", "orders/42"))));
  }
}
