package io.redlock.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.redlock.ReleaseResult;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Releases for which memory is short. */
class PendingReleaseTest {

  private final Bed bed = new Bed(3);

  @ParameterizedTest
  @ValueSource(strings = {"release", "begin"})
  void releaseThatCannotBeginForSecondsBeginsOnceMemoryIsThereAgain(String step) {
    HeldLease lease = bed.lease();
    bed.time.shortOfMemory(Duration.ofSeconds(5));
    bed.time.whenRead(
        () -> {
          StackTraceElement reader = new Throwable().getStackTrace()[2];
          if (reader.getClassName().equals(Owner.class.getName())
              && reader.getMethodName().equals(step)) {
            throw new OutOfMemoryError("memory is short");
          }
        });
    assertThrows(OutOfMemoryError.class, lease::close);
    bed.time.passWithChecks(Duration.ofSeconds(6));
    assertEquals("", bed.releasedOn());
    bed.time.whenRead(() -> {});
    bed.time.passWithChecks(Duration.ofSeconds(2));
    assertEquals("abc", bed.releasedOn());
    assertEquals(ReleaseResult.RELEASED, Bed.now(lease.releaseAsync()));
    assertEquals(0, bed.time.tasks());
  }

  @Test
  void extendThatFindsNoMemoryDoesNotHoldUpTheRelease() {
    HeldLease lease = bed.lease();
    bed.whenCounted =
        () -> {
          if (Bed.isIn(MedianClock.class, "micros")) {
            throw new OutOfMemoryError("memory is short");
          }
        };
    assertThrows(OutOfMemoryError.class, () -> lease.extendAsync(Bed.TTL));
    assertEquals(ReleaseResult.RELEASED, Bed.now(lease.releaseAsync()));
    assertEquals("abc", bed.releasedOn());
  }
}
