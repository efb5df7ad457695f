package io.redlock.testkit;

import static io.redlock.testbed.Results.assertAcquired;
import static io.redlock.testbed.Results.assertContended;
import static io.redlock.testbed.Results.assertLost;
import static io.redlock.testbed.Results.assertUnavailable;
import static io.redlock.testkit.DeploymentUnderTest.NODES;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.AcquireResult;
import io.redlock.ExtendResult;
import io.redlock.FreeResult;
import io.redlock.Inspection;
import io.redlock.Inspection.Answer;
import io.redlock.Inspection.Held;
import io.redlock.Lease;
import io.redlock.LeaseEnd;
import io.redlock.LeaseEnd.Cause;
import io.redlock.LeaseLostException;
import io.redlock.LeaseRequest;
import io.redlock.LeaseStatus;
import io.redlock.LockNotAcquiredException;
import io.redlock.NodeStatus;
import io.redlock.NodeStatus.State;
import io.redlock.Redlock;
import io.redlock.RedlockListener;
import io.redlock.ReleaseResult;
import io.redlock.Votes.Vote;
import io.redlock.testbed.Await;
import java.time.Duration;
import java.util.List;
import java.util.OptionalLong;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** What a lease is worth, how it ends, and what operators see and do. */
public abstract class LeaseContract extends RedlockContract {

  @TestFactory
  Stream<DynamicTest> scenes() {
    return scenes("Lease.txt");
  }

  // Looks.

  @Test
  void inspectionTellsWhoHoldsAResourceAndTakesNothing() throws Exception {
    assertEquals(Held.NO, bob.operations().inspect(resource).held());
    Lease lease = acquire(alice);
    Inspection inspection = Await.value("the answers", bob.operations().inspectAsync(resource));
    assertEquals(Held.YES, inspection.held(), inspection::toString);
    assertEquals(resource, inspection.resource());
    assertEquals(NODES, inspection.nodes().size());
    assertEquals(3, inspection.quorum());
    assertEquals(OptionalLong.of(lease.fencingToken()), inspection.token());
    assertTrue(inspection.remaining().orElseThrow().compareTo(TTL) <= 0, inspection::toString);
    assertTrue(inspection.remaining().orElseThrow().compareTo(lease.remaining()) > 0);
    assertTrue(lease.isValid());
    lease.release();
    Await.until(
        "it is free", () -> bob.operations().inspectAsync(resource).join().held() == Held.NO);
    assertEquals(0, deployment.holders(resource));
  }

  @Test
  void inspectionNamesTheNodesThatCannotTell() throws Exception {
    acquire(alice);
    for (int node = 0; node < 3; node++) {
      deployment.takeDown(node);
      int down = node;
      Await.until("it is seen", () -> bob.operations().nodes().get(down).state() != State.UP);
    }
    Inspection inspection = bob.operations().inspect(resource);
    assertEquals(Held.UNKNOWN, inspection.held(), inspection::toString);
    assertEquals(Answer.NONE, inspection.nodes().get(0).answer());
    assertFalse(inspection.nodes().get(0).detail().isEmpty());
  }

  @Test
  void leasesListsWhatIsHeldHereAndNothingElse() throws Exception {
    assertEquals(List.of(), alice.operations().leases());
    Lease lease = acquire(alice);
    LeaseStatus status = alice.operations().leases().get(0);
    assertEquals(lease.fencingToken(), status.fencingToken());
    assertEquals(lease.resources(), status.resources());
    assertTrue(status.remaining().compareTo(lease.remaining()) >= 0);
    assertEquals(1, status.holds());
    assertFalse(status.renewed());
    assertEquals(List.of(), bob.operations().leases());
    lease.release();
    assertEquals(List.of(), alice.operations().leases());
  }

  // Bad arguments.

  @Test
  void badArgumentFailsBeforeAnythingIsSent() {
    rejects("blank", LeaseRequest.of("  ", TTL));
    rejects("512", LeaseRequest.of("x".repeat(513), TTL));
    rejects("reserved", LeaseRequest.of("redlock:x", TTL));
    rejects("positive", LeaseRequest.of(resource, Duration.ZERO));
    rejects("positive", LeaseRequest.of(resource, Duration.ofSeconds(-1)));
    rejects("31s", LeaseRequest.of(resource, Duration.ofSeconds(31)));
    rejects("nodeTimeout", LeaseRequest.of(resource, NODE_TIMEOUT.multipliedBy(2)));
    rejects("name 1 to 1000", LeaseRequest.anyOf(List.of(), TTL));
    rejects("1001 resources", LeaseRequest.anyOf(names(1_001), TTL));
    rejects("17 resources", LeaseRequest.ofAll(names(17), TTL));
    rejects("fair() with 2 resources", LeaseRequest.ofAll(names(2), TTL).fair());
    rejects("fair() with anyOf()", LeaseRequest.anyOf(names(2), TTL).fair());
    rejects("shared() with 2 resources", LeaseRequest.ofAll(names(2), TTL).shared());
    rejects("shared() with anyOf()", LeaseRequest.anyOf(names(2), TTL).shared());
    rejects("renewFor 0s is not positive", LeaseRequest.of(resource, TTL).renewFor(Duration.ZERO));
    rejects("negative", LeaseRequest.of(resource, TTL).waitUpTo(Duration.ofMillis(-1)));
    assertEquals(0, deployment.holders(resource));
  }

  @Test
  void everyFaultOfARequestIsNamedAtOnce() {
    IllegalArgumentException refused =
        rejects("blank", LeaseRequest.of("", Duration.ZERO).waitUpTo(Duration.ofMillis(-1)));
    assertTrue(refused.getMessage().contains("positive"), refused::getMessage);
    assertTrue(refused.getMessage().contains("negative"), refused::getMessage);
  }

  @Test
  void badTtlOfAnExtendLeavesTheLeaseAsItWas() throws Exception {
    Lease lease = acquire(alice);
    assertThrows(IllegalArgumentException.class, () -> lease.extend(Duration.ofSeconds(31)));
    assertThrows(IllegalArgumentException.class, () -> lease.extendAsync(Duration.ZERO));
    assertTrue(lease.isValid());
  }

  private IllegalArgumentException rejects(String word, LeaseRequest request) {
    assertThrows(IllegalArgumentException.class, () -> alice.acquireAsync(request));
    assertThrows(IllegalArgumentException.class, () -> alice.acquire(request));
    IllegalArgumentException refused =
        assertThrows(IllegalArgumentException.class, () -> alice.tryAcquire(request));
    assertTrue(refused.getMessage().contains(word), refused::getMessage);
    return refused;
  }

  // Release and end.

  @Test
  void leaseThatIsNotExtendedIsLostBeforeOthersCanHaveIt() throws Exception {
    Lease lease = deployment.connect(BRIEF_TIMEOUT).acquire(brief());
    List<LeaseEnd> ends = endsOf(lease);
    Lease next = bob.acquire(waiting());
    assertFalse(lease.isValid());
    assertThrows(LeaseLostException.class, () -> lease.ensureValid(Duration.ZERO));
    Await.until("the loss is told", () -> !ends.isEmpty());
    assertEquals(List.of(Cause.EXPIRED), causes(ends));
    assertLost(lease.extend(TTL));
    assertTrue(next.fencingToken() > lease.fencingToken());
    assertTrue(next.isValid());
  }

  // Extend and renew.

  @Test
  void renewedLeasesOutliveTheirTtlUntilTheyAreReleased() throws Exception {
    Duration ttl = Duration.ofSeconds(8); // renewed in time by a machine that stands still for 3 s
    Redlock holder = deployment.connect(ttl.dividedBy(4));
    LeaseRequest renewed =
        LeaseRequest.of(resource, ttl).waitUpTo(LONG_WAIT).renewFor(Duration.ofMinutes(5));
    Lease lease = holder.acquire(renewed);
    String read = resource + "-read";
    Lease reader =
        holder.acquire(LeaseRequest.of(read, ttl).shared().renewFor(Duration.ofMinutes(5)));
    Duration longer = ttl.multipliedBy(5).dividedBy(4);
    assertContended(bob.tryAcquire(LeaseRequest.of(resource, TTL).waitUpTo(longer)));
    assertContended(bob.tryAcquire(read, TTL));
    assertTrue(lease.isValid());
    assertTrue(reader.isValid());
    lease.release();
    assertEquals(ReleaseResult.RELEASED, reader.release());
    assertTrue(bob.acquire(waiting()).isValid());
  }

  @Test
  void renewedLeaseIsNotHeldForLongerThanAllowed() throws Exception {
    Redlock holder = deployment.connect(BRIEF_TIMEOUT);
    Duration ttl = BRIEF_TTL;
    Cause cause = Cause.EXPIRED;
    while (cause == Cause.EXPIRED && ttl.compareTo(TTL) < 0) { // anew if it was renewed too late
      Lease lease = holder.acquire(brief(ttl).renewFor(BRIEF_TTL));
      cause = Await.value("the lease ends", lease.ended().toCompletableFuture()).cause();
      ttl = ttl.multipliedBy(2);
    }
    assertEquals(Cause.RENEWAL_ENDED, cause);
    assertTrue(bob.acquire(waiting()).isValid());
  }

  // Bodies and locks.

  @Test
  void bodyRunsUnderTheLeaseWhichIsReleasedAfterIt() throws Exception {
    String told =
        alice.callLeased(
            waiting(),
            lease -> {
              assertTrue(lease.isValid());
              assertContended(bob.tryAcquire(resource, TTL));
              return "done";
            });
    assertEquals("done", told);
    Await.until("nothing stays locked", () -> deployment.holders(resource) == 0);
  }

  @Test
  void bodyIsNotRunWithoutTheLease() throws Exception {
    acquire(alice);
    assertThrows(
        LockNotAcquiredException.class,
        () ->
            bob.callLeased(
                LeaseRequest.of(resource, TTL),
                lease -> {
                  throw new AssertionError("ran without the lease");
                }));
  }

  @Test
  void failureOfTheBodyIsNeverMasked() {
    Exception mine = new Exception("of the body");
    Exception thrown =
        assertThrows(
            Exception.class,
            () ->
                alice.callLeased(
                    waiting(),
                    lease -> {
                      throw mine;
                    }));
    assertSame(mine, thrown);
    Await.until("nothing stays locked", () -> deployment.holders(resource) == 0);
  }

  @Test
  void failureOfTheBodyIsNotMaskedByAReleaseThatFails() {
    Error mine = new Error("of the body");
    Error thrown =
        assertThrows(
            Error.class,
            () ->
                alice.callLeased(
                    waiting(),
                    lease -> {
                      takeDown(0, 1, 2, 3, 4);
                      throw mine;
                    }));
    assertSame(mine, thrown);
  }

  @Test
  void bodyThatOutlivesItsLeaseIsToldSo() {
    Redlock brief = deployment.connect(BRIEF_TIMEOUT);
    assertThrows(
        LeaseLostException.class,
        () ->
            brief.callLeased(
                brief(),
                lease -> {
                  Await.until("the lease is lost", () -> !lease.isValid());
                  return "too late";
                }));
  }

  // Set free by an operator.

  @Test
  void holderThatIsSetFreeLearnsItAndTheNextComesAfterItsDeadline() throws Exception {
    Redlock holder = deployment.connect(BRIEF_TIMEOUT);
    Lease lease =
        Await.inTime(
            BRIEF_TTL,
            ttl -> {
              Lease held = holder.acquire(brief(ttl));
              List<LeaseEnd> ends = endsOf(held);
              FreeResult freed = bob.operations().free(resource);
              assertEquals(FreeResult.Outcome.FREED, freed.outcome(), freed::toString);
              assertEquals(NODES, freed.votes().count(Vote.YES), freed::toString);
              Duration left = held.remaining();
              assertTrue(freed.grantableIn().orElseThrow().compareTo(left) > 0, freed::toString);
              assertContended(bob.tryAcquire(resource, TTL));
              assertLost(held.extend(ttl));
              Await.until("the loss is told", () -> !ends.isEmpty());
              assertEquals(List.of(Cause.REFUSED), causes(ends));
              assertTrue(ends.get(0).detail().startsWith("an operator set it free"));
              return held;
            });
    Lease next = bob.acquire(waiting());
    assertTrue(next.fencingToken() > lease.fencingToken());
    assertTrue(next.isValid());
  }

  @Test
  void renewedLeaseThatIsSetFreeIsLostWithItsNextRenewal() throws Exception {
    Redlock holder = deployment.connect(BRIEF_TIMEOUT);
    Await.inTime(
        BRIEF_TTL,
        ttl -> {
          Lease lease = holder.acquire(brief(ttl).renewFor(Duration.ofMinutes(10)));
          List<LeaseEnd> ends = endsOf(lease);
          FreeResult freed = bob.operations().free(resource, lease.fencingToken());
          assertEquals(FreeResult.Outcome.FREED, freed.outcome(), freed::toString);
          Await.until("the loss is told", () -> !ends.isEmpty());
          assertEquals(List.of(Cause.REFUSED), causes(ends));
          assertTrue(ends.get(0).detail().startsWith("an operator set it free"), ends::toString);
          assertFalse(lease.isValid());
          return lease;
        });
  }

  @Test
  void fairWaiterKeepsItsPlaceWhenTheResourceIsSetFree() throws Exception {
    Redlock holder = deployment.connect(BRIEF_TIMEOUT);
    record Freed(Lease lease, CompletableFuture<AcquireResult> waiter) {}
    Freed freed =
        Await.inTime(
            BRIEF_TTL,
            ttl -> {
              String name = resource + " for " + ttl;
              Lease lease = holder.acquire(LeaseRequest.of(name, ttl).waitUpTo(LONG_WAIT));
              CompletableFuture<AcquireResult> waiter =
                  alice.acquireAsync(LeaseRequest.of(name, TTL).waitUpTo(LONG_WAIT).fair());
              Await.until("it waits", ttl, () -> deployment.waiters(name) == 1);
              assertEquals(FreeResult.Outcome.FREED, bob.operations().free(name).outcome());
              assertEquals(1, deployment.waiters(name));
              return new Freed(lease, waiter);
            });
    Lease next = assertAcquired(freed.waiter.get());
    assertTrue(next.fencingToken() > freed.lease.fencingToken());
    assertFalse(freed.lease.isValid());
  }

  // Nodes that are dead.

  @Test
  void allNodesDeadEndsTheCallWithinOneNodeTimeout() throws Exception {
    takeDown(0, 1, 2, 3, 4);
    Await.until(
        "it ends within a node timeout",
        () -> {
          long start = System.nanoTime();
          assertUnavailable(alice.acquireAsync(LeaseRequest.of(resource, TTL)).join());
          return System.nanoTime() - start < NODE_TIMEOUT.toNanos();
        });
  }

  @Test
  void clientStartsWhileNodesAreDeadAndSaysWhich() throws Exception {
    takeDown(2, 4);
    Redlock late = deployment.connect(NODE_TIMEOUT);
    assertAcquired(late.tryAcquire(resource, TTL));
    List<NodeStatus> nodes = late.operations().nodes();
    assertEquals(alice.operations().nodes().stream().map(NodeStatus::name).toList(), names(nodes));
    Await.until(
        "node 2 is known to be dead", () -> late.operations().nodes().get(2).state() == State.DOWN);
    assertFalse(
        late.operations().nodes().get(2).reason().orElse("").isBlank(),
        late.operations().nodes()::toString);
    assertEquals(State.UP, late.operations().nodes().get(0).state());
  }

  // The service itself.

  @Test
  void listenerIsToldAndItsFailuresAreContained() throws Exception {
    Queue<String> told = new ConcurrentLinkedQueue<>();
    Redlock watched =
        deployment.connect(
            NODE_TIMEOUT,
            new RedlockListener() {
              @Override
              public void onAcquire(LeaseRequest request, AcquireResult result, Duration took) {
                told.add("acquire " + result.outcome());
                throw new IllegalStateException("thrown by a listener, on purpose");
              }

              @Override
              public void onExtend(Lease lease, ExtendResult result, Duration took) {
                told.add("extend " + result.outcome());
              }

              @Override
              public void onEnd(Lease lease, LeaseEnd end, Duration held) {
                told.add("end " + end.cause());
              }
            });
    Lease lease = acquire(watched);
    lease.extend(TTL);
    lease.release();
    Await.until(
        "the listener was told of everything",
        () ->
            Set.copyOf(told).equals(Set.of("acquire ACQUIRED", "extend EXTENDED", "end RELEASED")));
  }
}
