package io.redlock;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

class HeldLeaseTest {

  private static final Duration TO_ITS_LOSS = Duration.ofMillis(10_000 - 102 - 1_000);

  private final Bed bed = new Bed(3);

  @Test
  void lossIsToldInTimeThoughTheProcessWasPausedBeforeItsTimerWasSet() {
    HeldLease lease = bed.lease();
    bed.time.pauseBeforeScheduling(Duration.ofSeconds(4));
    lease.checkDeadline();
    bed.time.pass(TO_ITS_LOSS.minus(Duration.ofSeconds(4)));
    assertEquals(List.of("EXPIRED"), bed.events);
  }

  @Test
  void lossIsToldAtOnceIfThePauseBeforeItsTimerWasSetWasTooLong() {
    HeldLease lease = bed.lease();
    bed.time.pauseBeforeScheduling(TO_ITS_LOSS);
    lease.checkDeadline();
    assertEquals(List.of("EXPIRED"), bed.events);
  }
}
