package io.redlock.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.AcquireResult;
import io.redlock.Lease;
import io.redlock.LeaseLock;
import io.redlock.LeaseLostException;
import io.redlock.LeaseRequest;
import io.redlock.LockNotAcquiredException;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest.Grant;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Time passes while a call waits: see {@link #whileItWaits}. */
@Timeout(300)
class ReentrantLeaseTest {

  private static final LeaseRequest REQUEST = Bed.REQUEST.renewFor(Duration.ofMinutes(5));

  private final Bed bed = new Bed(3);
  private final List<LeaseRequest> calls = new ArrayList<>();
  private final ReentrantLease.Holds holds = new ReentrantLease.Holds();
  private final LeaseLock lock = lock(REQUEST);

  private LeaseLock lock(LeaseRequest request) {
    return lock(request, holds);
  }

  private LeaseLock lock(LeaseRequest request, ReentrantLease.Holds holds) {
    return new ReentrantLease(
        request,
        asked -> {
          calls.add(asked);
          return new AcquireLoop(bed.context, asked);
        },
        holds);
  }

  @Test
  void locksOnTheSameResourcesAreOne() {
    grantAll();
    LeaseLock first = bed.redlock.asLock(REQUEST);
    LeaseLock second = bed.redlock.asLock(REQUEST.waitUpTo(Bed.TTL));
    first.lock();
    second.lock(); // would wait for itself
    assertSame(first.lease(), second.lease());
    first.unlock();
    second.unlock();
    assertThrows(IllegalMonitorStateException.class, first::unlock);
    assertEquals(1, attempts());
  }

  @Test
  void locksOnAnyOfSeveralResourcesAreEachTheirOwn() {
    grantAll();
    LeaseRequest permits =
        LeaseRequest.anyOf(List.of("a", "b"), Bed.TTL).renewFor(Duration.ofMinutes(5));
    bed.redlock.asLock(permits).lock();
    bed.redlock.asLock(permits).lock();
    assertEquals(2, bed.redlock.operations().leases().size());
  }

  @Test
  void leaseThatNoMemoryIsLeftToRememberIsReleased() {
    grantAll();
    ReentrantLease.Holds full =
        new ReentrantLease.Holds() {
          @Override
          void put(Object lock, HeldLease lease) {
            throw new InternalError("no memory, as the test wants it");
          }
        };
    assertThrows(InternalError.class, lock(REQUEST, full)::lock);
    assertEquals(List.of(), bed.redlock.operations().leases());
    assertEquals(3, bed.releases());
  }

  @AfterEach
  void forgetInterrupts() {
    Thread.interrupted();
  }

  private void grantAll() {
    bed.script(Bed::yes);
  }

  private void refuseAll() {
    bed.script(request -> request instanceof Grant ? NodeReply.held(-1, 5, "") : Bed.yes(request));
  }

  private int attempts() {
    return bed.node(0).asked(Grant.class).size();
  }

  /** Runs a waiting call on another thread, and lets virtual time pass until it has returned. */
  private @Nullable Throwable whileItWaits(Executable call, Runnable meanwhile) {
    AtomicReference<Throwable> thrown = new AtomicReference<>();
    Thread thread =
        new Thread(
            () -> {
              try {
                call.execute();
              } catch (Throwable e) {
                thrown.set(e);
              }
            });
    thread.start();
    while (thread.getState() != Thread.State.WAITING && thread.isAlive()) {
      Thread.onSpinWait();
    }
    meanwhile.run();
    try {
      thread.join(60_000);
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
    assertFalse(thread.isAlive(), "it does not return");
    return thrown.get();
  }

  @Test
  void lockingAgainCountsAndKeepsTheLeaseAndItsToken() {
    grantAll();
    lock.lock();
    Lease lease = lock.lease();
    assertTrue(lock.tryLock());
    lock.lock();
    assertSame(lease, lock.lease());
    assertEquals(1, attempts());
    lock.unlock();
    lock.unlock();
    assertTrue(lease.isValid());
    assertEquals(0, bed.releases());
    lock.unlock();
    assertFalse(lease.isValid());
    assertEquals("abc", bed.releasedOn());
  }

  @Test
  void lockingAfterTheLastUnlockTakesANewLease() throws InterruptedException {
    grantAll();
    lock.lockInterruptibly();
    Lease first = lock.lease();
    lock.unlock();
    assertTrue(lock.tryLock(1, TimeUnit.SECONDS));
    assertNotSame(first, lock.lease());
    assertNotEquals(first.fencingToken(), lock.lease().fencingToken());
    lock.unlock();
  }

  @Test
  void tryLockReturnsTrueWhereTheLeaseIsGranted() {
    grantAll();
    assertTrue(lock.tryLock());
    assertTrue(lock.lease().isValid());
  }

  @Test
  void everyWayToLockAgainCounts() throws InterruptedException {
    grantAll();
    lock.lockInterruptibly();
    lock.lockInterruptibly();
    assertTrue(lock.tryLock(1, TimeUnit.SECONDS));
    assertEquals(1, calls.size());
    lock.unlock();
    lock.unlock();
    assertTrue(lock.lease().isValid());
    lock.unlock();
    assertThrows(IllegalMonitorStateException.class, lock::lease);
  }

  @Test
  void threadThatHoldsNothingCannotUnlock() {
    for (Executable call : List.<Executable>of(lock::unlock, lock::lease)) {
      IllegalMonitorStateException refused = assertThrows(IllegalMonitorStateException.class, call);
      assertEquals("the current thread does not hold the lock on orders/42", refused.getMessage());
    }
  }

  @Test
  void holdsAreThoseOfTheThread() {
    grantAll();
    lock.lock();
    Throwable thrown = whileItWaits(lock::unlock, () -> {});
    assertInstanceOf(IllegalMonitorStateException.class, thrown);
    assertTrue(lock.lease().isValid());
  }

  @Test
  void lockWaitsWithoutEndWhereTheRequestDoesNotSayHowLong() {
    refuseAll();
    Throwable thrown =
        whileItWaits(
            lock::lock,
            () -> {
              bed.time.pass(Duration.ofSeconds(30));
              grantAll();
              bed.time.pass(Duration.ofSeconds(1));
            });
    assertNull(thrown);
    assertTrue(calls.get(0).waitUpTo().orElseThrow().compareTo(Duration.ofDays(365_000)) > 0);
  }

  @Test
  void lockWaitsAsLongAsTheRequestSays() {
    refuseAll();
    LeaseRequest request = REQUEST.waitUpTo(Duration.ofSeconds(1));
    LeaseLock patient = lock(request);
    for (Executable call : List.<Executable>of(patient::lock, patient::lockInterruptibly)) {
      Throwable thrown = whileItWaits(call, () -> bed.time.pass(Duration.ofSeconds(1)));
      LockNotAcquiredException refused = assertInstanceOf(LockNotAcquiredException.class, thrown);
      assertEquals(AcquireResult.Outcome.CONTENDED, refused.result().outcome());
    }
    assertEquals(List.of(request, request), calls);
  }

  @Test
  void lockMakesOneAttemptWhereTheRequestSaysZero() {
    refuseAll();
    LeaseLock impatient = lock(REQUEST.waitUpTo(Duration.ZERO));
    assertThrows(LockNotAcquiredException.class, impatient::lock);
    assertThrows(LockNotAcquiredException.class, impatient::lockInterruptibly);
    assertEquals(2, attempts());
  }

  @Test
  void interruptEndsOnlyTheWaitThatSaysSo() {
    refuseAll();
    List<Thread> waiting = new ArrayList<>();
    Throwable thrown =
        whileItWaits(
            () -> {
              waiting.add(Thread.currentThread());
              lock.lockInterruptibly();
            },
            () -> waiting.get(0).interrupt());
    assertInstanceOf(InterruptedException.class, thrown);
    bed.time.passMillis(Bed.NODE_TIMEOUT_MILLIS);
    bed.assertNothingIsLeft("interrupted");
    List<Boolean> interrupted = new ArrayList<>();
    thrown =
        whileItWaits(
            () -> {
              waiting.set(0, Thread.currentThread());
              lock.lock();
              interrupted.add(Thread.interrupted());
            },
            () -> {
              waiting.get(0).interrupt();
              grantAll();
              bed.time.pass(Duration.ofSeconds(1));
            });
    assertNull(thrown);
    assertEquals(List.of(true), interrupted);
  }

  @Test
  void interruptedThreadDoesNotBeginToWait() {
    for (Executable call :
        List.<Executable>of(lock::lockInterruptibly, () -> lock.tryLock(1, TimeUnit.SECONDS))) {
      Thread.currentThread().interrupt();
      assertThrows(InterruptedException.class, call);
    }
    assertEquals(0, attempts());
  }

  @Test
  void tryLockMakesOneAttemptWhateverTheRequestSays() {
    refuseAll();
    assertFalse(lock(REQUEST.waitUpTo(Duration.ofHours(1))).tryLock());
    assertEquals(1, attempts());
    assertEquals(Duration.ZERO, calls.get(0).waitUpTo().orElseThrow());
    assertThrows(IllegalMonitorStateException.class, lock::lease);
  }

  @ParameterizedTest
  @ValueSource(longs = {0, -1, Long.MIN_VALUE})
  void tryLockWithoutTimeMakesOneAttempt(long time) throws InterruptedException {
    refuseAll();
    assertFalse(lock.tryLock(time, TimeUnit.DAYS));
    assertEquals(1, attempts());
    assertEquals(Duration.ZERO, calls.get(0).waitUpTo().orElseThrow());
  }

  @Test
  void tryLockWaitsForItsTime() {
    refuseAll();
    CompletableFuture<Boolean> locked = new CompletableFuture<>();
    whileItWaits(
        () -> locked.complete(lock.tryLock(300, TimeUnit.MILLISECONDS)),
        () -> {
          bed.time.passMillis(299);
          assertFalse(locked.isDone());
          bed.time.passMillis(1);
        });
    assertFalse(Bed.now(locked));
    assertEquals(Duration.ofMillis(300), calls.get(0).waitUpTo().orElseThrow());
  }

  @Test
  void lostLeaseIsReportedByEveryNextCallUntilItIsGivenBack() {
    grantAll();
    LeaseLock unrenewed = lock(Bed.REQUEST);
    unrenewed.lock();
    unrenewed.lock();
    bed.time.pass(Bed.TTL);
    assertFalse(unrenewed.lease().isValid());
    assertThrows(LeaseLostException.class, unrenewed::lock);
    assertThrows(LeaseLostException.class, unrenewed::lockInterruptibly);
    assertThrows(LeaseLostException.class, unrenewed::tryLock);
    assertThrows(LeaseLostException.class, () -> unrenewed.tryLock(1, TimeUnit.SECONDS));
    assertThrows(LeaseLostException.class, unrenewed::unlock);
    assertThrows(LeaseLostException.class, unrenewed::unlock);
    assertThrows(IllegalMonitorStateException.class, unrenewed::unlock);
    unrenewed.lock();
    assertTrue(unrenewed.lease().isValid());
  }

  @Test
  void leaseThatNoMajorityHeldWhenItWasUnlockedWasLost() {
    grantAll();
    lock.lock();
    bed.script(request -> NodeReply.NOT_HELD);
    assertThrows(LeaseLostException.class, lock::unlock);
    assertThrows(IllegalMonitorStateException.class, lock::unlock);
  }

  @Test
  void conditionsAreNotSupported() {
    assertThrows(UnsupportedOperationException.class, lock::newCondition);
  }

  @Test
  void lockSaysWhatItLocks() {
    assertEquals("lock on " + REQUEST, lock.toString());
  }
}
