package io.redlock.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.AcquireResult;
import io.redlock.Lease;
import io.redlock.LeaseRequest;
import io.redlock.Votes;
import io.redlock.protocol.AcquireRound.Decision;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.NodeRequest.Grant;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class LocalQueuesTest {

  private static final LeaseRequest PATIENT = Bed.REQUEST.waitUpTo(Duration.ofMinutes(5));

  private final Bed bed = new Bed(3);

  private CompletableFuture<AcquireResult> call() {
    return bed.redlock.acquireAsync(PATIENT);
  }

  private static Lease lease(CompletableFuture<AcquireResult> call) {
    return Bed.now(call).optionalLease().orElseThrow();
  }

  @Test
  void waitersOfOneServiceAreServedInOrderAndAskTheNodesOncePerLease() {
    bed.script(Bed::yes);
    Lease held = lease(call());
    List<CompletableFuture<AcquireResult>> waiting = new ArrayList<>();
    for (int waiter = 0; waiter < 5; waiter++) {
      waiting.add(call());
    }
    bed.time.passMillis(5_000);
    assertEquals(3, bed.asked(Grant.class), "nobody polls");
    for (CompletableFuture<AcquireResult> next : waiting) {
      assertFalse(next.isDone());
      held.close();
      held = lease(next);
    }
    assertEquals(18, bed.asked(Grant.class));
    held.close();
    bed.time.passMillis(Bed.NODE_TIMEOUT_MILLIS);
    bed.assertNothingIsLeft("all were served");
  }

  @Test
  void nextGrantStandsBehindTheReleaseOnEveryNode() {
    Lease held = bed.lease(PATIENT);
    call();
    bed.journal.clear();
    held.close();
    assertEquals(
        List.of("a Release", "b Release", "c Release", "a Grant", "b Grant", "c Grant"),
        bed.journal);
  }

  @Test
  void everySixteenthHandOffLeavesOtherProcessesAMoment() {
    Lease held = bed.lease(PATIENT);
    int pauses = 0;
    List<CompletableFuture<AcquireResult>> waiting = new ArrayList<>();
    for (int waiter = 0; waiter < 40; waiter++) {
      waiting.add(call());
    }
    for (CompletableFuture<AcquireResult> next : waiting) {
      held.close();
      if (!next.isDone()) {
        pauses++;
        bed.time.passMillis(2);
      }
      held = lease(next);
    }
    assertEquals(2, pauses);
  }

  @Test
  void waiterThatGivesUpInTheMiddleOfTheLineIsSkipped() {
    Lease held = bed.lease(PATIENT);
    CompletableFuture<AcquireResult> first = call();
    CompletableFuture<AcquireResult> second = call();
    CompletableFuture<AcquireResult> third = call();
    second.cancel(false);
    held.close();
    lease(first).close();
    assertTrue(lease(third).isValid());
  }

  @Test
  void headThatGivesUpMakesWayAtOnce() {
    bed.script(
        request -> request instanceof Grant ? NodeReply.taken(60_000, 5) : NodeReply.RELEASED);
    CompletableFuture<AcquireResult> head = call();
    CompletableFuture<AcquireResult> second = call();
    bed.script(Bed::yes);
    head.cancel(false);
    assertTrue(lease(second).isValid());
  }

  @Test
  void waitThatEndsInTheLineSaysThatNoNodeWasAsked() {
    Lease held = bed.lease(PATIENT);
    CompletableFuture<AcquireResult> call =
        bed.redlock.acquireAsync(Bed.REQUEST.waitUpTo(Duration.ofMillis(300)));
    bed.time.passMillis(299);
    assertFalse(call.isDone());
    bed.time.passMillis(1);
    AcquireResult result = Bed.now(call);
    assertInstanceOf(AcquireResult.Contended.class, result);
    assertEquals("no node was asked", result.votes().toString());
    held.close();
    bed.time.passMillis(Bed.NODE_TIMEOUT_MILLIS);
    bed.assertNothingIsLeft("gave up in line");
  }

  @Test
  void lostLeaseMovesTheLine() {
    Lease held = bed.lease(PATIENT);
    CompletableFuture<AcquireResult> next = call();
    bed.time.pass(Bed.TTL);
    assertFalse(held.isValid());
    assertTrue(lease(next).isValid());
  }

  @Test
  void singleAttemptDoesNotStandInLine() {
    bed.lease(PATIENT);
    bed.script(request -> NodeReply.taken(5_000, 9));
    AcquireResult result = Bed.now(bed.redlock.acquireAsync(Bed.REQUEST));
    assertInstanceOf(AcquireResult.Contended.class, result);
    assertEquals(6, bed.asked(Grant.class));
  }

  @Test
  void otherResourcesHaveOtherLines() {
    bed.lease(PATIENT);
    LeaseRequest other = LeaseRequest.of("orders/43", Bed.TTL).waitUpTo(Duration.ofSeconds(1));
    assertTrue(lease(bed.redlock.acquireAsync(other)).isValid());
  }

  @Test
  void severalResourcesAreLockedInOneRequestUnderSortedNames() {
    bed.script(Bed::yes);
    LeaseRequest both = LeaseRequest.ofAll(List.of("b", "a"), Bed.TTL);
    Lease lease = lease(bed.redlock.acquireAsync(both));
    assertEquals("[a, b]", lease.resources().toString());
    NodeRequest grant = bed.node(0).asked(Grant.class).get(0);
    assertEquals(List.of("app:a", "app:b"), grant.names());
    lease.close();
    assertEquals(
        List.of("app:a", "app:b"), bed.node(0).asked(NodeRequest.Release.class).get(0).names());
  }

  /** A waiter that writes down that it was told to proceed, and counts how often it is compared. */
  private static final class Waiter implements LocalQueues.Waiter {
    private static final List<String> NAMES = List.of("orders/42");

    private final String name;
    private final List<String> told;
    private final boolean isFair;
    private Runnable proceeds = () -> {};
    private int compared;

    Waiter(String name, List<String> told, boolean isFair) {
      this.name = name;
      this.told = told;
      this.isFair = isFair;
    }

    @Override
    public List<String> names() {
      return NAMES;
    }

    @Override
    public boolean isFair() {
      return isFair;
    }

    @Override
    public void proceed(long delayNanos) {
      told.add(delayNanos == 0 ? name : name + " after " + delayNanos);
      proceeds.run();
    }

    @Override
    public boolean equals(Object other) {
      compared++;
      return this == other;
    }

    @Override
    public int hashCode() {
      return name.hashCode();
    }
  }

  private final LocalQueues lines = new LocalQueues();
  private final List<String> told = new ArrayList<>();

  private Waiter waiter(String name) {
    Waiter waiter = new Waiter(name, told, false);
    lines.join(waiter);
    return waiter;
  }

  private static AttemptEnd refusal() {
    return new AttemptEnd(Decision.UNAVAILABLE, null, new Votes(List.of(), 2), -1, false, false);
  }

  @Test
  void onlyTheHeadMayAskAndOnlyWhileNoLeaseIsInTheWay() {
    Waiter first = new Waiter("first", told, false);
    Waiter second = new Waiter("second", told, false);
    assertFalse(lines.mayAsk(first));
    assertTrue(lines.join(first));
    assertFalse(lines.join(second));
    assertTrue(lines.mayAsk(first));
    assertFalse(lines.mayAsk(second));
    lines.leased(Waiter.NAMES);
    assertFalse(lines.mayAsk(first));
    lines.leased(Waiter.NAMES);
    lines.ended(Waiter.NAMES);
    assertFalse(lines.mayAsk(first));
    assertEquals(List.of(), told);
    lines.ended(Waiter.NAMES);
    assertTrue(lines.mayAsk(first));
    assertEquals(List.of("first"), told);
    lines.leave(first);
    assertTrue(lines.mayAsk(second));
    assertEquals(List.of("first", "second"), told);
  }

  @Test
  void joiningALineThatALeaseHoldsIsNoReasonToAsk() {
    lines.leased(Waiter.NAMES);
    assertFalse(lines.join(new Waiter("first", told, false)));
  }

  @Test
  void onlyTheHeadThatLeavesAFreeLineMovesIt() {
    Waiter first = waiter("first");
    Waiter second = waiter("second");
    waiter("third");
    lines.leave(second);
    assertEquals(List.of(), told);
    lines.leased(Waiter.NAMES);
    lines.leave(first);
    assertEquals(List.of(), told);
    lines.ended(Waiter.NAMES);
    assertEquals(List.of("third"), told);
  }

  @Test
  void nothingHappensToALineThatIsNotThere() {
    lines.ended(Waiter.NAMES);
    lines.leave(new Waiter("nobody", told, false));
    lines.refused(new Waiter("nobody", told, false), refusal());
    assertNull(lines.refusal(new Waiter("nobody", told, false)));
    assertEquals(List.of(), told);
  }

  @Test
  void lineIsForgottenWhenItsLastWaiterAndItsLastLeaseHaveGone() {
    assertTrue(lines.isEmpty());
    Waiter first = waiter("first");
    lines.leased(Waiter.NAMES);
    lines.leave(first);
    assertFalse(lines.isEmpty());
    lines.ended(Waiter.NAMES);
    assertTrue(lines.isEmpty());
    lines.leave(waiter("second"));
    assertTrue(lines.isEmpty());
  }

  @Test
  void leaseBesideAnotherDoesNotCountAsHandedOver() {
    waiter("first");
    for (int lease = 0; lease < 15; lease++) {
      lines.leased(Waiter.NAMES);
    }
    for (int lease = 0; lease < 15; lease++) {
      lines.ended(Waiter.NAMES);
    }
    lines.leased(Waiter.NAMES);
    lines.ended(Waiter.NAMES);
    assertEquals(List.of("first", "first"), told);
  }

  @Test
  void lineRemembersItsLastRefusalUntilALeaseIsGranted() {
    Waiter first = waiter("first");
    Waiter second = waiter("second");
    AttemptEnd refusal = refusal();
    assertNull(lines.refusal(second));
    lines.refused(first, refusal);
    assertSame(refusal, lines.refusal(second));
    lines.leased(Waiter.NAMES);
    assertNull(lines.refusal(second));
  }

  @Test
  void courtesyIsForUnfairWaitersOnly() {
    for (boolean isFair : List.of(true, false)) {
      told.clear();
      LocalQueues served = new LocalQueues();
      Waiter head = new Waiter("head", told, isFair);
      served.join(head);
      for (int lease = 0; lease < 33; lease++) {
        served.leased(Waiter.NAMES);
        served.ended(Waiter.NAMES);
      }
      assertEquals(33, told.size());
      assertEquals(
          isFair ? List.of() : List.of(15, 31),
          IntStream.range(0, 33)
              .filter(handoff -> told.get(handoff).equals("head after 2000000"))
              .boxed()
              .toList());
    }
  }

  @Test
  void headsThatLeaveWhenTheyAreToldAreFollowedInALoop() {
    Waiter head = waiter("head");
    List<Integer> depths = new ArrayList<>();
    for (int waiter = 0; waiter < 100; waiter++) {
      Waiter next = waiter(String.valueOf(waiter));
      next.proceeds =
          () -> {
            depths.add(StackWalker.getInstance().walk(frames -> (int) frames.count()));
            lines.leave(next);
          };
    }
    lines.leave(head);
    assertEquals(IntStream.range(0, 100).mapToObj(String::valueOf).toList(), told);
    assertEquals(1, depths.stream().distinct().count(), depths::toString);
  }

  @Test
  void leaseThatBeginsAndEndsWhileTheLineIsHandedOnMovesItOnce() {
    Waiter head = waiter("head");
    Waiter second = waiter("second");
    waiter("third");
    second.proceeds =
        () -> {
          lines.leased(Waiter.NAMES);
          lines.leave(second);
          assertEquals(List.of("second"), told);
          lines.ended(Waiter.NAMES);
          assertEquals(List.of("second"), told, "the loop is not left");
        };
    lines.leave(head);
    assertEquals(List.of("second", "third"), told);
  }

  @Test
  void lineThatIsLeasedWhileItIsHandedOnWaitsForThatLease() {
    Waiter head = waiter("head");
    Waiter second = waiter("second");
    waiter("third");
    second.proceeds =
        () -> {
          lines.leave(second);
          lines.leased(Waiter.NAMES);
        };
    lines.leave(head);
    assertEquals(List.of("second"), told);
    lines.ended(Waiter.NAMES);
    assertEquals(List.of("second", "third"), told);
  }

  @Test
  void waiterThatFailsToProceedIsNotTheEndOfItsLine() {
    Waiter head = waiter("head");
    Waiter second = waiter("second");
    waiter("third");
    second.proceeds =
        () -> {
          throw new AssertionError("short of memory");
        };
    assertThrows(AssertionError.class, () -> lines.leave(head));
    lines.leave(second);
    assertEquals(List.of("second", "third"), told);
  }

  @Test
  void leavingALongLineCostsTheSameAnywhere() {
    List<Waiter> waiters = new ArrayList<>();
    for (int waiter = 0; waiter < 1_000; waiter++) {
      waiters.add(waiter(String.valueOf(waiter)));
    }
    for (int waiter = 999; waiter >= 0; waiter--) {
      lines.leave(waiters.get(waiter));
    }
    int compared = waiters.stream().mapToInt(waiter -> waiter.compared).sum();
    assertTrue(compared < 1_000, compared + " comparisons");
  }
}
