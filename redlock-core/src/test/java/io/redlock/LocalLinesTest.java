package io.redlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.NodeRequest.Grant;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

class LocalLinesTest {

  private static final LeaseRequest PATIENT = Bed.REQUEST.waitUpTo(Duration.ofMinutes(5));

  private final Bed bed = new Bed(3);

  private CompletableFuture<AcquireResult> call() {
    return bed.redlock.acquireAsync(PATIENT);
  }

  private static Lease lease(CompletableFuture<AcquireResult> call) {
    return Bed.now(call).lease().orElseThrow();
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
}
