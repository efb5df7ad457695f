package io.redlock.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.redlock.spi.Quorum;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

class FencingTokensTest {

  private static final long SKEW_MICROS = 2_000_000;

  private final FakeTime time = new FakeTime();
  private final FencingTokens tokens =
      new FencingTokens(new MedianClock(List.of(), Quorum.of(0), time), SKEW_MICROS);

  private long now() {
    return time.wallMicros();
  }

  @Test
  void tokenIsTheClock() {
    assertEquals(now(), tokens.next());
    time.passMillis(5);
    assertEquals(now(), tokens.next());
  }

  @Test
  void tokensOfOneInstantRise() {
    long first = tokens.next();
    assertEquals(first + 1, tokens.next());
    assertEquals(first + 2, tokens.next());
  }

  @Test
  void tokensRiseUpToWhatNodesMayAccept() {
    long first = tokens.next();
    time.stepWall(Duration.ofNanos(-SKEW_MICROS * 1_000));
    assertEquals(now(), tokens.next(), "nodes would refuse one that is further ahead");
    time.stepWall(Duration.ofNanos(SKEW_MICROS * 1_000));
    assertEquals(first, tokens.next());
    time.stepWall(Duration.ofNanos(-SKEW_MICROS * 1_000 + 1_000));
    assertEquals(first + 1, tokens.next());
  }

  @Test
  void tokensRiseWhileTheClockGoesBackWithinTheSkew() {
    long first = tokens.next();
    time.stepWall(Duration.ofMillis(-1_500));
    assertEquals(first + 1, tokens.next());
  }

  @Test
  void clockThatWasFarAheadDoesNotSpoilLaterTokens() {
    time.stepWall(Duration.ofHours(1));
    tokens.next();
    time.stepWall(Duration.ofHours(-1));
    assertEquals(now(), tokens.next(), "nodes would refuse a token an hour ahead of them");
    assertEquals(now() + 1, tokens.next());
  }
}
