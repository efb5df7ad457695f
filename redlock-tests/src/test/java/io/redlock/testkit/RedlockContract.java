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
import io.redlock.AcquireResult.By;
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
import io.redlock.LeaseReadWriteLock;
import io.redlock.LeaseRequest;
import io.redlock.LeaseStatus;
import io.redlock.LeaseTooShortException;
import io.redlock.LockNotAcquiredException;
import io.redlock.NodeStatus;
import io.redlock.NodeStatus.State;
import io.redlock.Redlock;
import io.redlock.RedlockListener;
import io.redlock.ReleaseResult;
import io.redlock.Votes.NodeVote;
import io.redlock.Votes.Vote;
import io.redlock.testbed.Await;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * What users rely on, one promise a test. Runs against nodes in memory and against real servers, in
 * real time: an upper bound of a wait is checked with much to spare, a lower one exactly.
 */
public abstract class RedlockContract {

  private static final Duration TTL = Duration.ofSeconds(20);
  private static final Duration LESS = TTL.multipliedBy(3).dividedBy(5);

  /** No call fails because the machine stands still for 3 s. */
  private static final Duration NODE_TIMEOUT = Duration.ofSeconds(5);

  /** For leases that shall run out while the test waits. */
  private static final Duration BRIEF_TTL = Duration.ofSeconds(2);

  private static final Duration BRIEF_TIMEOUT = Duration.ofMillis(400);
  private static final Duration LONG_WAIT = Duration.ofMinutes(1);

  private static final AtomicInteger RESOURCES = new AtomicInteger();

  private final String resource = "resource-" + RESOURCES.incrementAndGet();

  private DeploymentUnderTest deployment;
  private Redlock alice;
  private Redlock bob;

  /** Five masters that vote, without keys. */
  protected abstract DeploymentUnderTest open();

  @BeforeEach
  final void start() {
    deployment = open();
    alice = deployment.connect(NODE_TIMEOUT);
    bob = deployment.connect(NODE_TIMEOUT);
  }

  @AfterEach
  final void stop() {
    deployment.close();
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

  // Acquire.

  @Test
  void heldResourceIsRefusedToOthersWithTheReasonOfEachNode() throws Exception {
    acquire(alice);
    AcquireResult contended = assertContended(bob.tryAcquire(resource, TTL));
    assertTrue(contended.lease().isEmpty());
    assertEquals(NODES, contended.votes().nodes().size());
    assertTrue(contended.votes().count(Vote.REFUSED) >= 3, contended::toString);
    assertTrue(contended.votes().toString().contains("held for"), contended::toString);
  }

  @Test
  void acquiredLeaseIsValidForLessThanItsTtlAndCarriesWhatItLocks() throws Exception {
    AcquireResult acquired = alice.tryAcquire(resource, TTL);
    Lease lease = assertAcquired(acquired);
    assertTrue(lease.isValid());
    assertEquals(Set.of(resource), lease.resources());
    assertTrue(lease.remaining().compareTo(TTL) < 0, lease.remaining()::toString);
    assertTrue(acquired.votes().count(Vote.YES) >= 3, acquired::toString);
    lease.ensureValid(TTL.dividedBy(2));
    assertThrows(LeaseTooShortException.class, () -> lease.ensureValid(TTL));
    assertTrue(lease.isValid());
  }

  @Test
  void twoResourcesDoNotExcludeEachOther() throws Exception {
    acquire(alice);
    assertAcquired(bob.tryAcquire(resource + "-other", TTL));
  }

  @Test
  void everyLaterLeaseHasAHigherToken() throws Exception {
    long last = 0;
    for (int i = 0; i < 20; i++) {
      Redlock client = i % 2 == 0 ? alice : bob;
      try (Lease lease = client.acquire(resource, TTL, LONG_WAIT)) {
        assertTrue(lease.fencingToken() > last, lease.fencingToken() + " after " + last);
        last = lease.fencingToken();
      }
    }
  }

  @Test
  void failedAcquireLeavesNothing() throws Exception {
    for (int node = 0; node < 3; node++) {
      deployment.set(node, resource, "foreign", TTL);
    }
    assertContended(alice.tryAcquire(resource, TTL));
    Await.until("only the foreign keys are left", () -> deployment.holders(resource) == 3);
    assertThrows(
        LockNotAcquiredException.class, () -> alice.acquire(resource, TTL, Duration.ofMillis(100)));
    Await.until("only the foreign keys are left", () -> deployment.holders(resource) == 3);
  }

  @Test
  void minorityOfForeignKeysDoesNotExclude() throws Exception {
    deployment.set(0, resource, "foreign", TTL);
    deployment.set(4, resource, "foreign", TTL);
    Lease lease = assertAcquired(alice.tryAcquire(resource, TTL));
    assertEquals(ReleaseResult.RELEASED, lease.release());
  }

  @Test
  void refusedAcquireThrowsWithTheReasonOfEachNode() throws Exception {
    acquire(alice);
    LockNotAcquiredException refused =
        assertThrows(
            LockNotAcquiredException.class, () -> bob.acquire(resource, TTL, Duration.ZERO));
    assertContended(refused.result());
    assertTrue(refused.getMessage().startsWith("not acquired: "), refused::getMessage);
    assertTrue(refused.getMessage().contains(resource), refused::getMessage);
    for (NodeVote vote : refused.result().votes().nodes()) {
      assertTrue(refused.getMessage().contains(vote.node()), refused::getMessage);
    }
  }

  @Test
  void waitEndsWithTheLeaseAsSoonAsTheHolderReleases() throws Exception {
    Lease held = acquire(alice);
    CompletableFuture<AcquireResult> waiting =
        bob.acquireAsync(LeaseRequest.of(resource, TTL).waitUpTo(LONG_WAIT));
    assertEquals(ReleaseResult.RELEASED, held.release());
    AcquireResult result = Await.value("the waiter gets the lease", waiting);
    assertTrue(result.lease().orElseThrow().fencingToken() > held.fencingToken());
  }

  @Test
  void waitLastsAsLongAsAskedAndNotMuchLonger() throws Exception {
    acquire(alice);
    Duration maxWait = Duration.ofMillis(300);
    Await.until(
        "it does not wait much longer",
        () -> {
          long start = System.nanoTime();
          assertContended(
              bob.acquireAsync(LeaseRequest.of(resource, TTL).waitUpTo(maxWait)).join());
          Duration waited = Duration.ofNanos(System.nanoTime() - start);
          assertTrue(waited.compareTo(maxWait) >= 0, waited::toString);
          return waited.compareTo(maxWait.plus(NODE_TIMEOUT)) < 0;
        });
  }

  @Test
  void contendersExcludeEachOtherAndAllGetTheirTurn() throws Exception {
    int turns = 10;
    int[] unguarded = {0};
    AtomicInteger inside = new AtomicInteger();
    List<CompletableFuture<Void>> contenders = new ArrayList<>();
    for (int i = 0; i < 8; i++) {
      Redlock client = i % 2 == 0 ? alice : bob;
      contenders.add(
          later(
              () -> {
                for (int turn = 0; turn < turns; turn++) {
                  try (Lease lease = client.acquire(resource, TTL, LONG_WAIT)) {
                    assertEquals(1, inside.incrementAndGet());
                    unguarded[0]++;
                    assertTrue(lease.isValid());
                    inside.decrementAndGet();
                  }
                }
              }));
    }
    for (CompletableFuture<Void> contender : contenders) {
      Await.value("a contender has had its turns", contender);
    }
    assertEquals(8 * turns, unguarded[0]);
    Await.until("nothing stays locked", () -> deployment.holders(resource) == 0);
  }

  @Test
  void severalResourcesAreHadTogetherOrNotAtAll() throws Exception {
    String second = resource + "-second";
    String third = resource + "-third";
    Lease both = alice.acquire(LeaseRequest.ofAll(List.of(resource, second), TTL));
    assertEquals(Set.of(resource, second), both.resources());
    assertContended(bob.tryAcquire(LeaseRequest.ofAll(List.of(third, second), TTL)));
    Await.until("nothing of the third is left", () -> deployment.holders(third) == 0);
    assertEquals(ReleaseResult.RELEASED, both.release());
    assertAcquired(bob.tryAcquire(LeaseRequest.ofAll(List.of(third, second), TTL)));
  }

  @Test
  void oneOfSeveralResourcesIsFoundWhileOneIsFree() throws Exception {
    List<String> permits = List.of(resource + "/1", resource + "/2", resource + "/3");
    LeaseRequest one = LeaseRequest.anyOf(permits, TTL);
    List<Lease> held = new ArrayList<>();
    for (Redlock client : List.of(alice, bob, alice)) {
      held.add(client.acquire(one));
    }
    assertEquals(
        Set.copyOf(permits),
        Set.copyOf(held.stream().flatMap(lease -> lease.resources().stream()).toList()));
    assertContended(bob.tryAcquire(one));
    CompletableFuture<AcquireResult> waiting = bob.acquireAsync(one.waitUpTo(LONG_WAIT));
    assertEquals(ReleaseResult.RELEASED, held.get(2).release());
    Lease next = Await.value("the free one", waiting).lease().orElseThrow();
    assertEquals(held.get(2).resources(), next.resources());
    assertTrue(next.fencingToken() > held.get(2).fencingToken());
  }

  // First come, first served.

  @Test
  void fairWaitersAreServedInTheOrderInWhichTheyCame() throws Exception {
    Lease held = acquire(alice);
    List<Integer> served = new CopyOnWriteArrayList<>();
    List<CompletableFuture<Void>> waiting = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      int number = i;
      Redlock client = i % 2 == 0 ? bob : deployment.connect(NODE_TIMEOUT);
      waiting.add(
          client
              .acquireAsync(fair())
              .thenAccept(
                  result -> {
                    served.add(number);
                    result.lease().orElseThrow().close();
                  }));
      int places = i < 2 ? i + 1 : i; // the second of bob's has no place before his first is done
      Await.until("waiter " + i + " is in the queue", () -> queued(places));
    }
    held.release();
    for (CompletableFuture<Void> waiter : waiting) {
      Await.value("a waiter has been served", waiter);
    }
    assertEquals(List.of(0, 1, 3, 2), served);
    Await.until("nothing stays locked", () -> deployment.holders(resource) == 0);
    Await.until("nobody stays in the queue", () -> queued(0));
  }

  private boolean queued(int places) {
    return deployment.waiters(resource) == places;
  }

  @Test
  void fairWaiterIsWokenByTheReleaseAndDoesNotHaveToAskAgain() throws Exception {
    int turns = 20;
    List<CompletableFuture<Void>> contenders = new ArrayList<>();
    long start = System.nanoTime();
    for (Redlock client : List.of(alice, bob)) {
      contenders.add(
          later(
              () -> {
                for (int turn = 0; turn < turns; turn++) {
                  client.acquire(fair()).close();
                }
              }));
    }
    for (CompletableFuture<Void> contender : contenders) {
      Await.value("a contender has had its turns", contender);
    }
    Duration took = Duration.ofNanos(System.nanoTime() - start);
    assertTrue(took.compareTo(Duration.ofSeconds(turns)) < 0, took::toString);
  }

  @Test
  void fairWaiterThatGivesUpLetsTheNextPass() throws Exception {
    Lease held = acquire(alice);
    CompletableFuture<AcquireResult> first = bob.acquireAsync(fair());
    Await.until("the first waits", () -> queued(1));
    CompletableFuture<AcquireResult> second = deployment.connect(NODE_TIMEOUT).acquireAsync(fair());
    Await.until("the second waits", () -> queued(2));
    assertTrue(first.cancel(false));
    Await.until("the first has left", () -> queued(1));
    held.release();
    Await.value("the second is served", second).lease().orElseThrow().close();
    Await.until("nobody stays in the queue", () -> queued(0));
  }

  @Test
  void fairCallThatDoesNotWaitRespectsTheQueueAndLeavesNoTicket() throws Exception {
    LeaseRequest once = LeaseRequest.of(resource, TTL).fair();
    Lease lease = assertAcquired(alice.tryAcquire(once));
    assertContended(bob.tryAcquire(once));
    assertTrue(queued(0));
    assertEquals(ReleaseResult.RELEASED, lease.release());
    assertAcquired(bob.tryAcquire(once));
  }

  @Test
  void fairWaitersOfAClosedServiceLeaveTheQueue() throws Exception {
    Lease held = acquire(alice);
    bob.acquireAsync(fair());
    Await.until("bob waits", () -> queued(1));
    bob.close();
    Await.until("bob has left", () -> queued(0));
    assertTrue(held.isValid());
  }

  @Test
  void fairWaitersGoOnWithoutAMinority() throws Exception {
    takeDown(1, 3);
    Lease held = acquire(alice);
    CompletableFuture<AcquireResult> waiting = bob.acquireAsync(fair());
    Await.until("bob waits", () -> queued(1));
    held.release();
    Await.value("bob is served", waiting).lease().orElseThrow().close();
  }

  private LeaseRequest fair() {
    return waiting().fair();
  }

  // Many readers or one writer.

  private LeaseRequest reading() {
    return LeaseRequest.of(resource, TTL).shared();
  }

  private LeaseReadWriteLock readWriteLock(Redlock client) {
    return client.asReadWriteLock(LeaseRequest.of(resource, TTL).renewFor(LONG_WAIT));
  }

  @Test
  void readersShareAResourceAndNoWriterGetsItBeforeTheLastHasGone() throws Exception {
    Lease first = assertAcquired(alice.tryAcquire(reading()));
    Lease second = assertAcquired(alice.tryAcquire(reading()));
    Lease third = assertAcquired(bob.tryAcquire(reading()));
    for (Lease reader : List.of(first, second, third)) {
      assertTrue(reader.isShared());
      assertTrue(reader.isValid());
      AcquireResult refused = assertContended(bob.tryAcquire(resource, TTL));
      assertEquals(Optional.of("readers"), refused.holder());
      assertEquals(Optional.of(By.HOLDER), refused.contendedBy());
      assertEquals(ReleaseResult.RELEASED, reader.release());
    }
    assertFalse(bob.acquire(waiting()).isShared());
  }

  @Test
  void writerRefusesReadersUntilItReleases() throws Exception {
    Lease held = acquire(alice);
    assertContended(bob.tryAcquire(reading()));
    CompletableFuture<AcquireResult> waits = bob.acquireAsync(reading().waitUpTo(LONG_WAIT));
    held.release();
    assertTrue(Await.value("it reads", waits).lease().orElseThrow().isShared());
  }

  @Test
  void tokensOfReadersAreBetweenThoseOfWriters() throws Exception {
    long written = 0;
    for (int i = 0; i < 5; i++) {
      Lease writer = alice.acquire(waiting());
      assertTrue(writer.fencingToken() > written);
      written = writer.fencingToken();
      writer.release();
      List<Lease> readers = new ArrayList<>();
      for (Redlock client : List.of(alice, bob)) {
        readers.add(client.acquire(reading().waitUpTo(LONG_WAIT)));
      }
      for (Lease reader : readers) {
        assertTrue(reader.fencingToken() > written);
        written = Math.max(written, reader.fencingToken());
        reader.release();
      }
    }
  }

  @Test
  void sharedLeaseIsExtendedAsAnyOther() throws Exception {
    Lease extended = bob.acquire(reading());
    assertExtended(extended.extend(TTL));
    assertTrue(bob.operations().leases().get(0).shared());
    extended.release();
  }

  @Test
  void readerNeverPassesAWriterThatWaitsFairly() throws Exception {
    Lease reads = alice.acquire(reading());
    CompletableFuture<AcquireResult> writes = bob.acquireAsync(fair());
    Await.until("it waits", () -> queued(1));
    AcquireResult refused = assertContended(alice.tryAcquire(reading()));
    assertTrue(refused.votes().toString().contains("first in the queue"), refused::toString);
    CompletableFuture<AcquireResult> readsLater = alice.acquireAsync(fair().shared());
    Await.until("both wait", () -> queued(2));
    reads.release();
    Lease written = Await.value("it writes", writes).lease().orElseThrow();
    assertFalse(readsLater.isDone());
    written.release();
    assertTrue(Await.value("it reads", readsLater).lease().orElseThrow().isValid());
  }

  @Test
  void allReadersOfAllProcessesReadAtOnceWhenTheWriterHasGone() throws Exception {
    Lease held = acquire(deployment.connect(NODE_TIMEOUT)); // its own readers would ask no node
    List<CompletableFuture<AcquireResult>> readers = new ArrayList<>();
    for (int i = 0; i < 100; i++) {
      readers.add((i % 2 == 0 ? alice : bob).acquireAsync(fair().shared()));
    }
    Await.until("one of each process waits at the nodes", () -> queued(2));
    held.release();
    for (CompletableFuture<AcquireResult> reader : readers) {
      assertTrue(Await.value("it reads", reader).lease().orElseThrow().isValid());
    }
    Inspection inspection = bob.operations().inspect(resource);
    assertEquals(100, inspection.reading(), inspection::toString);
    assertTrue(inspection.summary().contains("is held by 100 readers"), inspection::summary);
    for (CompletableFuture<AcquireResult> reader : readers) {
      reader.join().lease().orElseThrow().close();
    }
    Await.until("nothing stays locked", () -> deployment.holders(resource) == 0);
    Await.until("nobody stays in the queue", () -> queued(0));
  }

  @Test
  void inspectionNamesTheReadersAndTheirTimes() throws Exception {
    List<Lease> readers = List.of(alice.acquire(reading()), bob.acquire(reading()));
    Inspection inspection = bob.operations().inspect(resource);
    assertEquals(Held.YES, inspection.held(), inspection::toString);
    assertEquals(Optional.of("readers"), inspection.holder());
    assertEquals(2, inspection.readers().size(), inspection::toString);
    for (Inspection.Reader reader : inspection.readers()) {
      assertTrue(reader.remaining().compareTo(TTL) <= 0);
      assertTrue(reader.remaining().compareTo(Duration.ZERO) > 0);
    }
    assertTrue(inspection.toString().contains("more by 2 readers"), inspection::toString);
    readers.get(0).release();
    Await.until("one is left", () -> bob.operations().inspectAsync(resource).join().reading() == 1);
  }

  @Test
  void allReadersLearnThatTheResourceWasSetFree() throws Exception {
    Redlock brief = deployment.connect(BRIEF_TIMEOUT);
    Await.inTime(
        BRIEF_TTL,
        ttl -> {
          LeaseRequest request = brief(ttl).shared().renewFor(Duration.ofMinutes(10));
          List<List<LeaseEnd>> ends = new ArrayList<>();
          for (int i = 0; i < 3; i++) {
            ends.add(endsOf(brief.acquire(request)));
          }
          long token = brief.operations().leases().get(0).fencingToken();
          FreeResult one = bob.operations().free(resource, token);
          assertEquals(FreeResult.Outcome.OTHER_HOLDER, one.outcome(), one::toString);
          FreeResult freed = bob.operations().free(resource);
          assertEquals(FreeResult.Outcome.FREED, freed.outcome(), freed::toString);
          for (List<LeaseEnd> each : ends) {
            Await.until("the loss is told", () -> !each.isEmpty());
            assertEquals(List.of(Cause.REFUSED), causes(each));
            assertTrue(each.get(0).detail().startsWith("an operator set it free"), each::toString);
          }
          return ends;
        });
    assertFalse(bob.acquire(waiting()).isShared());
  }

  @Test
  void threadsReadTogetherUnderTheReadLockAndOneWrites() throws Exception {
    LeaseReadWriteLock lock = readWriteLock(alice);
    lock.readLock().lock();
    Await.value(
        "another thread reads",
        later(
            () -> {
              assertTrue(lock.readLock().tryLock());
              assertTrue(lock.readLock().lease().isShared());
              assertFalse(readWriteLock(bob).writeLock().tryLock());
              lock.readLock().unlock();
            }));
    assertThrows(IllegalStateException.class, lock.writeLock()::lock);
    lock.readLock().unlock();
    lock.writeLock().lock();
    Await.value("nobody reads", later(() -> assertFalse(lock.readLock().tryLock())));
    lock.writeLock().unlock();
  }

  @Test
  void writerThatReadsOnExcludesOthersUntilItHasUnlockedBoth() throws Exception {
    LeaseReadWriteLock lock = readWriteLock(alice);
    lock.writeLock().lock();
    Lease lease = lock.writeLock().lease();
    lock.readLock().lock();
    assertSame(lease, lock.readLock().lease());
    lock.writeLock().unlock();
    assertFalse(lease.isShared());
    assertContended(bob.tryAcquire(reading()));
    lock.readLock().unlock();
    assertAcquired(bob.tryAcquire(reading().waitUpTo(LONG_WAIT)));
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

  // Interrupt and cancel.

  @Test
  void interruptEndsTheWaitAndLeavesNothingLocked() throws Exception {
    Lease held = acquire(alice);
    AtomicReference<Thread> thread = new AtomicReference<>();
    CompletableFuture<Void> waiting =
        later(
            () -> {
              thread.set(Thread.currentThread());
              assertThrows(InterruptedException.class, () -> bob.acquire(resource, TTL, LONG_WAIT));
            });
    Await.until("the waiter waits", () -> isWaiting(thread.get()));
    thread.get().interrupt();
    Await.value("the wait ends with an InterruptedException", waiting);
    held.release();
    Await.until("nothing stays locked", () -> deployment.holders(resource) == 0);
    acquireSoon(alice);
  }

  @Test
  void interruptedThreadAcquiresNothing() {
    Thread.currentThread().interrupt();
    assertThrows(InterruptedException.class, () -> alice.tryAcquire(resource, TTL));
    assertFalse(Thread.currentThread().isInterrupted());
    assertEquals(0, deployment.holders(resource));
  }

  @Test
  void cancelLeavesNothingLockedWheneverItComes() throws Exception {
    for (int i = 0; i < 50; i++) {
      CompletableFuture<AcquireResult> acquiring =
          alice.acquireAsync(LeaseRequest.of(resource, TTL).waitUpTo(LONG_WAIT));
      if (!acquiring.cancel(true)) {
        acquiring.join().lease().orElseThrow().close();
      }
    }
    Await.until("nothing stays locked", () -> deployment.holders(resource) == 0);
    assertEquals(ReleaseResult.RELEASED, acquireSoon(bob).release());
  }

  @Test
  void cancelledWaiterDoesNotTakeItsTurn() throws Exception {
    Lease held = acquire(alice);
    CompletableFuture<AcquireResult> waiting =
        bob.acquireAsync(LeaseRequest.of(resource, TTL).waitUpTo(LONG_WAIT));
    assertTrue(waiting.cancel(false));
    held.release();
    Await.until("nothing stays locked", () -> deployment.holders(resource) == 0);
    acquireSoon(alice);
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

  private Lease acquire(Redlock client) throws InterruptedException {
    return client.acquire(resource, TTL, Duration.ZERO);
  }

  /** What others asked for and gave up may still be on its way to the nodes, and back. */
  private Lease acquireSoon(Redlock client) throws InterruptedException {
    return client.acquire(resource, TTL, TTL.dividedBy(2));
  }

  private LeaseRequest waiting() {
    return LeaseRequest.of(resource, TTL).waitUpTo(LONG_WAIT);
  }

  private LeaseRequest brief() {
    return brief(BRIEF_TTL);
  }

  private LeaseRequest brief(Duration ttl) {
    return LeaseRequest.of(resource, ttl).waitUpTo(LONG_WAIT);
  }

  private void takeDown(int... nodes) {
    for (int node : nodes) {
      deployment.takeDown(node);
    }
  }

  private static List<LeaseEnd> endsOf(Lease lease) {
    List<LeaseEnd> ends = new CopyOnWriteArrayList<>();
    lease.ended().thenAccept(ends::add);
    return ends;
  }

  private static List<Cause> causes(List<LeaseEnd> ends) {
    return ends.stream().map(LeaseEnd::cause).toList();
  }

  private static List<String> names(List<NodeStatus> nodes) {
    return nodes.stream().map(NodeStatus::name).toList();
  }

  private List<String> names(int count) {
    return IntStream.range(0, count).mapToObj(i -> resource + "/" + i).toList();
  }

  private static boolean isWaiting(Thread thread) {
    return thread != null
        && (thread.getState() == Thread.State.WAITING
            || thread.getState() == Thread.State.TIMED_WAITING);
  }

  /** Something to do that may throw. */
  private interface Action {
    void run() throws Exception;
  }

  private static CompletableFuture<Void> later(Action action) {
    CompletableFuture<Void> done = new CompletableFuture<>();
    Thread thread =
        new Thread(
            () -> {
              try {
                action.run();
                done.complete(null);
              } catch (Throwable e) {
                done.completeExceptionally(e);
              }
            },
            "contract");
    thread.setDaemon(true);
    thread.start();
    return done;
  }
}
