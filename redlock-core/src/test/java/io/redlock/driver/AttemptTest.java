package io.redlock.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.AcquireResult.By;
import io.redlock.protocol.AcquireRound.Decision;
import io.redlock.spi.NodeReply;
import java.time.Duration;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What an attempt leaves to its call. */
class AttemptTest {

  private final Bed bed = new Bed(3);
  private final AcquireCall call = new AcquireCall(bed.context, Bed.REQUEST);

  private AttemptEnd outcome() {
    return Objects.requireNonNull(call.refusal());
  }

  /** Runs an action of another thread between the decision for a lease and its report. */
  static void whenTheLeaseBegins(Bed bed, Runnable meanwhile) {
    bed.time.whenRead(
        () -> {
          if (Bed.isIn(HeldLease.class, "<init>")) {
            bed.time.whenRead(() -> {});
            meanwhile.run();
          }
        });
  }

  @Test
  void answerBetweenTheDecisionAndItsReportDoesNotCount() {
    call.start();
    bed.answerGrants(NodeReply.GRANTED, 0);
    whenTheLeaseBegins(bed, () -> bed.answerGrants(NodeReply.GRANTED, 2));
    bed.answerGrants(NodeReply.GRANTED, 1);
    assertEquals(
        "2 of 3 granted, 2 needed (a granted 0µs, b granted 0µs, c not awaited)",
        Bed.now(call.result()).votes().toString());
    bed.script(Bed::yes);
    AcquireCallTest.lease(call.result()).close();
    assertEquals("abc", bed.releasedOn());
  }

  @ParameterizedTest(name = "{0} ms and {1} ms")
  @CsvSource({
    "300, 200, 200",
    "200, 300, 200",
    "0, 300, 0",
    "300, 0, 0",
    "-1, 300, 300",
    "300, -1, 300"
  })
  void shortestLifeOfAHoldersKeyCountsAndTheRestOfAnAbstentionDoesNot(
      long first, long second, long shortest) {
    call.start();
    bed.answerGrants(NodeReply.abstain(100, "restarted"), 0);
    bed.answerGrants(NodeReply.held(first, 5, ""), 1);
    bed.answerGrants(NodeReply.held(second, 5, ""), 2);
    assertEquals(shortest, outcome().heldRemainingMillis());
  }

  @Test
  void refusedByAllItIsBehindOthersAndKeepsItsPlace() {
    call.start();
    bed.answerGrants(NodeReply.heldBy(4_000, 5, "one"), 0, 1, 2);
    assertTrue(outcome().isBehindOthers());
    assertTrue(outcome().keepsPlace());
    assertEquals(By.HOLDER, outcome().by());
  }

  @Test
  void withoutAQuorumAtWorkItIsNotBehindOthersAndLosesItsPlace() {
    call.start();
    bed.answerGrants(NodeReply.unreachable("refused connection"), 0, 1);
    assertEquals(Decision.UNAVAILABLE, outcome().decision());
    assertFalse(outcome().isBehindOthers());
    assertFalse(outcome().keepsPlace());
    assertEquals(By.UNKNOWN, outcome().by());
  }

  @Test
  void tooSlowItLosesItsPlaceWhichWouldOnlyBlockOthers() {
    call.start();
    bed.script(Bed::yes);
    bed.time.pause(Duration.ofSeconds(9));
    bed.answerGrants(NodeReply.GRANTED, 0, 1);
    assertEquals(Decision.TOO_SLOW, outcome().decision());
    assertFalse(outcome().keepsPlace());
  }

  @Test
  void restOfTheFirstTicketCountsLikeTheLifeOfAKey() {
    call.start();
    bed.answerGrants(NodeReply.waiting(400), 0, 1);
    assertEquals(400, outcome().heldRemainingMillis());
  }
}
