package io.redlock.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.redlock.scenes.FakeTime;
import io.redlock.spi.Quorum;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

class FencingTokensTest {

  private static final long SKEW_MICROS = 2_000_000;

  private final FakeTime time = new FakeTime();
  private final MedianClock tokens = new MedianClock(List.of(), Quorum.of(0), time, SKEW_MICROS);

  private long now() {
    return time.wallMicros();
  }

  @Test
  void tokenIsTheClock() {
    assertEquals(now(), tokens.nextToken());
    time.passMillis(5);
    assertEquals(now(), tokens.nextToken());
  }

  @Test
  void tokensOfOneInstantRise() {
    long first = tokens.nextToken();
    assertEquals(first + 1, tokens.nextToken());
    assertEquals(first + 2, tokens.nextToken());
  }

  @Test
  void tokensRiseUpToWhatNodesMayAccept() {
    long first = tokens.nextToken();
    time.stepWall(Duration.ofNanos(-SKEW_MICROS * 1_000));
    assertEquals(now(), tokens.nextToken(), "nodes would refuse one that is further ahead");
    time.stepWall(Duration.ofNanos(SKEW_MICROS * 1_000));
    assertEquals(first, tokens.nextToken());
    time.stepWall(Duration.ofNanos(-SKEW_MICROS * 1_000 + 1_000));
    assertEquals(first + 1, tokens.nextToken());
  }

  @Test
  void tokensRiseWhileTheClockGoesBackWithinTheSkew() {
    long first = tokens.nextToken();
    time.stepWall(Duration.ofMillis(-1_500));
    assertEquals(first + 1, tokens.nextToken());
  }

  @Test
  void clockThatWasFarAheadDoesNotSpoilLaterTokens() {
    time.stepWall(Duration.ofHours(1));
    tokens.nextToken();
    time.stepWall(Duration.ofHours(-1));
    assertEquals(now(), tokens.nextToken(), "nodes would refuse a token an hour ahead of them");
    assertEquals(now() + 1, tokens.nextToken());
  }
}
