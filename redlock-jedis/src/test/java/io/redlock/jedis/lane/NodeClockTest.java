package io.redlock.jedis.lane;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

class NodeClockTest {

  private final NodeClock clock = new NodeClock();

  @Test
  void nothingIsKnownBeforeTheNodeHasSaidItsTime() {
    assertEquals(OptionalLong.empty(), clock.offsetMicros());
  }

  @Test
  void firstTimeIsTakenToBeThatOfTheMiddle() {
    clock.learn(5_000_000, 1_000_000_000, 1_000_200_000);
    assertEquals(OptionalLong.of(5_000_000 - 1_000_100), clock.offsetMicros());
  }

  @Test
  void timeBeforeTheEpochIsATimeToo() {
    clock.learn(-7, 0, 2_000);
    assertEquals(OptionalLong.of(-8), clock.offsetMicros());
  }

  /** A node that stood still reads its clock at the end of the round trip. */
  @Test
  void slowRoundTripDoesNotMoveTheTime() {
    long startNanos = 1_000_000_000_000_000L;
    long startMicros = startNanos / 1_000;
    clock.learn(startMicros + 5_000_000, startNanos, startNanos + 200_000);
    clock.learn(startMicros + 5_700_100, startNanos + 100_000_000, startNanos + 700_200_000);
    assertEquals(4_999_900, clock.offsetMicros().orElseThrow(), 350 /* drift */);
  }

  @Test
  void quickRoundTripMakesTheTimeMoreExact() {
    clock.learn(5_300_000, 0, 600_000_000);
    clock.learn(6_000_000, 1_000_000_000, 1_000_200_000);
    assertEquals(OptionalLong.of(4_999_900), clock.offsetMicros());
  }

  @Test
  void clockThatWasSetIsFollowed() {
    clock.learn(5_000_000, 0, 200_000);
    clock.learn(9_000_000, 1_000_000_000, 1_000_200_000);
    assertEquals(OptionalLong.of(7_999_900), clock.offsetMicros());
    clock.learn(3_000_000, 2_000_000_000, 2_000_200_000);
    assertEquals(OptionalLong.of(999_900), clock.offsetMicros());
  }

  /** After 1,000 s the earlier reading is known to 0.5 s only. */
  @Test
  void clockThatDriftsIsFollowed() {
    clock.learn(5_000_000, 0, 200_000);
    clock.learn(1_005_400_000, 1_000_000_000_000L, 1_000_000_200_000L);
    assertEquals(OptionalLong.of(5_399_900), clock.offsetMicros());
  }
}
