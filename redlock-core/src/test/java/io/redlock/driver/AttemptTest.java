package io.redlock.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.AcquireResult;
import io.redlock.AcquireResult.By;
import io.redlock.Votes;
import io.redlock.Votes.Vote;
import io.redlock.protocol.AcquireRound;
import io.redlock.protocol.AcquireRound.Decision;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.NodeRequest.Grant;
import io.redlock.spi.NodeRequest.Release;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Assertions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class AttemptTest {

  private final Bed bed = new Bed(3);
  private final List<AttemptEnd> outcomes = new ArrayList<>();

  private Attempt attempt() {
    List<String> names = bed.context.settings.names(Bed.REQUEST);
    return new Attempt(
        bed.context,
        Bed.REQUEST,
        Bed.REQUEST.resources(),
        names,
        "owner-1",
        null,
        bed.context.listeners,
        outcomes::add,
        Assertions::fail,
        lease -> true);
  }

  private void start() {
    attempt().start();
  }

  private AttemptEnd outcome() {
    assertEquals(1, outcomes.size(), "an attempt has one outcome");
    return outcomes.get(0);
  }

  private List<Grant> grants(int node) {
    return bed.node(node).asked(Grant.class);
  }

  private void timeOut() {
    bed.time.passMillis(Bed.NODE_TIMEOUT_MILLIS);
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
          if (Bed.isIn(Fanout.class, "<init>") && begun.incrementAndGet() == round) {
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
    assertEquals("abc", bed.releasedOn());
  }

  private static NodeReply stale(NodeRequest request) {
    return request instanceof Grant ? NodeReply.stale(Long.MAX_VALUE / 8) : Bed.yes(request);
  }

  @Test
  void attemptThatEndsWhileItIsSentAndFindsNoMemoryIsReleasedOnceThereIsSome() {
    bed.time.whenRead(
        () -> {
          if (Bed.isIn(Owner.class, "handed")) {
            throw new OutOfMemoryError("memory is short");
          }
        });
    Attempt attempt = attempt();
    bed.node(2).script(request -> abandoned(attempt, request));
    assertThrows(OutOfMemoryError.class, attempt::start);
    bed.time.passWithChecks(Duration.ofSeconds(6));
    assertEquals("", bed.releasedOn());
    bed.time.whenRead(() -> {});
    bed.script(Bed::yes);
    bed.time.passWithChecks(Duration.ofSeconds(2));
    assertEquals("abc", bed.releasedOn());
    settle();
  }

  @Test
  void leaseThatNoMemoryPassesOnIsReleasedAndHoldsUpNobody() {
    bed.whenCounted = () -> shortOfMemoryIn(Fanout.class, "votes");
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
          shortOfMemoryIn(CallResult.class, "complete");
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

  private @Nullable NodeReply abandoned(Attempt attempt, NodeRequest request) {
    if (request instanceof Grant) {
      bed.time.shortOfMemory(Duration.ofSeconds(5));
      attempt.abandon();
      return null;
    }
    return Bed.yes(request);
  }

  @Test
  void oneOwnerProposesOneTokenToEveryNodeAtOnce() {
    start();
    Grant grant = grants(0).get(0);
    assertEquals(
        new Grant(List.of("app:orders/42"), "owner-1", bed.time.wallMicros(), 10_000), grant);
    assertEquals(List.of(grant), grants(1));
    assertEquals(List.of(grant), grants(2));
  }

  @Test
  void quorumIsEnoughAndTheLastNodeIsNotWaitedFor() {
    start();
    bed.answerGrants(NodeReply.GRANTED, 2, 0);
    assertEquals(Decision.HELD, outcome().decision());
    assertEquals(
        "2 of 3 granted, 2 needed (a granted 0µs, b not awaited, c granted 0µs)",
        outcome().result().votes().toString());
    assertEquals(0, bed.releases());
  }

  @Test
  void answerBetweenTheDecisionAndItsReportDoesNotCount() {
    start();
    bed.answerGrants(NodeReply.GRANTED, 0);
    bed.time.duringNextSchedule(() -> bed.answerGrants(NodeReply.GRANTED, 2)); // of the lease
    bed.answerGrants(NodeReply.GRANTED, 1);
    assertEquals(
        "2 of 3 granted, 2 needed (a granted 0µs, b granted 0µs, c not awaited)",
        outcome().result().votes().toString());
    bed.script(Bed::yes);
    outcome().lease().close();
    assertEquals("abc", bed.releasedOn());
  }

  @Test
  void lateGrantAfterSuccessBelongsToTheLease() {
    start();
    bed.answerGrants(NodeReply.GRANTED, 0, 1, 2);
    assertEquals(0, bed.releases());
    bed.script(Bed::yes);
    outcome().lease().close();
    assertEquals("abc", bed.releasedOn());
    settle();
  }

  @Test
  void lateRefusalAfterSuccessIsNotReleased() {
    start();
    bed.answerGrants(NodeReply.GRANTED, 0, 1);
    bed.answerGrants(NodeReply.held(-1, 5, ""), 2);
    assertEquals(
        "2 of 3 granted, 2 needed (a granted 0µs, b granted 0µs, c not awaited)",
        outcome().result().votes().toString());
    bed.script(Bed::yes);
    outcome().lease().close();
    assertEquals("ab", bed.releasedOn());
  }

  @Test
  void failedAttemptReleasesWhatWasGrantedAndNothingElse() {
    start();
    bed.script(Bed::yes);
    bed.answerGrants(NodeReply.GRANTED, 1);
    bed.answerGrants(NodeReply.held(4_000, 5, ""), 0, 2);
    assertEquals(Decision.CONTENDED, outcome().decision());
    assertEquals(4_000, outcome().heldRemainingMillis());
    assertEquals("b", bed.releasedOn());
    settle();
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
    start();
    bed.answerGrants(NodeReply.abstain(100, "restarted"), 0);
    bed.answerGrants(NodeReply.held(first, 5, ""), 1);
    bed.answerGrants(NodeReply.held(second, 5, ""), 2);
    assertEquals(shortest, outcome().heldRemainingMillis());
  }

  @Test
  void refusedByAllItIsBehindOthersAndKeepsItsPlace() {
    start();
    bed.answerGrants(NodeReply.heldBy(4_000, 5, "one"), 0, 1, 2);
    assertTrue(outcome().isBehindOthers());
    assertTrue(outcome().keepsPlace());
    assertEquals(By.HOLDER, outcome().by());
  }

  @Test
  void withoutAQuorumAtWorkItIsNotBehindOthersAndLosesItsPlace() {
    start();
    bed.answerGrants(NodeReply.unreachable("refused connection"), 0, 1);
    assertEquals(Decision.UNAVAILABLE, outcome().decision());
    assertFalse(outcome().isBehindOthers());
    assertFalse(outcome().keepsPlace());
    assertEquals(By.UNKNOWN, outcome().by());
  }

  @Test
  void differentHoldersAreASplitVoteWhateverTheCountersAre() {
    start();
    bed.answerGrants(NodeReply.heldBy(4_000, 5, "one"), 0);
    bed.answerGrants(NodeReply.heldBy(4_000, 5, "other"), 1);
    assertEquals(By.SPLIT, outcome().by());
  }

  @Test
  void restOfTheFirstTicketCountsLikeTheLifeOfAKey() {
    start();
    bed.answerGrants(NodeReply.waiting(400), 0, 1);
    assertEquals(400, outcome().heldRemainingMillis());
  }

  @Test
  void nodeThatStillOwesItsAnswerWhenTheAttemptFailsIsReleasedBehindItsGrant() {
    start();
    bed.script(request -> request instanceof Release ? NodeReply.RELEASED : null);
    bed.answerGrants(NodeReply.held(4_000, 5, ""), 0, 1);
    assertEquals(Decision.CONTENDED, outcome().decision());
    assertEquals("c", bed.releasedOn());
    bed.answerGrants(NodeReply.GRANTED, 2);
    settle();
    assertEquals(1, bed.releases());
  }

  @Test
  void grantOfUnknownFateIsReleased() {
    start();
    bed.script(Bed::yes);
    bed.answerGrants(NodeReply.unknown("connection lost"), 0);
    bed.answerGrants(NodeReply.unreachable("down"), 1);
    assertEquals(Decision.UNAVAILABLE, outcome().decision());
    assertEquals("ac", bed.releasedOn());
  }

  @Test
  void silenceEndsAfterOneNodeTimeoutAndIsReleased() {
    start();
    bed.answerGrants(NodeReply.GRANTED, 1);
    bed.time.passMillis(Bed.NODE_TIMEOUT_MILLIS - 1);
    assertEquals(0, outcomes.size());
    bed.script(Bed::yes);
    bed.time.passMillis(1);
    assertEquals(Decision.UNAVAILABLE, outcome().decision());
    assertEquals(
        "1 of 3 granted, 2 needed (a no answer in 50ms, b granted 0µs, c no answer in 50ms)",
        outcome().result().votes().toString());
    assertEquals("abc", bed.releasedOn());
    bed.answerGrants(NodeReply.GRANTED, 0, 2);
    assertEquals(1, outcomes.size());
    settle();
  }

  @Test
  void requestThatCouldBeWithdrawnWasNeverSentAndIsNotReleased() {
    bed.node(0).holdSends();
    bed.node(2).holdSends();
    start();
    bed.answerGrants(NodeReply.GRANTED, 1);
    bed.script(Bed::yes);
    timeOut();
    Votes votes = outcome().result().votes();
    assertEquals(2, votes.count(Vote.UNREACHABLE));
    assertEquals("a not sent in time", votes.nodes().get(0).toString());
    assertTrue(bed.node(0).calls().get(0).wasWithdrawn());
    assertEquals("b", bed.releasedOn());
    settle();
  }

  @Test
  void staleCountersAreOutbidByTheSameOwnerOnAllNodes() {
    start();
    long first = grants(0).get(0).token();
    bed.answerGrants(NodeReply.GRANTED, 1);
    bed.answerGrants(NodeReply.stale(first + 500), 0);
    bed.time.passMillis(3);
    bed.answerGrants(NodeReply.stale(first + 300), 2);
    for (int node = 0; node < 3; node++) {
      Grant second = grants(node).get(1);
      assertEquals("owner-1", second.owner());
      assertEquals(first + 501, second.token());
    }
    bed.answerGrants(NodeReply.GRANTED, 0, 2);
    assertEquals(first + 501, outcome().lease().fencingToken());
    Duration validity = Bed.TTL.minusMillis(102).minus(Bed.TTL.dividedBy(10));
    assertEquals(validity, outcome().lease().remaining(), "measured from the second round");
  }

  @Test
  void threeRoundsShareOneNodeTimeout() {
    start();
    for (int round = 1; round < AcquireRound.MAX_ROUNDS; round++) {
      bed.time.passMillis(20);
      long token = grants(0).get(round - 1).token();
      bed.answerGrants(NodeReply.stale(token), 0, 1, 2);
    }
    assertEquals(3, grants(2).size());
    bed.time.passMillis(Bed.NODE_TIMEOUT_MILLIS - 40 - 1);
    assertEquals(0, outcomes.size());
    bed.time.passMillis(1);
    assertEquals(Decision.UNAVAILABLE, outcome().decision());
  }

  @Test
  void timeoutThatStrikesInTheMiddleOfAFanOutIsDecidedAfterIt() {
    bed.node(0).script(request -> NodeReply.GRANTED);
    bed.node(1)
        .script(
            request -> {
              if (request instanceof Grant) {
                timeOut();
                assertEquals(0, outcomes.size());
                assertEquals(0, bed.node(2).calls().size());
              }
              return null;
            });
    start();
    assertEquals(Decision.UNAVAILABLE, outcome().decision());
    assertEquals(
        List.of("a Grant", "b Grant", "c Grant", "a Release", "b Release", "c Release"),
        bed.journal);
  }

  @Test
  void abandoningInTheMiddleOfAFanOutReleasesOnlyAfterEverythingWasHandedOver() {
    Attempt attempt = attempt();
    bed.script(Bed::yes);
    bed.node(1)
        .script(
            request -> {
              if (request instanceof Grant) {
                attempt.abandon();
              }
              return Bed.yes(request);
            });
    attempt.start();
    assertEquals(
        List.of("a Grant", "b Grant", "c Grant", "a Release", "b Release", "c Release"),
        bed.journal);
    assertEquals(0, outcomes.size(), "nobody waits for an abandoned attempt");
    settle();
  }

  @Test
  void abandonedBeforeItsStartSendsNothing() {
    Attempt attempt = attempt();
    attempt.abandon();
    attempt.start();
    settle();
    assertEquals(List.of(), bed.journal);
  }

  @Test
  void abandonedAfterTheDecisionButBeforeItsNewsIsReleasedAllTheSame() {
    Attempt attempt = attempt();
    attempt.start();
    bed.betweenSteps(attempt::abandon);
    bed.script(Bed::yes);
    bed.answerGrants(NodeReply.GRANTED, 0, 1);
    outcomes.forEach(outcome -> outcome.lease().close()); // as a cancelled call does
    bed.answerGrants(NodeReply.GRANTED, 2);
    settle();
    assertEquals("abc", bed.releasedOn());
    assertEquals(3, bed.releases());
  }

  @Test
  void quorumThatIsCountedAfterALongPauseIsTooSlowAndReleased() {
    start();
    bed.script(Bed::yes);
    bed.time.pause(Duration.ofSeconds(9));
    bed.answerGrants(NodeReply.GRANTED, 0, 1);
    assertEquals(Decision.TOO_SLOW, outcome().decision());
    assertFalse(outcome().keepsPlace(), "it would only block waiters that could succeed");
    assertNull(outcome().lease());
    assertEquals("abc", bed.releasedOn());
    assertEquals(AcquireResult.Outcome.TOO_SLOW, outcome().result().outcome());
  }

  @Test
  void quorumThatIsCountedAfterTheMachineSleptIsTooSlow() {
    start();
    bed.script(Bed::yes);
    bed.time.stepWall(Bed.TTL);
    bed.answerGrants(NodeReply.GRANTED, 0, 1);
    assertEquals(Decision.TOO_SLOW, outcome().decision());
  }

  /**
   * The first send takes longer than a node timeout (a cold JVM), and the grants arrive meanwhile.
   * The votes and the decision must agree.
   */
  @Test
  void grantsThatComeWhileALateTimeoutWaitsForTheFanOutCount() {
    bed.node(0).script(request -> NodeReply.GRANTED);
    bed.node(1)
        .script(
            request -> {
              if (request instanceof Grant) {
                timeOut();
              }
              return NodeReply.GRANTED;
            });
    bed.node(2).holdSends();
    start();
    assertEquals(Decision.HELD, outcome().decision());
    assertEquals(2, outcome().result().votes().count(Vote.YES));
  }

  @Test
  void votesAreThoseOfTheMomentOfTheDecision() {
    Bed five = new Bed(5);
    five.node(0).script(request -> NodeReply.GRANTED);
    five.node(1)
        .script(
            request -> {
              if (request instanceof Grant) {
                five.time.passMillis(Bed.NODE_TIMEOUT_MILLIS);
              }
              return request instanceof Grant ? null : NodeReply.RELEASED;
            });
    five.node(2).script(Bed::yes);
    five.node(3).script(Bed::yes);
    AcquireResult result = Bed.now(five.redlock.acquireAsync(Bed.REQUEST));
    assertEquals(
        result.outcome() == AcquireResult.Outcome.ACQUIRED,
        result.votes().count(Vote.YES) >= result.votes().quorum(),
        result::toString);
  }
}
