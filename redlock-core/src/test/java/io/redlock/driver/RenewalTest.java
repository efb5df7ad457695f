package io.redlock.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.LeaseEnd;
import io.redlock.LeaseEnd.Cause;
import io.redlock.LeaseRequest;
import io.redlock.spi.NodeRequest.Extend;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class RenewalTest {

  private static final Duration RENEW_FOR = Duration.ofMinutes(2);

  private final Bed bed = new Bed(3);
  private final HeldLease lease = bed.lease(Bed.REQUEST.renewFor(RENEW_FOR));
  private final List<LeaseEnd> ends = new ArrayList<>();

  RenewalTest() {
    lease.ended().thenAccept(ends::add);
  }

  private int extensions() {
    return bed.node(0).asked(Extend.class).size();
  }

  private List<Cause> causes() {
    return ends.stream().map(LeaseEnd::cause).toList();
  }

  @Test
  void leaseIsExtendedEveryThirdOfItsTtl() {
    bed.time.pass(Bed.TTL.dividedBy(3).minusMillis(11));
    assertEquals(0, extensions());
    bed.time.passMillis(11);
    assertEquals(1, extensions());
    bed.time.pass(Bed.TTL);
    assertEquals(4, extensions());
    assertTrue(lease.isValid());
  }

  @Test
  void renewedLeaseRunsOutAtTheEndOfItsLongestHold() {
    bed.time.pass(RENEW_FOR);
    assertTrue(lease.isValid());
    int made = extensions();
    bed.time.pass(Bed.TTL);
    assertEquals(made, extensions());
    assertEquals(List.of(Cause.RENEWAL_ENDED), causes());
    bed.time.pass(Duration.ofMinutes(1));
    bed.assertNothingIsLeft("held for as long as allowed");
  }

  @Test
  void leaseWhoseNodesStaySilentIsLostInTime() {
    bed.script(request -> null);
    bed.time.pass(Bed.TTL.minusMillis(1_102).minusNanos(1));
    assertTrue(lease.isValid());
    bed.time.pass(Duration.ofNanos(1));
    assertEquals(List.of(Cause.EXPIRED), causes());
    int made = extensions();
    bed.script(Bed::yes);
    bed.time.pass(Duration.ofMinutes(1));
    assertEquals(made, extensions());
    assertFalse(lease.isValid());
  }

  @Test
  void releaseEndsTheRenewal() {
    bed.time.passMillis(4_000);
    lease.close();
    bed.time.passMillis(Bed.NODE_TIMEOUT_MILLIS);
    bed.assertNothingIsLeft("released");
    assertEquals(1, extensions());
    assertEquals(List.of(Cause.RELEASED), causes());
  }

  @Test
  void releaseBetweenAnExtensionAndItsAnswerEndsTheRenewal() {
    bed.script(request -> null);
    bed.time.passMillis(3_340);
    assertEquals(1, extensions());
    lease.close();
    bed.answerAllThatIsOpen();
    bed.time.passMillis(Bed.NODE_TIMEOUT_MILLIS);
    bed.assertNothingIsLeft("released during a renewal");
    assertEquals(List.of("RELEASED"), bed.events, "nothing was lost");
  }

  @Test
  void renewalsOfLeasesTakenAtDifferentMomentsShareTheirMoments() {
    Bed other = new Bed(1);
    List<Long> moments = new ArrayList<>();
    for (int index = 0; index < 50; index++) {
      other.lease(LeaseRequest.of("resource " + index, Bed.TTL).renewFor(Duration.ofMinutes(1)));
      other.time.pass(Duration.ofNanos(400_000));
    }
    other.script(
        request -> {
          moments.add(other.time.monotonicNanos());
          return Bed.yes(request);
        });
    other.time.pass(Bed.TTL.dividedBy(2));
    assertEquals(50, moments.size());
    assertTrue(moments.stream().distinct().count() <= 4, moments::toString);
    assertTrue(moments.stream().allMatch(nanos -> nanos % 10_000_000 == 0), moments::toString);
  }

  @Test
  void errorInAStepIsAnUnknownOutcomeAndTheRenewalGoesOn() {
    bed.node(1).failsNext(new Error("a defect"));
    bed.time.pass(Bed.TTL.dividedBy(3).plusMillis(100));
    assertTrue(extensions() >= 2, extensions() + " extensions");
    bed.time.pass(Duration.ofMinutes(1));
    assertTrue(lease.isValid());
  }

  @Test
  void errorsWithoutEndAreRetriedAfterGrowingPauses() {
    int[] steps = {0};
    bed.script(
        request -> {
          if (request instanceof Extend) {
            steps[0]++;
            throw new AssertionError("a defect");
          }
          return Bed.yes(request);
        });
    bed.time.pass(Bed.TTL.dividedBy(2));
    assertTrue(steps[0] > 3 && steps[0] < 30, steps[0] + " steps");
    bed.time.pass(Bed.TTL);
    assertEquals(List.of(Cause.EXPIRED), causes());
  }

  @Test
  void stepThatCannotBeScheduledIsMadeUpFor() {
    bed.time.pass(Bed.TTL.dividedBy(3).minusMillis(30));
    bed.redlock.acquireAsync(LeaseRequest.of("other", Bed.TTL)); // timeouts are scheduled
    failSchedulingDuringTheNextExtension();
    bed.time.pass(Duration.ofMinutes(1));
    assertTrue(lease.isValid());
    int made = extensions();
    bed.time.pass(Bed.TTL);
    assertEquals(made + 3, extensions(), "one chain of extensions");
  }

  /** Once timeouts are scheduled, the next task is the next step. */
  private void failSchedulingDuringTheNextExtension() {
    bed.node(2)
        .script(
            request -> {
              if (request instanceof Extend) {
                bed.node(2).script(Bed::yes);
                bed.time.duringNextSchedule(
                    () -> {
                      throw new Error("no memory for a task");
                    });
              }
              return Bed.yes(request);
            });
  }
}
