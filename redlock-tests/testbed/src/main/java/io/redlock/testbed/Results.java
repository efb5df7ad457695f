package io.redlock.testbed;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.redlock.AcquireResult;
import io.redlock.ExtendResult;
import io.redlock.Lease;
import java.time.Duration;

/** Assertions about results, which print the votes when they fail. */
public final class Results {

  private Results() {}

  /** Returns the lease. */
  public static Lease assertAcquired(AcquireResult result) {
    return outcome(AcquireResult.Outcome.ACQUIRED, result).lease().orElseThrow();
  }

  /** Returns the result. */
  public static AcquireResult assertContended(AcquireResult result) {
    return outcome(AcquireResult.Outcome.CONTENDED, result);
  }

  /** Returns the result. */
  public static AcquireResult assertUnavailable(AcquireResult result) {
    return outcome(AcquireResult.Outcome.UNAVAILABLE, result);
  }

  private static AcquireResult outcome(AcquireResult.Outcome expected, AcquireResult result) {
    assertEquals(expected, result.outcome(), result::toString);
    return result;
  }

  /** Returns the remaining time of the lease. */
  public static Duration assertExtended(ExtendResult result) {
    return outcome(ExtendResult.Outcome.EXTENDED, result).remaining().orElseThrow();
  }

  /** Returns the result. */
  public static ExtendResult assertLost(ExtendResult result) {
    return outcome(ExtendResult.Outcome.LOST, result);
  }

  /** Returns the result. */
  public static ExtendResult assertUnknown(ExtendResult result) {
    return outcome(ExtendResult.Outcome.UNKNOWN, result);
  }

  private static ExtendResult outcome(ExtendResult.Outcome expected, ExtendResult result) {
    assertEquals(expected, result.outcome(), result::toString);
    return result;
  }
}
