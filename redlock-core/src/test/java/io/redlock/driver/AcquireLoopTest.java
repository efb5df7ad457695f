package io.redlock.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import io.redlock.AcquireResult;
import io.redlock.AcquireResult.By;
import io.redlock.Lease;
import io.redlock.LeaseRequest;
import io.redlock.RedlockListener;
import io.redlock.Votes;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReply.Kind;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.NodeRequest.Grant;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a call does from its start to its end. */
class AcquireLoopTest {

  static final LeaseRequest PATIENT = Bed.REQUEST.waitUpTo(Duration.ofSeconds(1));

  private static final LeaseRequest FAIR = Bed.REQUEST.waitUpTo(Duration.ofMinutes(1)).fair();

  private final Bed bed = new Bed(3);

  static Function<NodeRequest, @Nullable NodeReply> grants(NodeReply answer) {
    return request -> request instanceof Grant ? answer : Bed.yes(request);
  }

  static Lease lease(CompletableFuture<AcquireResult> call) {
    return Bed.now(call).lease().orElseThrow();
  }

  private int attempts() {
    return attempts(bed);
  }

  static int attempts(Bed bed) {
    return bed.node(0).asked(Grant.class).size();
  }

  /** Returns a bed whose calls pause for half a second after each refusal. */
  private static Bed slow() {
    return new Bed(3, (failures, cause, random) -> Duration.ofMillis(500));
  }

  static AcquireLoop loop(Bed bed, LeaseRequest request) {
    Pauses pauses = new Pauses(bed.context.retryStrategy, bed.context.random);
    return new AcquireLoop(bed.context, request, pauses, bed.redlock);
  }

  /** Tells the first fair call that it is first in the queues of these nodes. */
  private static void wake(Bed bed, int... nodes) {
    for (int node : nodes) {
      bed.context.fairWaiters.woken(1, node);
    }
  }

  @Test
  void contendedCallTriesAgainUnderAFreshOwnerUntilItHolds() {
    bed.script(grants(NodeReply.held(60_000, 5, "")));
    CompletableFuture<AcquireResult> call = bed.redlock.acquireAsync(PATIENT);
    bed.time.passMillis(100);
    assertFalse(call.isDone());
    bed.script(Bed::yes);
    bed.time.passMillis(200);
    assertTrue(lease(call).isValid());
    List<String> owners =
        bed.node(0).asked(Grant.class).stream().map(NodeRequest::owner).distinct().toList();
    assertEquals(attempts(), owners.size());
    assertTrue(attempts() > 2);
    assertEquals(List.of("ACQUIRED"), bed.events);
  }

  @Test
  void oneAttemptIsMadeWhereNoWaitIsAsked() {
    bed.script(grants(NodeReply.held(60_000, 5, "")));
    AcquireResult result = Bed.now(bed.redlock.acquireAsync(Bed.REQUEST));
    assertEquals(AcquireResult.Outcome.CONTENDED, result.outcome());
    assertEquals(1, attempts());
    bed.time.passMillis(Bed.NODE_TIMEOUT_MILLIS);
    bed.assertNothingIsLeft("one attempt");
    assertEquals(List.of("CONTENDED"), bed.events);
  }

  @Test
  void lastAttemptIsMadeWhenTheWaitIsOver() {
    bed.script(grants(NodeReply.unreachable("down")));
    CompletableFuture<AcquireResult> call = bed.redlock.acquireAsync(PATIENT);
    bed.time.passMillis(999);
    assertFalse(call.isDone());
    int before = attempts();
    bed.time.passMillis(1);
    assertEquals(AcquireResult.Outcome.UNAVAILABLE, Bed.now(call).outcome());
    assertEquals(before + 1, attempts());
    bed.time.passMillis(Bed.NODE_TIMEOUT_MILLIS);
    bed.assertNothingIsLeft("the wait was over");
  }

  @Test
  void waitIsExceededByNoMoreThanANodeTimeout() {
    CompletableFuture<AcquireResult> call = bed.redlock.acquireAsync(PATIENT);
    bed.time.passMillis(999);
    assertFalse(call.isDone());
    bed.time.passMillis(1 + Bed.NODE_TIMEOUT_MILLIS);
    assertEquals(AcquireResult.Outcome.UNAVAILABLE, Bed.now(call).outcome());
  }

  @Test
  void tokenThatNodesRefusedForTheirClocksIsReplacedAtOnceButOnlyOnce() {
    bed.script(grants(NodeReply.of(Kind.CLOCK, "2 s behind")));
    AcquireResult result = Bed.now(bed.redlock.acquireAsync(Bed.REQUEST));
    assertEquals(AcquireResult.Outcome.UNAVAILABLE, result.outcome());
    assertEquals(2, attempts());
  }

  /** Returns the tokens of all attempts of a fair call, and the tokens of their tickets. */
  private List<List<Long>> tokensAndTickets() {
    bed.redlock.acquireAsync(FAIR);
    bed.time.passMillis(500);
    List<Grant> grants = bed.node(0).asked(Grant.class);
    assertTrue(grants.size() > 3, grants.size() + " attempts");
    return List.of(
        grants.stream().map(Grant::token).toList(),
        grants.stream().map(grant -> grant.ticket().micros()).toList());
  }

  @Test
  void fairCallWhoseFirstTokenNodesRefusedByTheirClocksStandsInLineWithItsSecond() {
    bed.script(
        request -> {
          bed.nodes.forEach(node -> node.clockOffsetMicros(FakeTime.START_WALL_MICROS + 2_000_000));
          return attempts() == 1
              ? NodeReply.of(Kind.CLOCK, "2 s ahead")
              : NodeReply.unreachable("down");
        });
    List<List<Long>> tokens = tokensAndTickets();
    List<Long> tickets = tokens.get(1);
    assertEquals(tokens.get(0).subList(0, 2), tickets.subList(0, 2));
    assertTrue(tickets.get(0) + 1_000_000 < tickets.get(1), tickets.toString());
    assertEquals(1, Set.copyOf(tickets.subList(1, tickets.size())).size(), tickets.toString());
  }

  @Test
  void fairCallStandsInLineWithItsFirstTokenHoweverOftenItAsks() {
    bed.script(grants(NodeReply.unreachable("down")));
    List<List<Long>> tokens = tokensAndTickets();
    assertEquals(Set.of(tokens.get(0).get(0)), Set.copyOf(tokens.get(1)));
  }

  @Test
  void holdersRemainingLifeBoundsThePause() {
    Bed slow = slow();
    slow.script(grants(NodeReply.held(7, 5, "")));
    CompletableFuture<AcquireResult> call = slow.redlock.acquireAsync(PATIENT);
    slow.script(Bed::yes);
    slow.time.passMillis(8);
    assertTrue(lease(call).isValid());
  }

  @Test
  void keyThatHasNoTimeLeftIsNotAskedForFasterThanItsClockTicks() {
    bed.script(
        request -> {
          assertTrue(attempts() <= 11, "more than one attempt per millisecond");
          return request instanceof Grant ? NodeReply.held(0, 5, "") : Bed.yes(request);
        });
    bed.redlock.acquireAsync(PATIENT);
    bed.time.passMillis(10);
    assertTrue(attempts() > 5, attempts() + " attempts in 10 ms");
  }

  @ParameterizedTest
  @ValueSource(longs = {-1, Long.MAX_VALUE, Long.MAX_VALUE / 1_000_000 + 1})
  void keyWithoutAnEndIsAskedForAtTheUsualPace(long remainingMillis) {
    Bed slow = slow();
    slow.script(grants(NodeReply.held(remainingMillis, 5, "")));
    slow.redlock.acquireAsync(PATIENT);
    slow.time.passMillis(499);
    assertEquals(1, attempts(slow));
    slow.time.passMillis(1);
    assertEquals(2, attempts(slow));
  }

  @Test
  void placeInTheQueueIsGivenUpBeforeTheCallerHearsThatTheWaitIsOver() {
    bed.script(grants(NodeReply.held(60_000, 5, "")));
    List<Integer> givenUp = new ArrayList<>();
    CompletableFuture<AcquireResult> call = bed.redlock.acquireAsync(PATIENT.fair());
    call.thenRun(() -> givenUp.add(bed.asked(NodeRequest.RemoveTicket.class)));
    bed.time.passMillis(2_000);
    assertEquals(AcquireResult.Outcome.CONTENDED, Bed.now(call).outcome());
    assertEquals(List.of(3), givenUp);
  }

  @Test
  void fairCallBehindOthersAsksAtOnceWhenAQuorumOfNodesWakesIt() {
    bed.script(grants(NodeReply.waiting(-1)));
    CompletableFuture<AcquireResult> call = bed.redlock.acquireAsync(FAIR);
    bed.time.passMillis(500);
    wake(bed, 2);
    assertEquals(1, attempts());
    bed.script(Bed::yes);
    wake(bed, 0);
    assertTrue(lease(call).isValid());
    assertEquals(2, attempts());
  }

  @Test
  void wakeUpOfOneMoreNodeDoesNotPutTheNextAttemptOff() {
    Bed five = new Bed(5);
    five.script(grants(NodeReply.waiting(-1)));
    five.redlock.acquireAsync(FAIR);
    five.time.passMillis(500);
    assertEquals(1, five.time.tasks());
    wake(five, 0);
    assertEquals(1, five.time.tasks(), "only the timer of the shorter pause");
    five.time.passMillis(4);
    wake(five, 1);
    assertEquals(1, attempts(five));
    five.time.passMillis(1);
    assertEquals(2, attempts(five));
  }

  @Test
  void fairCallKeepsItsTicketsAliveWhileItsOwnServiceHoldsTheLease() {
    bed.script(grants(NodeReply.waiting(-1)));
    bed.redlock.acquireAsync(FAIR);
    bed.script(Bed::yes);
    lease(bed.redlock.acquireAsync(Bed.REQUEST));
    bed.script(grants(NodeReply.waiting(-1)));
    bed.time.passMillis(999);
    assertEquals(2, attempts());
    bed.time.passMillis(1);
    assertEquals(3, attempts());
  }

  @Test
  void fairCallWithoutTicketsHearsNoWakeUpAndStandsInLineBehindItsOwnService() {
    Bed slow = slow();
    slow.script(grants(NodeReply.unreachable("down")));
    CompletableFuture<AcquireResult> call = slow.redlock.acquireAsync(FAIR);
    wake(slow, 0, 1, 2);
    assertEquals(1, attempts(slow));
    assertStandsInLineBehindALease(slow, call);
  }

  @Test
  void callThatPausesStandsInLineBehindALeaseThatItsOwnServiceGotMeanwhile() {
    Bed slow = slow();
    slow.script(grants(NodeReply.held(-1, 5, "")));
    assertStandsInLineBehindALease(
        slow, slow.redlock.acquireAsync(Bed.REQUEST.waitUpTo(Duration.ofMinutes(1))));
  }

  private static void assertStandsInLineBehindALease(
      Bed bed, CompletableFuture<AcquireResult> call) {
    bed.script(Bed::yes);
    Lease held = lease(bed.redlock.acquireAsync(Bed.REQUEST));
    bed.time.passMillis(5_000);
    assertEquals(2, attempts(bed));
    held.close();
    assertTrue(lease(call).isValid());
    assertEquals(3, attempts(bed));
  }

  @Test
  void fairCallThatIsCancelledBetweenItsAttemptsLeavesTheQueuesAndIsForgotten() {
    bed.script(grants(NodeReply.waiting(-1)));
    CompletableFuture<AcquireResult> call = bed.redlock.acquireAsync(FAIR);
    bed.time.passMillis(500);
    assertEquals(0, bed.asked(NodeRequest.RemoveTicket.class));
    call.cancel(false);
    assertEquals(3, bed.asked(NodeRequest.RemoveTicket.class));
    assertEquals(0, bed.time.tasks());
    bed.time.whenRead(() -> fail("a call that is over looks at the clock"));
    wake(bed, 0, 1, 2);
    bed.context.fairWaiters.listening(0);
  }

  @Test
  void fairCallThatIsCancelledDuringTheFanOutTakesItsTicketsBackAfterIt() {
    AcquireLoop loop = loop(bed, FAIR);
    bed.script(Bed::yes);
    bed.node(1)
        .script(
            request -> {
              if (request instanceof Grant) {
                loop.cancel();
              }
              return Bed.yes(request);
            });
    loop.start();
    assertEquals(
        List.of("a Grant", "b Grant", "c Grant", "a Release", "b Release", "c Release"),
        bed.journal);
    for (ScriptedNode node : bed.nodes) {
      NodeRequest.Release release = node.asked(NodeRequest.Release.class).get(0);
      assertEquals(1, release.ticket().number());
    }
  }

  @Test
  void callThatEndsDuringTheFanOutTellsWhenItsReleaseWasSent() {
    AcquireLoop loop = loop(bed, PATIENT);
    bed.script(Bed::yes);
    bed.node(1)
        .script(
            request -> {
              if (request instanceof Grant) {
                loop.fail().orElseThrow().whenReleaseSent(() -> bed.journal.add("sent"));
              }
              return Bed.yes(request);
            });
    CompletableFuture<AcquireResult> call = loop.start();
    assertThrows(CompletionException.class, () -> Bed.now(call));
    assertEquals(
        List.of("a Grant", "b Grant", "c Grant", "a Release", "b Release", "c Release", "sent"),
        bed.journal);
  }

  @Test
  void callThatHasFailedIsNotEndedAgain() {
    AcquireLoop loop = loop(bed, PATIENT);
    loop.start();
    assertTrue(loop.fail().isPresent());
    assertTrue(loop.fail().isEmpty());
    loop.cancel();
    assertEquals(List.of("given up"), bed.events);
    assertEquals(3, bed.releases());
  }

  @Test
  void closeDoesNotEndACallThatIsHandingItsLeaseOut() {
    AcquireLoop loop = loop(bed, PATIENT);
    List<Boolean> ended = new ArrayList<>();
    loop.start().thenRun(() -> ended.add(loop.fail().isPresent()));
    bed.answerGrants(NodeReply.GRANTED, 0, 1, 2);
    assertEquals(List.of(false), ended);
    assertEquals(0, bed.releases());
    assertEquals(List.of("ACQUIRED"), bed.events);
  }

  @Test
  void refusalThatNobodyWantsAnyMoreIsNotReported() {
    List<CompletableFuture<AcquireResult>> call = new ArrayList<>();
    bed.script(
        request -> {
          if (request instanceof NodeRequest.RemoveTicket) {
            call.get(0).cancel(false);
          }
          return request instanceof Grant ? NodeReply.waiting(-1) : Bed.yes(request);
        });
    call.add(bed.redlock.acquireAsync(PATIENT.fair()));
    bed.time.passMillis(1_000);
    assertTrue(call.get(0).isCancelled());
    assertEquals(List.of("given up"), bed.events);
  }

  @Test
  void attemptNeedsNoTimerButThatOfItsNodeTimeout() {
    bed.redlock.acquireAsync(PATIENT);
    assertEquals(1, bed.time.tasks());
  }

  @Test
  void waitOfACenturyNeedsNoTimer() {
    Lease held = bed.lease();
    int before = bed.time.tasks();
    CompletableFuture<AcquireResult> call =
        bed.redlock.acquireAsync(Bed.REQUEST.waitUpTo(Duration.ofDays(36_500)));
    assertEquals(before, bed.time.tasks());
    held.close();
    assertTrue(lease(call).isValid());
  }

  @Test
  void leaseOnItsWayIsReleasedAtOnceWhenItsUserCompletesTheCall() {
    Deque<Runnable> callbacks = new ArrayDeque<>();
    Bed late = new Bed(3, callbacks::add, new RedlockListener() {});
    late.script(Bed::yes);
    CompletableFuture<AcquireResult> call = late.redlock.acquireAsync(PATIENT);
    assertFalse(call.isDone());
    call.complete(AcquireResult.contended(By.UNKNOWN, new Votes(List.of(), 2)));
    assertEquals("abc", late.releasedOn());
    while (!callbacks.isEmpty()) {
      callbacks.poll().run();
    }
    assertEquals(3, late.releases());
    late.time.passMillis(Bed.NODE_TIMEOUT_MILLIS);
    late.assertNothingIsLeft("completed by its user");
  }

  @ParameterizedTest
  @ValueSource(strings = {"null", "blank", "exception", "error"})
  void supplierOfOwnerIdsThatFailsHarmsItsOwnCallOnly(String how) {
    Supplier<String> usual = bed.ownerIds;
    bed.script(Bed::yes);
    CompletableFuture<AcquireResult> before = bed.redlock.acquireAsync(PATIENT);
    bed.ownerIds =
        () ->
            switch (how) {
              case "null" -> null;
              case "blank" -> " ";
              case "exception" -> throw new IllegalArgumentException("a user's mistake");
              default -> throw new AssertionError("a user's mistake");
            };
    CompletableFuture<AcquireResult> failed = bed.redlock.acquireAsync(PATIENT);
    bed.ownerIds = usual;
    CompletableFuture<AcquireResult> after = bed.redlock.acquireAsync(PATIENT);
    CompletionException failure = assertThrows(CompletionException.class, () -> Bed.now(failed));
    assertInstanceOf(IllegalStateException.class, failure.getCause());
    assertTrue(failure.getMessage().contains("the supplier of owner ids"), failure.getMessage());
    lease(before).close();
    bed.time.passMillis(1_000);
    lease(after).close();
    bed.time.passMillis(Bed.NODE_TIMEOUT_MILLIS);
    bed.assertNothingIsLeft(how);
  }

  @Test
  void supplierOfOwnerIdsThatFailsTheFirstFairCallFailsItsFuture() {
    Supplier<String> usual = bed.ownerIds;
    bed.ownerIds =
        () -> {
          throw new IllegalArgumentException("a user's mistake");
        };
    CompletableFuture<AcquireResult> failed = bed.redlock.acquireAsync(PATIENT.fair());
    CompletionException failure = assertThrows(CompletionException.class, () -> Bed.now(failed));
    assertInstanceOf(IllegalStateException.class, failure.getCause());
    assertEquals(List.of("given up"), bed.events);
    bed.ownerIds = usual;
    bed.script(Bed::yes);
    lease(bed.redlock.acquireAsync(PATIENT.fair())).close();
    bed.time.passMillis(Bed.NODE_TIMEOUT_MILLIS);
    bed.assertNothingIsLeft("a failed fair call");
  }

  @Test
  void supplierOfOwnerIdsIsAskedOnceACallAndByItsCallerOnly() {
    List<String> drawn = new ArrayList<>();
    Supplier<String> usual = bed.ownerIds;
    bed.ownerIds =
        () -> {
          drawn.add(usual.get());
          return drawn.get(drawn.size() - 1);
        };
    bed.script(grants(NodeReply.held(-1, 5, "")));
    CompletableFuture<AcquireResult> call = bed.redlock.acquireAsync(PATIENT);
    bed.ownerIds = () -> fail("asked by a thread that retries");
    bed.time.passMillis(200);
    bed.script(Bed::yes);
    bed.time.passMillis(200);
    lease(call);
    assertEquals(List.of("owner-1"), drawn);
    List<String> asked =
        bed.node(0).asked(Grant.class).stream().map(Grant::owner).distinct().toList();
    assertTrue(asked.size() > 2, asked.toString());
    assertEquals(List.of("owner-1", "owner-1-2", "owner-1-3"), asked.subList(0, 3));
  }

  @Test
  void waiterReportsWhatTheHeadOfItsLineWasAnswered() {
    bed.script(grants(NodeReply.unreachable("down")));
    bed.redlock.acquireAsync(PATIENT.waitUpTo(Duration.ofMinutes(1)));
    CompletableFuture<AcquireResult> behind = bed.redlock.acquireAsync(PATIENT);
    bed.time.passMillis(1_000);
    AcquireResult result = Bed.now(behind);
    assertEquals(AcquireResult.Outcome.UNAVAILABLE, result.outcome());
    assertEquals("0 of 3 granted, 2 needed (a down, b down, c down)", result.votes().toString());
  }

  @Test
  void waiterDoesNotReportARefusalFromBeforeTheLease() {
    bed.script(grants(NodeReply.unreachable("down")));
    CompletableFuture<AcquireResult> head = bed.redlock.acquireAsync(PATIENT);
    CompletableFuture<AcquireResult> behind = bed.redlock.acquireAsync(PATIENT);
    bed.script(Bed::yes);
    bed.time.passMillis(1_000);
    assertTrue(lease(head).isValid());
    assertEquals("no node was asked", Bed.now(behind).votes().toString());
  }

  @Test
  void nodeThatBreaksItsContractByThrowingHarmsThatCallOnly() {
    bed.script(Bed::yes);
    bed.node(1)
        .script(
            request -> {
              if (request instanceof Grant) {
                throw new AssertionError("a node's mistake");
              }
              return Bed.yes(request);
            });
    CompletableFuture<AcquireResult> call = bed.redlock.acquireAsync(PATIENT);
    CompletionException failure = assertThrows(CompletionException.class, () -> Bed.now(call));
    assertInstanceOf(AssertionError.class, failure.getCause().getCause());
    bed.script(Bed::yes);
    assertTrue(lease(bed.redlock.acquireAsync(PATIENT)).isValid());
    assertEquals(1, bed.node(0).releases(), "the node that had granted");
  }

  /** The decisive answer comes on a thread of a node, which nobody asks for an exception. */
  @ParameterizedTest
  @ValueSource(ints = {0, 1})
  void callThatFailsOnTheThreadOfAnAnswerEndsAndLetsTheNextAsk(int timersThatAreSet) {
    LeaseRequest renewed = PATIENT.renewFor(Duration.ofMinutes(1));
    CompletableFuture<AcquireResult> failed = bed.redlock.acquireAsync(renewed);
    CompletableFuture<AcquireResult> next = bed.redlock.acquireAsync(renewed);
    failSchedulingAfter(timersThatAreSet);
    bed.answerGrants(NodeReply.GRANTED, 0, 1);
    CompletionException failure = assertThrows(CompletionException.class, () -> Bed.now(failed));
    assertInstanceOf(Error.class, failure.getCause().getCause());
    assertEquals(List.of("given up"), bed.events);
    bed.script(Bed::yes);
    for (ScriptedNode node : bed.nodes) {
      node.calls().stream()
          .filter(ScriptedNode.Call::isOpen)
          .toList()
          .forEach(call -> call.answer(Bed.yes(call.request)));
    }
    bed.time.passMillis(1_000);
    lease(next).close();
    bed.time.passMillis(1_000);
    bed.assertNothingIsLeft("a failed call");
  }

  private void failSchedulingAfter(int timers) {
    bed.time.duringNextSchedule(
        () -> {
          if (timers > 0) {
            failSchedulingAfter(timers - 1);
            return;
          }
          throw new Error("no memory for a task");
        });
  }

  @Test
  void pauseForWhichNoTimerCanBeSetEndsTheCall() {
    CompletableFuture<AcquireResult> failed = bed.redlock.acquireAsync(PATIENT);
    failSchedulingAfter(0);
    bed.answerGrants(NodeReply.held(5_000, 1, ""), 0, 1, 2);
    CompletionException failure = assertThrows(CompletionException.class, () -> Bed.now(failed));
    assertInstanceOf(Error.class, failure.getCause().getCause());
    bed.script(Bed::yes);
    lease(bed.redlock.acquireAsync(PATIENT)).close();
  }

  @Test
  void callFailsWithTheExceptionThatANodeThrows() {
    RuntimeException mistake = new IllegalArgumentException("a node's mistake");
    bed.script(
        request -> {
          throw mistake;
        });
    CompletableFuture<AcquireResult> call = bed.redlock.acquireAsync(PATIENT);
    CompletionException failure = assertThrows(CompletionException.class, () -> Bed.now(call));
    assertSame(mistake, failure.getCause());
  }

  @Test
  void grantAfterCancelIsReleased() {
    CompletableFuture<AcquireResult> call = bed.redlock.acquireAsync(PATIENT);
    call.cancel(false);
    bed.script(Bed::yes);
    bed.answerGrants(NodeReply.GRANTED, 0, 1, 2);
    for (ScriptedNode node : bed.nodes) {
      node.answer(NodeRequest.Release.class, NodeReply.RELEASED);
    }
    bed.time.passMillis(Bed.NODE_TIMEOUT_MILLIS);
    bed.assertNothingIsLeft("cancelled");
    assertEquals(List.of("given up"), bed.events);
  }

  /** The steps of a call: refused, outbid, timed out, paused, granted. */
  private static List<Runnable> life(Bed bed) {
    return List.of(
        () -> bed.answerGrants(NodeReply.stale(bed.time.wallMicros() + 5), 0),
        () -> bed.answerGrants(NodeReply.stale(bed.time.wallMicros() + 9), 1),
        () -> bed.answerGrants(NodeReply.GRANTED, 0),
        () -> bed.time.passMillis(Bed.NODE_TIMEOUT_MILLIS),
        () -> bed.time.passMillis(1),
        () -> bed.time.passMillis(20),
        () -> bed.answerGrants(NodeReply.unknown("connection lost"), 2),
        () -> bed.answerGrants(NodeReply.GRANTED, 0),
        () -> bed.answerGrants(NodeReply.GRANTED, 1), // to the attempt that timed out
        () -> bed.answerGrants(NodeReply.GRANTED, 1));
  }

  @Test
  void callLivesAsTheNextTestSupposes() {
    CompletableFuture<AcquireResult> call = bed.redlock.acquireAsync(PATIENT);
    life(bed).forEach(Runnable::run);
    assertTrue(lease(call).isValid());
    assertEquals(2, bed.node(0).asked(Grant.class).stream().map(Grant::owner).distinct().count());
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
  void cancellingAtAnyStepLeavesNothingLockedAndNothingUnderWay(int step) {
    cancelAfter(step, call -> call.cancel(false));
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
  void completingTheFutureByHandAtAnyStepLeavesNothingLocked(int step) {
    cancelAfter(
        step, call -> call.complete(AcquireResult.contended(By.UNKNOWN, new Votes(List.of(), 2))));
  }

  private void cancelAfter(int step, Function<CompletableFuture<AcquireResult>, Boolean> giveUp) {
    CompletableFuture<AcquireResult> call = bed.redlock.acquireAsync(PATIENT);
    life(bed).subList(0, step).forEach(Runnable::run);
    if (!giveUp.apply(call)) {
      lease(call).close(); // too late: the caller has the lease
    }
    int granted = bed.asked(Grant.class);
    bed.script(Bed::yes);
    for (ScriptedNode node : bed.nodes) {
      for (ScriptedNode.Call open : List.copyOf(node.calls())) {
        if (open.isOpen()) {
          open.answer(Bed.yes(open.request)); // late, in order
        }
      }
    }
    bed.time.pass(Duration.ofMinutes(1));
    bed.assertNothingIsLeft("after step " + step);
    assertEquals(granted, bed.asked(Grant.class), "nothing was asked for any more");
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9})
  void closingAtAnyStepEndsTheCall(int step) {
    CompletableFuture<AcquireResult> call = bed.redlock.acquireAsync(PATIENT);
    life(bed).subList(0, step).forEach(Runnable::run);
    bed.redlock.close();
    CompletionException failure = assertThrows(CompletionException.class, call::join);
    assertInstanceOf(IllegalStateException.class, failure.getCause());
    assertEquals(0, bed.time.tasks());
    bed.assertNothingIsLeft("closed after step " + step);
  }

  @Test
  void cancellingFromWithinANodeDuringTheFanOutReleasesEverywhere() {
    List<CompletableFuture<AcquireResult>> call = new ArrayList<>();
    bed.script(grants(NodeReply.unreachable("down")));
    call.add(bed.redlock.acquireAsync(PATIENT));
    bed.script(Bed::yes);
    bed.node(1)
        .script(
            request -> {
              if (request instanceof Grant) {
                call.get(0).cancel(false);
              }
              return Bed.yes(request);
            });
    bed.time.pass(Duration.ofSeconds(1));
    assertTrue(call.get(0).isCancelled());
    assertEquals("abc", bed.releasedOn());
    bed.assertNothingIsLeft("cancelled in the middle");
  }

  @Test
  void cancellingBetweenARefusalByClocksAndTheNextAttemptSendsNothingMore() {
    CompletableFuture<AcquireResult> call = bed.redlock.acquireAsync(PATIENT);
    bed.betweenSteps(() -> call.cancel(false));
    bed.script(Bed::yes);
    bed.answerGrants(NodeReply.held(100, 5, ""), 0);
    bed.answerGrants(NodeReply.of(Kind.CLOCK, "2 s behind"), 1, 2);
    assertTrue(call.isCancelled());
    assertEquals(3, bed.asked(Grant.class));
    bed.time.pass(Duration.ofMinutes(1));
    bed.assertNothingIsLeft("cancelled before the second attempt");
  }

  @Test
  void cancellingFromTheNewsOfTheLeaseReleasesIt() {
    CompletableFuture<AcquireResult> call = bed.redlock.acquireAsync(PATIENT);
    bed.betweenSteps(() -> call.cancel(false));
    bed.script(Bed::yes);
    bed.answerGrants(NodeReply.GRANTED, 0, 1, 2);
    bed.time.passMillis(Bed.NODE_TIMEOUT_MILLIS);
    assertTrue(call.isCancelled());
    assertEquals(List.of("given up", "ACQUIRED", "RELEASED"), bed.events);
    bed.assertNothingIsLeft("cancelled between decision and news");
  }

  @Test
  void callAfterCloseFailsAndSendsNothing() {
    bed.redlock.close();
    CompletableFuture<AcquireResult> call = bed.redlock.acquireAsync(PATIENT);
    assertThrows(CompletionException.class, call::join);
    assertEquals(0, bed.journal.size());
  }
}
