package io.redlock.protocol;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.spi.Quorum;
import java.math.BigDecimal;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class LeaseTermsTest {

  @Test
  void driftIsOnePercentOfTheTtlAndTwoMilliseconds() {
    assertEquals(Duration.ofMillis(102).toNanos(), LeaseTerms.driftNanos(10_000, 10_000));
    assertEquals(Duration.ofMillis(2).toNanos(), LeaseTerms.driftNanos(10_000, 0));
  }

  @Test
  void driftIsExactUpToTheLongestTtlAndTheLargestFactor() {
    for (long ttlMillis : new long[] {1, 7, 30_000, Duration.ofDays(365).toMillis()}) {
      for (long ppm : new long[] {0, 1, 10_000, 499_999}) {
        BigDecimal exact =
            BigDecimal.valueOf(ttlMillis)
                .movePointRight(6)
                .multiply(BigDecimal.valueOf(ppm).movePointLeft(6))
                .add(BigDecimal.valueOf(2_000_000));
        BigDecimal drift = BigDecimal.valueOf(LeaseTerms.driftNanos(ttlMillis, ppm));
        assertEquals(0, exact.compareTo(drift), ttlMillis + " ms, " + ppm + " ppm");
      }
    }
  }

  @Test
  void deadlineIsStartPlusTtlMinusDriftOnBothClocks() {
    LeaseTerms terms =
        new LeaseTerms(Quorum.of(3), 10_000, LeaseTerms.driftNanos(10_000, 10_000), 0, 0);
    Deadline deadline = terms.deadline(new Deadline(-5, 1_000));
    assertEquals(-5 + 9_898_000_000L, deadline.nanos());
    assertEquals(1_000 + 9_898_000L, deadline.wallMicros());
  }

  @Test
  void wallDeadlineIsNeverRoundedUp() {
    LeaseTerms terms = new LeaseTerms(Quorum.of(3), 10, 1_999, 0, 0);
    Deadline deadline = terms.deadline(new Deadline(0, 0));
    assertEquals(10_000_000 - 1_999, deadline.nanos());
    assertTrue(deadline.wallMicros() * 1_000 <= deadline.nanos());
  }
}
