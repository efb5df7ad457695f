package io.redlock.jedis.lane;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class LaneSettingsTest {

  private static final Duration TTL = Duration.ofSeconds(30);
  private static final Duration SKEW = Duration.ofSeconds(2);
  private static final long MILLI = 1_000_000;

  private final List<String> faults = new ArrayList<>();

  private LaneSettings settings(
      Duration nodeTimeout, @Nullable Duration silenceTimeout, @Nullable Duration retention) {
    return LaneSettings.derive(nodeTimeout, silenceTimeout, TTL, SKEW, retention, faults);
  }

  private static Duration millis(long millis) {
    return Duration.ofMillis(millis);
  }

  @Test
  void silenceTimeoutIsTwentyNodeTimeoutsAndAtLeastTwoSeconds() {
    assertEquals(millis(2_000), settings(millis(50), null, null).silenceTimeout());
    assertEquals(millis(2_020), settings(millis(101), null, null).silenceTimeout());
    assertEquals(millis(4_000), settings(millis(200), null, null).silenceTimeout());
    assertEquals(
        Duration.ofMinutes(10), settings(Duration.ofHours(9), null, null).silenceTimeout());
    assertEquals(List.of(), faults);
  }

  @Test
  void silenceTimeoutThatIsSetIsTakenIfItIsWithinItsBounds() {
    assertEquals(millis(100), settings(millis(50), millis(100), null).silenceTimeout());
    assertEquals(
        Duration.ofMinutes(10),
        settings(millis(50), Duration.ofMinutes(10), null).silenceTimeout());
    assertEquals(List.of(), faults);
    assertEquals(millis(100), settings(millis(50), millis(99), null).silenceTimeout());
    assertEquals(
        Duration.ofMinutes(10),
        settings(millis(50), Duration.ofMinutes(11), null).silenceTimeout());
    assertEquals(
        List.of(
            "silenceTimeout 99ms is below twice the node timeout: use at least 100ms",
            "silenceTimeout 11m is too long: use at most 10m"),
        faults);
  }

  @Test
  void nodeTimeoutIsKeptWithinWhatTheArithmeticBears() {
    assertEquals(MILLI, settings(Duration.ZERO, null, null).nodeTimeoutNanos());
    assertEquals(300_000 * MILLI, settings(Duration.ofDays(9), null, null).nodeTimeoutNanos());
    assertEquals(50 * MILLI, settings(millis(50), null, null).nodeTimeoutNanos());
  }

  @Test
  void releaseLivesAsLongAsAKeyThatItCouldDelete() {
    assertEquals(33_000 * MILLI, settings(millis(50), null, null).releaseLifeNanos());
    assertEquals(2_000_000, settings(millis(50), null, null).skewMicros());
  }

  @Test
  void retentionIsTheLongestOfWhatNeedsIt() {
    assertEquals(600_000, settings(millis(50), null, null).retentionMillis());
    assertEquals(
        610_000,
        LaneSettings.derive(millis(50), null, Duration.ofSeconds(61), SKEW, null, faults)
            .retentionMillis());
    assertEquals(
        634_000,
        LaneSettings.derive(millis(50), null, TTL, Duration.ofSeconds(151), null, faults)
            .retentionMillis());
    assertEquals(List.of(), faults);
  }

  @Test
  void retentionThatIsSetIsCheckedAndTaken() {
    assertEquals(38_000, settings(millis(50), null, millis(38_000)).retentionMillis());
    assertEquals(
        Duration.ofDays(365).toMillis(),
        settings(millis(50), null, Duration.ofDays(365)).retentionMillis());
    assertEquals(List.of(), faults);
    assertEquals(37_999, settings(millis(50), null, millis(37_999)).retentionMillis());
    assertEquals(
        Duration.ofDays(365).toMillis(),
        settings(millis(50), null, Duration.ofDays(366)).retentionMillis());
    assertEquals(
        List.of(
            "fenceRetention 37.999s is below maxTtl and four times clockSkew: use at least"
                + " 38s",
            "fenceRetention 366d is too long: use at most 365d"),
        faults);
  }

  @Test
  void lengthsThatNobodyChecksAreBounded() {
    Duration endless = Duration.ofSeconds(Long.MAX_VALUE);
    LaneSettings settings = LaneSettings.derive(endless, null, endless, endless, null, faults);
    assertEquals(Duration.ofDays(365).toMillis() * 1_000, settings.skewMicros());
    assertEquals(millis(1), LaneSettings.bounded(Duration.ofSeconds(-5)));
    assertEquals(millis(1), LaneSettings.bounded(Duration.ofNanos(999_999)));
    assertEquals(Duration.ofDays(365), LaneSettings.bounded(endless));
  }

  @Test
  void idleLaneAsksOnceASecondOrTwiceInASilenceTimeout() {
    assertEquals(1_000 * MILLI, settings(millis(50), millis(2_001), null).pingNanos());
    assertEquals(999 * MILLI, settings(millis(50), millis(1_998), null).pingNanos());
  }

  @Test
  void laneIsLookedAtFourTimesInANodeTimeoutAndAtMostOnceAMillisecond() {
    assertEquals(25 * MILLI, settings(millis(100), null, null).watchNanos());
    assertEquals(MILLI, settings(millis(3), null, null).watchNanos());
  }

  @Test
  void readOutlastsASilenceTimeoutAndAPing() {
    assertEquals(3_000, settings(millis(50), millis(2_000), null).soTimeoutMillis());
  }
}
