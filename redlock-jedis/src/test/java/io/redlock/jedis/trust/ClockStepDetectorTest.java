package io.redlock.jedis.trust;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.OptionalLong;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Audits once a second, each of which takes a millisecond. */
class ClockStepDetectorTest {

  private static final long EPOCH_MICROS = 1_700_000_000_000_000L;
  private static final long SECOND = 1_000_000;
  private static final long HOUR = 3_600 * SECOND;

  private final ClockStepDetector watch = new ClockStepDetector(10_000);
  private long monotonicMicros = -5 * HOUR; // of any origin
  private long wallMicros = EPOCH_MICROS;
  private long nodeMicros = EPOCH_MICROS + 300;
  private long tripMicros = 1_000;

  @BeforeEach
  void first() {
    assertNoStep();
  }

  @Test
  void clockThatRunsLikeOursMakesNoStep() {
    for (int i = 0; i < 1_000; i++) {
      pass(SECOND);
      assertNoStep();
    }
  }

  @Test
  void clockThatDriftsWithinTheAllowanceMakesNoStep() {
    for (int i = 0; i < 1_000; i++) {
      pass(SECOND);
      nodeMicros += 9_900;
      assertNoStep();
    }
    for (int i = 0; i < 1_000; i++) {
      pass(SECOND);
      nodeMicros -= 9_900;
      assertNoStep();
    }
  }

  @Test
  void stepIsToldOnceWithItsSize() {
    for (long step : new long[] {HOUR, -HOUR, 15_000, -15_000}) {
      pass(SECOND);
      nodeMicros += step;
      assertEquals(step, observe().orElse(0), 1_000);
      pass(SECOND);
      assertNoStep();
    }
  }

  @Test
  void slowAnswersAreNoSteps() {
    for (long trip : new long[] {50_000, 3 * SECOND, 1_000, 2 * SECOND, 1_000}) {
      pass(SECOND);
      tripMicros = trip;
      assertNoStep();
    }
  }

  @Test
  void stepBehindASlowAnswerIsFoundByTheNextQuickOne() {
    pass(SECOND);
    nodeMicros += SECOND;
    tripMicros = 3 * SECOND;
    assertNoStep();
    tripMicros = 1_000;
    pass(SECOND);
    assertEquals(SECOND, observe().orElse(0), 50_000);
    pass(SECOND);
    assertNoStep();
  }

  @Test
  void sleepOfThisMachineIsNoStepOfTheNode() {
    nodeMicros += HOUR;
    wallMicros += HOUR; // while the monotonic clock stood still
    assertNoStep();
    pass(SECOND);
    assertNoStep();
  }

  @Test
  void stepOfThisMachineIsNoStepOfTheNode() {
    pass(SECOND);
    wallMicros -= HOUR;
    assertNoStep();
    pass(SECOND);
    assertNoStep();
  }

  @Test
  void stepOfTheNodeIsFoundAfterBothClocksOfThisMachineWereDisturbed() {
    sleepOfThisMachineIsNoStepOfTheNode();
    stepOfThisMachineIsNoStepOfTheNode();
    stepIsToldOnceWithItsSize();
  }

  @Test
  void longSilenceAllowsForMoreDrift() {
    pass(100 * SECOND);
    nodeMicros += SECOND;
    assertNoStep();
  }

  private void pass(long micros) {
    monotonicMicros += micros;
    wallMicros += micros;
    nodeMicros += micros;
  }

  private void assertNoStep() {
    assertEquals(OptionalLong.empty(), observe());
  }

  /** The node reads its clock in the middle of the trip. */
  private OptionalLong observe() {
    long beforeNanos = monotonicMicros * 1_000;
    pass(tripMicros / 2);
    long read = nodeMicros;
    pass(tripMicros / 2);
    long afterNanos = monotonicMicros * 1_000;
    return watch.stepMicros(read, beforeNanos, afterNanos, wallMicros - monotonicMicros);
  }

  // To the microsecond.

  private static OptionalLong second(
      long nodeMicros, long beforeNanos, long afterNanos, long wallMicros) {
    ClockStepDetector fresh = new ClockStepDetector(10_000);
    assertEquals(OptionalLong.empty(), fresh.stepMicros(SECOND, 0, 0, 0));
    return fresh.stepMicros(nodeMicros, beforeNanos, afterNanos, wallMicros);
  }

  @Test
  void stepIsWhatExceedsTwoMillisecondsAndTheReadings() {
    assertEquals(OptionalLong.empty(), second(SECOND + 2_002, 0, 0, 0));
    assertEquals(OptionalLong.of(2_003), second(SECOND + 2_003, 0, 0, 0));
    assertEquals(OptionalLong.empty(), second(SECOND - 2_002, 0, 0, 0));
    assertEquals(OptionalLong.of(-2_003), second(SECOND - 2_003, 0, 0, 0));
  }

  @Test
  void clockMayHaveBeenReadAtAnyTimeOfTheTrip() {
    assertEquals(OptionalLong.empty(), second(SECOND + 2_102, 0, 100_000, 0));
    assertEquals(OptionalLong.of(2_055), second(SECOND + 2_105, 0, 100_000, 0));
    assertEquals(OptionalLong.empty(), second(SECOND - 2_003, -1_000, 0, 0));
  }

  @Test
  void smallerOfTheTwoDifferencesIsTheStep() {
    assertEquals(OptionalLong.of(HOUR), second(SECOND + 2 * HOUR, 0, 0, HOUR));
    assertEquals(OptionalLong.of(HOUR), second(SECOND + HOUR, 0, 0, -HOUR));
    assertEquals(OptionalLong.of(-HOUR), second(SECOND - HOUR, 0, 0, HOUR));
  }

  @Test
  void differenceThatOnlyOneClockShowsIsNoStepInEitherDirection() {
    assertEquals(OptionalLong.empty(), second(SECOND, 0, 0, HOUR));
    assertEquals(OptionalLong.empty(), second(SECOND, 0, 0, -HOUR));
    assertEquals(OptionalLong.empty(), second(SECOND + HOUR, 0, 0, HOUR));
    assertEquals(OptionalLong.empty(), second(SECOND - HOUR, 0, 0, -HOUR));
    assertEquals(OptionalLong.empty(), second(SECOND + HOUR, 0, 0, 2 * HOUR));
    assertEquals(OptionalLong.empty(), second(SECOND - HOUR, 0, 0, -2 * HOUR));
  }

  @Test
  void firstReadingIsComparedWithNothing() {
    ClockStepDetector fresh = new ClockStepDetector(10_000);
    assertEquals(OptionalLong.empty(), fresh.stepMicros(2_000, 0, 0, 0));
    assertEquals(OptionalLong.empty(), fresh.stepMicros(4_002, 0, 0, 0));
  }
}
