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
  void timeIsTakenToBeThatOfTheMiddle() {
    clock.learn(5_000_000, 1_000_000_000, 1_000_200_000);
    assertEquals(OptionalLong.of(5_000_000 - 1_000_100), clock.offsetMicros());
    clock.learn(-7, 0, 2_000);
    assertEquals(OptionalLong.of(-8), clock.offsetMicros());
  }
}
