package io.redlock.testkit;

import static io.redlock.testbed.Results.assertAcquired;
import static io.redlock.testbed.Results.assertContended;
import static io.redlock.testbed.Results.assertExtended;
import static io.redlock.testkit.DeploymentUnderTest.NODES;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.AcquireResult;
import io.redlock.AcquireResult.By;
import io.redlock.FreeResult;
import io.redlock.Inspection;
import io.redlock.Inspection.Held;
import io.redlock.Lease;
import io.redlock.LeaseEnd;
import io.redlock.LeaseEnd.Cause;
import io.redlock.LeaseReadWriteLock;
import io.redlock.LeaseRequest;
import io.redlock.LeaseTooShortException;
import io.redlock.LockNotAcquiredException;
import io.redlock.Redlock;
import io.redlock.ReleaseResult;
import io.redlock.Votes.NodeVote;
import io.redlock.Votes.Vote;
import io.redlock.testbed.Await;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/** Who is granted a resource, and when. */
public abstract class AcquireContract extends RedlockContract {

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

  // Many readers or one writer.

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
}
