package io.redlock.protocol;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class DeadlineTest {

  private static final long WALL = 1_767_225_600_000_000L;
  private static final long SECOND = 1_000_000_000L;

  @ParameterizedTest
  @ValueSource(
      longs = {0, -1, -5 * SECOND, Long.MAX_VALUE - 3 * SECOND, Long.MAX_VALUE, Long.MIN_VALUE})
  void originOfTheMonotonicClockDoesNotMatter(long start) {
    Deadline deadline = new Deadline(start, WALL).plus(10 * SECOND);
    assertEquals(10 * SECOND, deadline.remainingNanos(start, WALL));
    assertEquals(1, deadline.remainingNanos(start + 10 * SECOND - 1, WALL + 1));
    assertEquals(0, deadline.remainingNanos(start + 10 * SECOND, WALL + 10));
    assertEquals(-SECOND, deadline.remainingNanos(start + 11 * SECOND, WALL + 11));
  }

  @Test
  void suspendedMachineIsCaughtByTheWallClock() {
    Deadline deadline = new Deadline(0, WALL).plus(10 * SECOND);
    assertEquals(-50 * SECOND, deadline.remainingNanos(1, WALL + 60_000_000));
  }

  @Test
  void wallClockSetForwardEndsEarly() {
    Deadline deadline = new Deadline(0, WALL).plus(10 * SECOND);
    assertEquals(7 * SECOND, deadline.remainingNanos(SECOND, WALL + 3_000_000));
  }

  @Test
  void wallClockSetBackIsOverruledByTheMonotonicClock() {
    Deadline deadline = new Deadline(0, WALL).plus(10 * SECOND);
    assertEquals(9 * SECOND, deadline.remainingNanos(SECOND, WALL - 3_600_000_000L));
    assertEquals(0, deadline.remainingNanos(10 * SECOND, 0));
  }

  @Test
  void farStepsOfTheWallClockSaturate() {
    Deadline deadline = new Deadline(0, WALL).plus(10 * SECOND);
    assertEquals(10 * SECOND, deadline.remainingNanos(0, WALL - Long.MAX_VALUE / 500));
    assertTrue(deadline.remainingNanos(0, WALL + Long.MAX_VALUE / 500) < 0);
    assertTrue(deadline.remainingNanos(0, Long.MAX_VALUE) < 0);
  }

  @Test
  void microsecondsOfTheWallClockAreRoundedDown() {
    Deadline deadline = new Deadline(0, WALL).plus(1_999);
    assertEquals(1_000, deadline.remainingNanos(0, WALL));
    Deadline before = new Deadline(0, WALL).plus(-1_001);
    assertEquals(-2_000, before.remainingNanos(-10_000, WALL));
  }

  @Test
  void endlessDelayStaysAhead() {
    Deadline deadline = new Deadline(5 * SECOND, WALL).plus(Long.MAX_VALUE);
    assertTrue(deadline.remainingNanos(5 * SECOND, WALL) > 0);
    assertTrue(deadline.remainingNanos(500_000 * SECOND, WALL + 500_000_000_000L) > 0);
  }

  @Test
  void laterDeadlineIsTakenWhole() {
    Deadline first = new Deadline(Long.MAX_VALUE - SECOND, WALL).plus(10 * SECOND);
    long setBack = WALL - 3_600_000_000L;
    Deadline second = new Deadline(Long.MAX_VALUE + 2 * SECOND, setBack).plus(10 * SECOND);
    assertEquals(second, first.max(second), "across the wrap-around");
    assertEquals(second, second.max(first));
    long suspended = setBack + 11_000_000L;
    assertTrue(first.max(second).remainingNanos(Long.MAX_VALUE + 3 * SECOND, suspended) < 0);
  }

  @Test
  void extensionWithAShortTtlDoesNotShorten() {
    Deadline longer = new Deadline(0, WALL).plus(30 * SECOND);
    Deadline shorter = new Deadline(SECOND, WALL + 1_000_000).plus(10 * SECOND);
    assertEquals(longer, longer.max(shorter));
    assertEquals(longer, shorter.max(longer));
  }

  @Test
  void ofTwoThatEndAtTheSameMonotonicTimeTheFirstStays() {
    Deadline first = new Deadline(5, 1);
    assertEquals(first, first.max(new Deadline(5, 2)));
  }

  @Test
  void wallTimeAtTheEdgeOfTheArithmeticIsExact() {
    long most = Long.MAX_VALUE / 1_000;
    long least = Long.MIN_VALUE / 1_000;
    assertEquals(most * 1_000, new Deadline(Long.MAX_VALUE, most).remainingNanos(0, 0));
    assertEquals(Long.MAX_VALUE, new Deadline(Long.MAX_VALUE, most + 1).remainingNanos(0, 0));
    assertEquals(least * 1_000, new Deadline(0, least).remainingNanos(0, 0));
    assertEquals(Long.MIN_VALUE, new Deadline(0, least - 1).remainingNanos(0, 0));
  }
}
