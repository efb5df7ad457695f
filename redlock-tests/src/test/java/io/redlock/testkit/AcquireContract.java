package io.redlock.testkit;

import static io.redlock.testbed.Results.assertAcquired;
import static io.redlock.testbed.Results.assertContended;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.AcquireResult;
import io.redlock.FreeResult;
import io.redlock.Inspection;
import io.redlock.Inspection.Held;
import io.redlock.Lease;
import io.redlock.LeaseEnd;
import io.redlock.LeaseEnd.Cause;
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
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** Who is granted a resource, and when. */
public abstract class AcquireContract extends RedlockContract {

  @TestFactory
  Stream<DynamicTest> scenes() {
    return scenes("Acquire.txt");
  }

  // Acquire.

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
  void refusedAcquireThrowsWithTheReasonOfEachNode() throws Exception {
    acquire(alice);
    LockNotAcquiredException refused =
        assertThrows(
            LockNotAcquiredException.class, () -> bob.acquire(resource, TTL, Duration.ZERO));
    AcquireResult contended = assertContended(refused.result());
    assertTrue(contended.lease().isEmpty());
    assertTrue(contended.votes().count(Vote.REFUSED) >= 3, contended::toString);
    assertTrue(contended.votes().toString().contains("held for"), contended::toString);
    assertTrue(refused.getMessage().startsWith("not acquired: "), refused::getMessage);
    assertTrue(refused.getMessage().contains(resource), refused::getMessage);
    for (NodeVote vote : contended.votes().nodes()) {
      assertTrue(refused.getMessage().contains(vote.node()), refused::getMessage);
    }
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

  // Many readers or one writer.

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
}
