package io.redlock.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.AcquireResult;
import io.redlock.AcquireResult.By;
import io.redlock.protocol.AcquireRound.Decision;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.NodeRequest.Grant;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What an attempt leaves to its call, and what it does where memory is short. */
class AttemptTest {

  private final Bed bed = new Bed(3);
  private final AcquireCall call = new AcquireCall(bed.context, Bed.REQUEST);

  private AttemptEnd outcome() {
    return Objects.requireNonNull(call.refusal());
  }

  private List<Grant> grants(int node) {
    return bed.node(node).asked(Grant.class);
  }

  private void settle() {
    bed.time.pass(Duration.ofMinutes(1));
    bed.assertNothingIsLeft("after a minute");
  }

  /** Memory is short between the proposal of a round and its sending. */
  @ParameterizedTest
  @ValueSource(ints = {1, 2})
  void roundThatFindsNoMemoryIsSentToNobodyAndWhatTheOneBeforeLeftIsReleased(int round) {
    AtomicInteger begun = new AtomicInteger();
    bed.whenCounted =
        () -> {
          if (Bed.isIn(Owner.Round.class, "<init>") && begun.incrementAndGet() == round) {
            throw new OutOfMemoryError("memory is short");
          }
        };
    bed.node(0).script(Bed::yes);
    bed.node(1).script(request -> stale(request));
    bed.node(2).script(request -> stale(request));
    CompletableFuture<AcquireResult> call = bed.redlock.acquireAsync(Bed.REQUEST);
    assertTrue(call.isCompletedExceptionally());
    assertEquals(round - 1, grants(0).size());
    settle();
    assertEquals(round == 1 ? "" : "a", bed.releasedOn());
  }

  private static NodeReply stale(NodeRequest request) {
    return request instanceof Grant ? NodeReply.stale(Long.MAX_VALUE / 8) : Bed.yes(request);
  }

  @Test
  void leaseThatNoMemoryPassesOnIsReleasedAndHoldsUpNobody() {
    bed.whenCounted = () -> shortOfMemoryIn(Owner.Round.class, "votes");
    bed.script(Bed::yes);
    CompletableFuture<AcquireResult> call = bed.redlock.acquireAsync(Bed.REQUEST);
    assertTrue(call.isCompletedExceptionally());
    assertEquals("abc", bed.releasedOn());
    settle();
  }

  @Test
  void leaseOfACancelledCallIsReleasedThoughNoMemoryReportsIt() {
    List<CompletableFuture<AcquireResult>> calls = new ArrayList<>();
    bed.time.whenRead(
        () -> {
          if (Bed.isIn(HeldLease.class, "<init>")) {
            calls.get(0).cancel(true);
          }
          shortOfMemoryIn(AcquireCall.class, "finish");
        });
    calls.add(bed.redlock.acquireAsync(Bed.REQUEST));
    bed.answerGrants(NodeReply.GRANTED, 0, 1, 2);
    bed.time.whenRead(() -> {});
    assertTrue(calls.get(0).isCancelled());
    bed.script(Bed::yes);
    settle();
    assertEquals("abc", bed.releasedOn());
  }

  private static void shortOfMemoryIn(Class<?> type, String method) {
    if (Bed.isIn(type, method)) {
      throw new OutOfMemoryError("memory is short");
    }
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
