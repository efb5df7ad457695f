package io.redlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.redlock.AcquireResult.By;
import io.redlock.AcquireResult.Outcome;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class AcquireResultTest {

  private static final Votes NONE = new Votes(List.of(), 2, Optional.empty());

  @Test
  void failuresHaveTheirOutcomeAndNoLease() {
    List<AcquireResult> failures =
        List.of(
            AcquireResult.contended(By.UNKNOWN, NONE),
            AcquireResult.unavailable(NONE),
            AcquireResult.tooSlow(NONE));
    assertEquals(
        List.of(Outcome.CONTENDED, Outcome.UNAVAILABLE, Outcome.TOO_SLOW),
        failures.stream().map(AcquireResult::outcome).toList());
    failures.forEach(failure -> assertEquals(Optional.empty(), failure.lease()));
    assertEquals("CONTENDED by UNKNOWN: no node was asked", failures.get(0).toString());
  }

  @Test
  void failureWithoutALeaseThrowsItsReason() {
    LeaseRequest request = LeaseRequest.of("orders/42", Duration.ofSeconds(10));
    AcquireResult slow = AcquireResult.tooSlow(NONE);
    LockNotAcquiredException thrown =
        assertThrows(LockNotAcquiredException.class, () -> slow.orElseThrow(request));
    assertEquals(slow, thrown.result());
    assertEquals(
        "not acquired: orders/42: granted too late to be of use: no node was asked",
        thrown.getMessage());
  }

  @Test
  void resultHasWhatBelongsToItsOutcomeAndNothingElse() {
    for (Outcome outcome : Outcome.values()) {
      assertThrows(
          IllegalArgumentException.class,
          () ->
              new AcquireResult(
                  outcome,
                  Optional.empty(),
                  NONE,
                  outcome == Outcome.CONTENDED ? Optional.empty() : Optional.of(By.HOLDER)));
    }
    assertThrows(
        IllegalArgumentException.class,
        () -> new AcquireResult(Outcome.ACQUIRED, Optional.empty(), NONE, Optional.empty()));
    assertThrows(
        IllegalArgumentException.class,
        () -> new ExtendResult(ExtendResult.Outcome.EXTENDED, Optional.empty(), NONE));
    assertThrows(
        IllegalArgumentException.class,
        () -> new ExtendResult(ExtendResult.Outcome.LOST, Optional.of(Duration.ZERO), NONE));
  }
}
