package io.redlock.testkit;

import static io.redlock.testbed.Results.assertAcquired;
import static io.redlock.testbed.Results.assertContended;
import static io.redlock.testbed.Results.assertExtended;
import static io.redlock.testbed.Results.assertLost;
import static io.redlock.testbed.Results.assertUnavailable;
import static io.redlock.testbed.Results.assertUnknown;
import static io.redlock.testkit.DeploymentUnderTest.NODES;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
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
import io.redlock.LeaseLock;
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
import org.junit.jupiter.api.Test;

/** What a lease is worth, how it ends, and what operators see and do. */
public abstract class LeaseContract extends RedlockContract {

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
  void releaseFreesTheResourceForTheNext() throws Exception {
    Lease lease = acquire(alice);
    assertEquals(ReleaseResult.RELEASED, lease.release());
    assertFalse(lease.isValid());
    assertEquals(Duration.ZERO, lease.remaining());
    assertThrows(LeaseLostException.class, () -> lease.ensureValid(Duration.ZERO));
    assertAcquired(bob.acquireAsync(waiting()).get());
  }

  @Test
  void releasedLeaseEndsOnceAndReleasingItAgainHarmsNobody() throws Exception {
    Lease lease = acquire(alice);
    List<LeaseEnd> ends = endsOf(lease);
    lease.release();
    lease.close();
    Lease next = bob.acquire(waiting());
    lease.release();
    lease.releaseAsync().get();
    assertTrue(next.isValid());
    assertContended(alice.tryAcquire(resource, TTL));
    Await.until("the end is told", () -> !ends.isEmpty());
    assertEquals(List.of(Cause.RELEASED), causes(ends));
  }

  @Test
  void closeReleasesInTheBackground() throws Exception {
    try (Lease lease = acquire(alice)) {
      assertTrue(lease.isValid());
    }
    Await.until("nothing stays locked", () -> deployment.holders(resource) == 0);
  }

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
  void extendLengthensAndKeepsTheToken() throws Exception {
    Lease lease = alice.acquire(resource, LESS, Duration.ZERO);
    long token = lease.fencingToken();
    Duration remaining = assertExtended(lease.extend(TTL));
    assertTrue(remaining.compareTo(LESS) > 0, remaining::toString);
    assertTrue(lease.remaining().compareTo(LESS) > 0, lease.remaining()::toString);
    assertEquals(token, lease.fencingToken());
    assertContended(bob.tryAcquire(resource, TTL));
  }

  @Test
  void extendByLessNeverShortens() throws Exception {
    Lease lease = acquire(alice);
    assertExtended(lease.extendAsync(LESS).get());
    assertTrue(lease.remaining().compareTo(LESS) > 0, lease.remaining()::toString);
  }

  @Test
  void releasedLeaseCannotBeExtended() throws Exception {
    Lease lease = acquire(alice);
    lease.release();
    assertThrows(IllegalStateException.class, () -> lease.extend(TTL));
    assertThrows(IllegalStateException.class, () -> lease.extendAsync(TTL));
    Await.until("nothing stays locked", () -> deployment.holders(resource) == 0);
  }

  @Test
  void extendHealsTheLeaseOnNodesThatNeverHadIt() throws Exception {
    deployment.set(0, resource, "foreign", TTL);
    Lease lease = acquire(alice);
    Await.until("the other nodes hold the lease", () -> deployment.holders(resource) == NODES);
    deployment.set(0, resource, "foreign", Duration.ofMillis(1));
    Await.until("the foreign key runs out", () -> deployment.holders(resource) == NODES - 1);
    assertExtended(lease.extend(TTL));
    Await.until("all nodes hold the lease", () -> deployment.holders(resource) == NODES);
  }

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

  @Test
  void lockIsReentrantAndExcludesUntilTheLastUnlock() throws Exception {
    LeaseLock lock = alice.asLock(LeaseRequest.of(resource, TTL).renewFor(Duration.ofMinutes(1)));
    lock.lock();
    long token = lock.lease().fencingToken();
    assertTrue(lock.tryLock());
    assertEquals(token, lock.lease().fencingToken());
    Await.value("another thread is refused", later(() -> assertFalse(lock.tryLock())));
    lock.unlock();
    assertContended(bob.tryAcquire(resource, TTL));
    lock.unlock();
    assertThrows(IllegalMonitorStateException.class, lock::unlock);
    assertAcquired(bob.tryAcquire(waiting()));
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
  void wrongTokenSetsNothingFree() throws Exception {
    Lease lease = acquire(alice);
    for (long wrong : new long[] {lease.fencingToken() - 1, lease.fencingToken() + 1}) {
      FreeResult result = bob.operations().free(resource, wrong);
      assertEquals(FreeResult.Outcome.OTHER_HOLDER, result.outcome(), result::toString);
    }
    assertExtended(lease.extend(TTL));
    assertEquals(ReleaseResult.RELEASED, lease.release());
  }

  @Test
  void resourceThatIsSetFreeTwiceOrByTwoAtOnceIsFreeOnce() throws Exception {
    Lease lease = acquire(alice);
    CompletableFuture<FreeResult> one = alice.operations().freeAsync(resource);
    CompletableFuture<FreeResult> two = bob.operations().freeAsync(resource, lease.fencingToken());
    for (FreeResult result : List.of(one.get(), two.get(), bob.operations().free(resource))) {
      assertEquals(FreeResult.Outcome.FREED, result.outcome(), result::toString);
    }
    assertLost(lease.extend(TTL));
  }

  @Test
  void resourceThatNobodyHoldsNeedsNotBeSetFree() throws Exception {
    FreeResult result = bob.operations().free(resource);
    assertEquals(FreeResult.Outcome.NOT_HELD, result.outcome(), result::toString);
    assertEquals(Duration.ZERO, result.grantableIn().orElseThrow());
    assertAcquired(alice.tryAcquire(resource, TTL));
  }

  @Test
  void minorityOfDeadNodesDoesNotKeepAnOperatorFromSettingFree() throws Exception {
    takeDown(0, 1);
    Lease lease = acquire(alice);
    assertEquals(FreeResult.Outcome.FREED, bob.operations().free(resource).outcome());
    assertLost(lease.extend(TTL));
  }

  @Test
  void withoutAMajorityNothingIsSetFreeForSure() throws Exception {
    Lease lease = acquire(alice);
    takeDown(0, 1, 2);
    FreeResult result = bob.operations().free(resource);
    assertEquals(FreeResult.Outcome.UNKNOWN, result.outcome(), result::toString);
    assertTrue(result.grantableIn().isEmpty());
    assertTrue(lease.isValid());
  }

  @Test
  void holderCannotJoinNodesThatNeverHadItsLease() throws Exception {
    deployment.set(0, resource, "foreign", TTL);
    deployment.set(1, resource, "foreign", TTL);
    Lease lease = acquire(alice);
    Await.until("the other nodes hold the lease", () -> deployment.holders(resource) == NODES);
    deployment.set(0, resource, "foreign", Duration.ofMillis(1));
    deployment.set(1, resource, "foreign", Duration.ofMillis(1));
    Await.until("the foreign keys are gone", () -> deployment.holders(resource) == 3);
    takeDown(3, 4);
    FreeResult result = bob.operations().free(resource);
    assertEquals(FreeResult.Outcome.FREED, result.outcome(), result::toString);
    assertLost(lease.extend(TTL));
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
  void minorityOfDeadNodesChangesNothing() throws Exception {
    takeDown(1, 3);
    Lease lease = acquire(alice);
    assertExtended(lease.extend(TTL));
    assertContended(bob.tryAcquire(resource, TTL));
    assertEquals(ReleaseResult.RELEASED, lease.release());
    assertEquals(ReleaseResult.RELEASED, bob.acquire(waiting()).release());
  }

  @Test
  void majorityOfDeadNodesIsAResultThatNamesEachAndLeavesNothing() throws Exception {
    takeDown(0, 2, 4);
    AcquireResult result = assertUnavailable(alice.tryAcquire(resource, TTL));
    assertEquals(NODES, result.votes().nodes().size());
    for (NodeStatus node : alice.operations().nodes()) {
      assertTrue(result.votes().toString().contains(node.name()), result::toString);
    }
    Await.until("nothing stays locked", () -> deployment.holders(resource) == 0);
  }

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

  @Test
  void extendWithoutAQuorumIsUnknownAndTheLeaseKeepsItsDeadline() throws Exception {
    Lease lease = acquire(alice);
    takeDown(0, 1, 2);
    assertUnknown(lease.extend(TTL));
    assertTrue(lease.isValid());
    assertEquals(ReleaseResult.UNCONFIRMED, lease.release());
    Await.until("the living are free", () -> deployment.holders(resource) == 0);
  }

  // The service itself.

  @Test
  void closedServiceRefusesAndEndsWhatWaits() throws Exception {
    Lease held = acquire(alice);
    CompletableFuture<AcquireResult> waiting =
        bob.acquireAsync(LeaseRequest.of(resource, TTL).waitUpTo(LONG_WAIT));
    bob.close();
    bob.close();
    AssertionError failed =
        assertThrows(AssertionError.class, () -> Await.value("the wait ends", waiting));
    assertInstanceOf(IllegalStateException.class, failed.getCause());
    assertThrows(IllegalStateException.class, () -> bob.tryAcquire(resource, TTL));
    assertTrue(held.isValid());
  }

  @Test
  void closingTheServiceEndsItsLeasesAndReleasesNothing() throws Exception {
    Lease lease = acquire(alice);
    List<LeaseEnd> ends = endsOf(lease);
    alice.close();
    assertFalse(lease.isValid());
    Await.until("the end is told", () -> !ends.isEmpty());
    assertEquals(List.of(Cause.CLOSED), causes(ends));
    assertContended(bob.tryAcquire(resource, TTL));
  }

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
