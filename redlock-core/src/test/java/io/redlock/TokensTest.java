package io.redlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Field;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class TokensTest {

  private static final long SKEW_MICROS = 2_000_000;
  private static final List<String> A = List.of("a");
  private static final List<String> B = List.of("b");

  private final FakeTime time = new FakeTime();
  private final Tokens tokens = new Tokens(new MedianClock(List.of(), time), SKEW_MICROS);

  private long now() {
    return time.wallMicros();
  }

  @Test
  void tokenIsTheClock() {
    assertEquals(now(), tokens.next(A));
    time.passMillis(5);
    assertEquals(now(), tokens.next(A));
  }

  @Test
  void tokensOfOneInstantRise() {
    long first = tokens.next(A);
    assertEquals(first + 1, tokens.next(A));
    assertEquals(first + 2, tokens.next(B));
  }

  @Test
  void tokensRiseWhileTheClockGoesBackWithinTheSkew() {
    long first = tokens.next(A);
    time.stepWall(Duration.ofMillis(-1_500));
    assertEquals(first + 1, tokens.next(A));
  }

  @Test
  void clockThatWasFarAheadDoesNotSpoilLaterTokens() {
    time.stepWall(Duration.ofHours(1));
    tokens.next(A);
    time.stepWall(Duration.ofHours(-1));
    assertEquals(now(), tokens.next(A), "nodes would refuse a token an hour ahead of them");
    assertEquals(now() + 1, tokens.next(A));
  }

  @Test
  void counterAheadOfTheClockIsOutbidForItsResourceOnly() {
    tokens.reported(A, now() + 700);
    assertEquals(now(), tokens.next(B));
    assertEquals(now() + 701, tokens.next(A));
    assertEquals(now() + 702, tokens.next(A), "what was proposed is outbid as well");
    assertEquals(now() + 703, tokens.next(List.of("b", "a", "c")));
    assertTrue(tokens.next(B) > now() + 703, "b was proposed under that token too");
  }

  @Test
  void highestReportedCounterCounts() {
    tokens.reported(A, now() + 900);
    tokens.reported(A, now() + 500);
    assertEquals(now() + 901, tokens.next(A));
  }

  @Test
  void counterBeyondTheSkewDoesNotCount() {
    tokens.reported(A, now() + SKEW_MICROS);
    assertEquals(now(), tokens.next(A));
    tokens.reported(B, now() + SKEW_MICROS - 1);
    assertEquals(now() + SKEW_MICROS, tokens.next(B), "the highest that nodes may accept");
  }

  @Test
  void reportedCounterIsForgottenOnceTheClockIsPastIt() throws ReflectiveOperationException {
    tokens.reported(A, now() + 700);
    time.passMillis(1);
    assertEquals(now(), tokens.next(A));
    assertEquals(0, remembered());
  }

  @Test
  void counterBehindTheClockIsNotRemembered() throws ReflectiveOperationException {
    tokens.reported(A, now() - 1);
    assertEquals(0, remembered());
  }

  @Test
  void countersOfManyResourcesArePruned() throws ReflectiveOperationException {
    for (int name = 0; name < 100_000; name++) {
      tokens.reported(List.of("resource " + name), now() + 300);
      time.pass(Duration.ofNanos(10_000));
      assertTrue(remembered() <= 600, remembered() + " remembered");
    }
  }

  private int remembered() throws ReflectiveOperationException {
    Field field = Tokens.class.getDeclaredField("reportedAhead");
    field.setAccessible(true);
    return ((Map<?, ?>) field.get(tokens)).size();
  }
}
