package io.redlock.jedis.lane;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class LaneTicksTest {

  private static final long WATCH = 25;

  private final LaneTicks ticks = new LaneTicks(WATCH, 1_000);

  @Test
  void earliestTickCounts() {
    assertEquals(LaneTicks.NEVER, ticks.nextNanos());
    ticks.by(1_100, 1_000);
    ticks.by(1_101, 1_000);
    assertEquals(1_100, ticks.nextNanos());
    ticks.by(1_099, 1_000);
    assertEquals(1_099, ticks.nextNanos());
  }

  @Test
  void tickThatHasComeMakesRoomForALaterOne() {
    ticks.by(1_100, 1_000);
    ticks.come(1_100);
    assertEquals(LaneTicks.NEVER, ticks.nextNanos());
    ticks.watch(1_100);
    assertEquals(1_100 + WATCH, ticks.nextNanos());
  }

  @Test
  void lateTickShowsThatTheProcessWasPaused() {
    ticks.by(1_100, 1_000);
    assertEquals(0, ticks.come(1_100 + WATCH));
    assertEquals(1_000, ticks.awakeSinceNanos());
    ticks.by(1_200, 1_000);
    assertEquals(WATCH + 1, ticks.come(1_200 + WATCH + 1));
    assertEquals(1_200 + WATCH + 1, ticks.awakeSinceNanos());
  }

  @Test
  void tickWhoseTimeHasPassedWhenItIsPlannedComesAtOnceAndIsNotLate() {
    ticks.by(1_000, 9_000);
    assertEquals(9_000, ticks.nextNanos());
    assertEquals(0, ticks.come(9_000));
    assertEquals(1_000, ticks.awakeSinceNanos());
  }

  @Test
  void pauseMakesATimeLaterThoughNotLaterThanItsEnd() {
    assertEquals(1_500, LaneTicks.later(1_000, 500, 2_000));
    assertEquals(2_000, LaneTicks.later(1_501, 500, 2_000));
    assertEquals(1_000, LaneTicks.later(1_000, 0, 2_000));
  }

  @Test
  void tickThatWasNotPlannedIsNeitherLateNorInTime() {
    assertEquals(0, ticks.come(9_000));
    assertEquals(1_000, ticks.awakeSinceNanos());
    assertFalse(ticks.isInTime(0));
  }

  @Test
  void tickIsInTimeUntilItIsLate() {
    ticks.by(1_100, 1_000);
    assertTrue(ticks.isInTime(0));
    assertTrue(ticks.isInTime(1_100 + WATCH));
    assertFalse(ticks.isInTime(1_100 + WATCH + 1));
  }
}
