package io.redlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.AcquireResult.Outcome;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RetryStrategyTest {

  private final RetryStrategy backoff = RetryStrategy.jitteredBackoff();

  @ParameterizedTest
  @CsvSource({
    "CONTENDED, 1, 4",
    "CONTENDED, 2, 8",
    "CONTENDED, 6, 128",
    "CONTENDED, 7, 200",
    "CONTENDED, 64, 200",
    "CONTENDED, 2147483647, 200",
    "TOO_SLOW, 1, 4",
    "UNAVAILABLE, 1, 20",
    "UNAVAILABLE, 6, 640",
    "UNAVAILABLE, 7, 1000",
    "UNAVAILABLE, 2147483647, 1000"
  })
  void pauseIsSpreadEvenlyBelowACeilingThatDoubles(
      Outcome cause, int failures, long ceilingMillis) {
    SplittableRandom random = new SplittableRandom(failures);
    long ceilingNanos = ceilingMillis * 1_000_000;
    int draws = 10_000;
    double sum = 0;
    long least = Long.MAX_VALUE;
    long most = 0;
    for (int draw = 0; draw < draws; draw++) {
      long pauseNanos = backoff.delay(failures, cause, random).toNanos();
      least = Math.min(least, pauseNanos);
      most = Math.max(most, pauseNanos);
      sum += pauseNanos;
    }
    assertTrue(least > 0 && least < ceilingNanos / 100, least + " ns at least");
    assertTrue(most <= ceilingNanos && most > ceilingNanos * 99 / 100, most + " ns at most");
    assertEquals(0.5, sum / draws / ceilingNanos, 0.02);
  }

  @Test
  void sameRandomnessGivesTheSamePause() {
    assertEquals(
        backoff.delay(3, Outcome.CONTENDED, new SplittableRandom(9)),
        backoff.delay(3, Outcome.CONTENDED, new SplittableRandom(9)));
  }
}
