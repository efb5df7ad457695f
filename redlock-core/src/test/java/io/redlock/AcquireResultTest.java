package io.redlock;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.redlock.AcquireResult.Contended.By;
import io.redlock.AcquireResult.Outcome;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class AcquireResultTest {

  private static final Votes NONE = new Votes(List.of(), 2);

  @Test
  void failuresHaveTheirOutcomeAndNoLease() {
    List<AcquireResult> failures =
        List.of(
            new AcquireResult.Contended(NONE, By.UNKNOWN),
            new AcquireResult.Unavailable(NONE),
            new AcquireResult.TooSlow(NONE));
    assertEquals(
        List.of(Outcome.CONTENDED, Outcome.UNAVAILABLE, Outcome.TOO_SLOW),
        failures.stream().map(AcquireResult::outcome).toList());
    failures.forEach(failure -> assertEquals(Optional.empty(), failure.optionalLease()));
  }
}
