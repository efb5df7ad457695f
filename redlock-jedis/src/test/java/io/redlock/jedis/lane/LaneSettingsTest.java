package io.redlock.jedis.lane;

import io.redlock.scenes.Scenes;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/** The lengths of time that follow from the settings of a client. */
class LaneSettingsTest {

  @TestFactory
  Stream<DynamicTest> scenes() {
    return Scenes.of("jedis/lane/LaneSettings.txt", () -> LaneSettingsTest::derive);
  }

  /** Settings that are not said have these values; some have defaults of their own. */
  private static List<String> derive(String command, String said) {
    Map<String, Duration> settings = new TreeMap<>();
    settings.put("node", Duration.ofMillis(50));
    settings.put("ttl", Duration.ofSeconds(30));
    settings.put("skew", Duration.ofSeconds(2));
    for (String each : said.split(" ")) {
      String[] parts = each.split("=");
      settings.put(
          parts[0],
          parts[1].equals("endless")
              ? Duration.ofSeconds(Long.MAX_VALUE)
              : Duration.parse("PT" + parts[1]));
    }
    List<String> faults = new ArrayList<>();
    LaneSettings derived =
        LaneSettings.derive(
            settings.get("node"),
            settings.get("silence"),
            settings.get("ttl"),
            settings.get("skew"),
            settings.get("retention"),
            faults);
    List<String> told = new ArrayList<>(faults);
    told.add(
        "node "
            + millis(derived.nodeTimeoutNanos())
            + (", silence " + derived.silenceTimeout().toMillis())
            + (", ping " + millis(derived.pingNanos()))
            + (", watch " + derived.watchNanos() / 1e6)
            + (", read " + derived.soTimeoutMillis())
            + (", release " + millis(derived.releaseLifeNanos()))
            + (", retention " + derived.encoder().retentionMillis())
            + (", skew " + derived.skewMicros() / 1e3 + " ms"));
    return told;
  }

  private static long millis(long nanos) {
    return TimeUnit.NANOSECONDS.toMillis(nanos);
  }
}
