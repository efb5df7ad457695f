package io.redlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.RetryStrategy.Cause;
import java.util.SplittableRandom;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RetryStrategyTest {

  private final RetryStrategy backoff = RetryStrategy.jitteredBackoff();

  @ParameterizedTest
  @CsvSource({
    "HELD, 1, 4",
    "HELD, 2, 8",
    "HELD, 6, 128",
    "HELD, 7, 200",
    "HELD, 64, 200",
    "HELD, 2147483647, 200",
    "SPLIT, 1, 4",
    "SPLIT, 9, 1024",
    "SPLIT, 10, 2000",
    "SPLIT, 2147483647, 2000",
    "TOO_SLOW, 1, 4",
    "TOO_SLOW, 7, 200",
    "UNAVAILABLE, 1, 20",
    "UNAVAILABLE, 6, 640",
    "UNAVAILABLE, 7, 1000",
    "UNAVAILABLE, 2147483647, 1000"
  })
  void pauseIsSpreadEvenlyBelowACeilingThatDoubles(Cause cause, int failures, long ceilingMillis) {
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
}
