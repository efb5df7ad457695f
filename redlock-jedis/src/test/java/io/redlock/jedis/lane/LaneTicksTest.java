package io.redlock.jedis.lane;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class LaneTicksTest {

  private static final long WATCH = 25;

  private final LaneTicks ticks = new LaneTicks(WATCH, 1_000);

  @Test
  void earliestTickCountsAndIsPlannedOnce() {
    assertFalse(ticks.isReplanned());
    ticks.by(1_100);
    assertTrue(ticks.isReplanned());
    ticks.planned();
    ticks.by(1_100);
    ticks.by(1_101);
    assertFalse(ticks.isReplanned());
    assertEquals(1_100, ticks.nextNanos());
    ticks.by(1_099);
    assertTrue(ticks.isReplanned());
    assertEquals(1_099, ticks.nextNanos());
  }

  @Test
  void tickThatHasComeMakesRoomForALaterOne() {
    ticks.by(1_100);
    ticks.come(1_100);
    ticks.planned();
    ticks.watch(1_100);
    assertTrue(ticks.isReplanned());
    assertEquals(1_100 + WATCH, ticks.nextNanos());
  }

  @Test
  void lateTickShowsThatTheProcessWasHeldUp() {
    ticks.by(1_100);
    ticks.come(1_100 + WATCH);
    assertEquals(1_000, ticks.awakeSinceNanos());
    ticks.by(1_200);
    ticks.come(1_200 + WATCH + 1);
    assertEquals(1_200 + WATCH + 1, ticks.awakeSinceNanos());
  }

  @Test
  void tickThatWasNotPlannedIsNeitherLateNorInTime() {
    ticks.come(9_000);
    assertEquals(1_000, ticks.awakeSinceNanos());
    assertFalse(ticks.isInTime(0));
  }

  @Test
  void tickIsInTimeUntilItIsLate() {
    ticks.by(1_100);
    assertTrue(ticks.isInTime(0));
    assertTrue(ticks.isInTime(1_100 + WATCH));
    assertFalse(ticks.isInTime(1_100 + WATCH + 1));
  }
}
