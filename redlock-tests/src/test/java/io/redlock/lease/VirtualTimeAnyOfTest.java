package io.redlock.lease;

import static io.redlock.testbed.Results.assertContended;
import static io.redlock.testbed.Results.assertUnavailable;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.AcquireResult;
import io.redlock.Lease;
import io.redlock.LeaseLock;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import io.redlock.testing.InMemoryMasters;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A lease on any one of several names, on masters in memory. */
@Timeout(300)
class VirtualTimeAnyOfTest {

  private static final Duration TTL = Duration.ofSeconds(10);
  private static final Duration WAIT = Duration.ofMinutes(1);

  private final InMemoryMasters masters = InMemoryMasters.inVirtualTime(3);
  private final Redlock redlock = masters.connect();
  private final Redlock other = masters.connect();

  private static LeaseRequest permits(int count) {
    return LeaseRequest.anyOf(
        IntStream.range(0, count).mapToObj(number -> "pool/" + number).toList(), TTL);
  }

  private static Set<String> acquired(CompletableFuture<AcquireResult> call) {
    assertTrue(call.isDone());
    return call.join().lease().orElseThrow().resources();
  }

  @AfterEach
  void close() {
    masters.close();
  }

  @Test
  void neverMoreAreHeldThanThereAreNamesAndEachIsFound() throws Exception {
    List<Lease> held = new ArrayList<>();
    for (int i = 0; i < 7; i++) {
      held.add((i % 2 == 0 ? redlock : other).acquire(permits(7)));
    }
    assertEquals(
        permits(7).resources(),
        new TreeSet<>(held.stream().flatMap(lease -> lease.resources().stream()).toList()));
    assertContended(redlock.tryAcquire(permits(7)));
    assertContended(other.tryAcquire(permits(7)));
    held.get(3).release();
    assertEquals(held.get(3).resources(), other.acquire(permits(7)).resources());
  }

  @Test
  void callThatWaitsGetsWhatItsOwnProcessReleasesAtOnce() throws Exception {
    List<Lease> held = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      held.add(redlock.acquire(permits(3)));
    }
    CompletableFuture<AcquireResult> waiting = redlock.acquireAsync(permits(3).waitUpTo(WAIT));
    masters.advance(Duration.ofSeconds(1));
    assertFalse(waiting.isDone());
    held.get(1).releaseAsync();
    masters.advance(Duration.ofMillis(1));
    assertEquals(held.get(1).resources(), acquired(waiting));
  }

  @Test
  void callThatWaitsGetsWhatAnotherProcessReleasesAfterItsRetryPause() throws Exception {
    List<Lease> held = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      held.add(other.acquire(permits(3).renewFor(Duration.ofHours(1))));
    }
    CompletableFuture<AcquireResult> waiting = redlock.acquireAsync(permits(3).waitUpTo(WAIT));
    masters.advance(Duration.ofSeconds(30));
    assertFalse(waiting.isDone());
    held.get(2).release();
    masters.advance(Duration.ofSeconds(1));
    assertEquals(held.get(2).resources(), acquired(waiting));
  }

  @Test
  void callThatWaitsGetsTheNameThatExpiresFirst() {
    masters.occupy("pool/0", Duration.ofSeconds(9));
    masters.occupy("pool/1", Duration.ofSeconds(3));
    masters.occupy("pool/2", Duration.ofSeconds(6));
    CompletableFuture<AcquireResult> waiting = redlock.acquireAsync(permits(3).waitUpTo(WAIT));
    masters.advance(Duration.ofMillis(2_999));
    assertFalse(waiting.isDone());
    masters.advance(Duration.ofMillis(100));
    assertEquals(Set.of("pool/1"), acquired(waiting));
  }

  @Test
  void waitEndsAsContended() throws Exception {
    masters.occupy("pool/0", Duration.ofMinutes(1));
    masters.occupy("pool/1", Duration.ofMinutes(1));
    assertContended(redlock.tryAcquire(permits(2).waitUpTo(Duration.ofSeconds(5))));
  }

  @Test
  void minorityOfMastersThatIsDownHidesNoFreeName() throws Exception {
    masters.occupy("pool/0", Duration.ofMinutes(1));
    masters.stop(1);
    assertEquals(Set.of("pool/1"), redlock.acquire(permits(2)).resources());
    assertContended(redlock.tryAcquire(permits(2)));
  }

  @Test
  void majorityOfMastersThatIsDownIsUnavailable() throws Exception {
    masters.stop(2);
    assertUnavailable(redlock.tryAcquire(permits(5)));
  }

  @Test
  void leaseIsRenewedUnderItsOneName() throws Exception {
    Lease lease = redlock.acquire(permits(3).renewFor(Duration.ofHours(1)));
    masters.advance(Duration.ofMinutes(10));
    assertTrue(lease.isValid());
    assertTrue(masters.isHeld(lease.resource()));
    lease.release();
    assertFalse(masters.isHeld(lease.resource()));
  }

  @Test
  void bodyRunsUnderOneOfTheNamesAndALockLocksOne() throws Exception {
    assertEquals(
        1,
        redlock.<Integer, RuntimeException>callLeased(
            permits(3), lease -> lease.resources().size()));
    LeaseLock lock = redlock.asLock(permits(1).renewFor(WAIT));
    lock.lock();
    assertTrue(lock.tryLock());
    assertFalse(other.asLock(permits(1).renewFor(WAIT)).tryLock());
    lock.unlock();
    lock.unlock();
  }

  @Test
  void fairnessAndTooManyNamesAreRefused() {
    String fair =
        assertThrows(IllegalArgumentException.class, () -> redlock.acquire(permits(2).fair()))
            .getMessage();
    assertEquals(
        "cannot acquire: fair() with anyOf(): each name has a queue of its own; leave fair()"
            + " out",
        fair);
    String many =
        assertThrows(IllegalArgumentException.class, () -> redlock.acquire(permits(1_001)))
            .getMessage();
    assertEquals("cannot acquire: 1001 resources: name 1 to 1000 in one request", many);
    assertThrows(IllegalArgumentException.class, () -> redlock.acquire(permits(0)));
  }

  @Test
  void callsForAnyAndForAllOfTheSameNamesDoNotShareAQueue() throws Exception {
    Lease all = redlock.acquire(LeaseRequest.ofAll(permits(2).resources(), TTL));
    CompletableFuture<AcquireResult> any = redlock.acquireAsync(permits(2).waitUpTo(WAIT));
    CompletableFuture<AcquireResult> both =
        redlock.acquireAsync(LeaseRequest.ofAll(permits(2).resources(), TTL).waitUpTo(WAIT));
    masters.advance(Duration.ofSeconds(1));
    assertFalse(any.isDone() || both.isDone());
    all.release();
    masters.advance(Duration.ofSeconds(30));
    assertTrue(any.isDone() && both.isDone());
  }

  @Test
  void crowdInRealTimeNeverHoldsMoreThanThereAreAndAllAreServed() throws Exception {
    AtomicInteger holding = new AtomicInteger();
    AtomicInteger most = new AtomicInteger();
    AtomicInteger served = new AtomicInteger();
    List<Throwable> failures = new ArrayList<>();
    try (InMemoryMasters real = InMemoryMasters.inRealTime(3)) {
      List<Redlock> clients = List.of(real.connect(), real.connect());
      List<Thread> threads = new ArrayList<>();
      for (int i = 0; i < 40; i++) {
        Redlock client = clients.get(i % 2);
        Thread thread =
            new Thread(
                () -> {
                  try {
                    for (int turn = 0; turn < 5; turn++) {
                      client.runLeased(
                          permits(5).waitUpTo(WAIT),
                          lease -> {
                            most.accumulateAndGet(holding.incrementAndGet(), Math::max);
                            Thread.onSpinWait();
                            holding.decrementAndGet();
                            served.incrementAndGet();
                          });
                    }
                  } catch (Throwable e) {
                    synchronized (failures) {
                      failures.add(e);
                    }
                  }
                });
        thread.start();
        threads.add(thread);
      }
      for (Thread thread : threads) {
        thread.join();
      }
    }
    assertEquals(List.of(), failures);
    assertEquals(200, served.get());
    assertTrue(most.get() <= 5, most + " held of 5");
  }
}
