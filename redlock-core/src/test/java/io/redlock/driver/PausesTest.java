package io.redlock.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.RetryStrategy;
import io.redlock.RetryStrategy.Cause;
import java.time.Duration;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class PausesTest {

  private static final long SEED = 7;

  private static Pauses pauses(@Nullable Duration chosen) {
    return new Pauses((failures, cause, random) -> chosen, new SplittableRandom(SEED));
  }

  private static long byDefaultNanos(int failures, Cause cause) {
    return RetryStrategy.jitteredBackoff()
        .delay(failures, cause, new SplittableRandom(SEED))
        .toNanos();
  }

  @Test
  void onlyTheLibrarysOwnStrategyIsKnownNotToBlock() {
    assertTrue(pauses(Duration.ZERO).mayBlock());
    assertFalse(new Pauses(RetryStrategy.jitteredBackoff(), new SplittableRandom(SEED)).mayBlock());
  }

  @Test
  void pauseIsTheOneThatTheStrategyChooses() {
    assertEquals(0, pauses(Duration.ZERO).chosenNanos(1, Cause.HELD));
    assertEquals(1, pauses(Duration.ofNanos(1)).chosenNanos(1, Cause.HELD));
    Duration longest = Duration.ofNanos(Long.MAX_VALUE);
    assertEquals(Long.MAX_VALUE, pauses(longest).chosenNanos(1, Cause.HELD));
  }

  @Test
  void defaultDecidesWhereThereIsNone() {
    for (Duration chosen :
        new Duration[] {
          null,
          Duration.ofNanos(-1),
          Duration.ofSeconds(Long.MIN_VALUE),
          Duration.ofNanos(Long.MAX_VALUE).plusNanos(1)
        }) {
      assertEquals(
          byDefaultNanos(5, Cause.UNAVAILABLE),
          pauses(chosen).chosenNanos(5, Cause.UNAVAILABLE),
          String.valueOf(chosen));
    }
    assertEquals(byDefaultNanos(2, Cause.HELD), pauses(null).byDefaultNanos(2, Cause.HELD));
  }

  @Test
  void defaultDecidesWhereItFails() {
    RetryStrategy failing =
        (failures, cause, random) -> {
          if (failures > 1) {
            throw new AssertionError("a user's mistake");
          }
          throw new IllegalStateException("a user's mistake");
        };
    for (int failures : new int[] {1, 2}) {
      Pauses pauses = new Pauses(failing, new SplittableRandom(SEED));
      assertEquals(byDefaultNanos(failures, Cause.HELD), pauses.chosenNanos(failures, Cause.HELD));
    }
  }

  @Test
  void strategyIsGivenTheRandomnessOfTheService() {
    Pauses pauses =
        new Pauses(
            (failures, cause, random) -> Duration.ofNanos(random.nextLong(1_000_000)),
            new SplittableRandom(SEED));
    assertEquals(
        new SplittableRandom(SEED).nextLong(1_000_000), pauses.chosenNanos(1, Cause.TOO_SLOW));
  }
}
