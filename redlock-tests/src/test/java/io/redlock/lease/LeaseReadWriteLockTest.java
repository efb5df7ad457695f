package io.redlock.lease;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.AcquireResult;
import io.redlock.Lease;
import io.redlock.LeaseLock;
import io.redlock.LeaseLostException;
import io.redlock.LeaseReadWriteLock;
import io.redlock.LeaseRequest;
import io.redlock.LockNotAcquiredException;
import io.redlock.Redlock;
import io.redlock.RedlockListener;
import io.redlock.WaitStatus;
import io.redlock.testbed.Await;
import io.redlock.testing.InMemoryMasters;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The read and write locks, used as those of a fair ReentrantReadWriteLock are. */
@Execution(ExecutionMode.CONCURRENT)
class LeaseReadWriteLockTest {

  private static final Duration TTL = Duration.ofSeconds(20);
  private static final LeaseRequest REQUEST =
      LeaseRequest.of("catalog", TTL).renewFor(Duration.ofMinutes(10));

  private final InMemoryMasters masters = InMemoryMasters.inRealTime(3);
  private final Redlock here = connect();
  private final LeaseReadWriteLock both = here.asReadWriteLock(REQUEST);
  private final LeaseLock read = both.readLock();
  private final LeaseLock write = both.writeLock();

  private Redlock connect() {
    return masters.connect(settings -> settings.nodeTimeout(Duration.ofSeconds(4)));
  }

  @AfterEach
  void close() {
    Thread.interrupted();
    masters.close();
  }

  /** A thread that locks, and unlocks when it is told to. */
  private static final class Other {
    private final CompletableFuture<Lease> locked = new CompletableFuture<>();
    private final CompletableFuture<Void> told = new CompletableFuture<>();
    private final CompletableFuture<Void> unlocked = new CompletableFuture<>();
    private final Thread thread;

    Other(LeaseLock lock) {
      this(lock, lock::lock, () -> {});
    }

    Other(LeaseLock lock, Executable locks, Runnable whenLocked) {
      thread =
          new Thread(
              () -> {
                try {
                  locks.execute();
                  whenLocked.run();
                  locked.complete(lock.lease());
                  told.join();
                  lock.unlock();
                  unlocked.complete(null);
                } catch (Throwable e) {
                  locked.completeExceptionally(e);
                  unlocked.completeExceptionally(e);
                }
              });
      thread.setDaemon(true);
      thread.start();
    }

    Other thatHasIt() {
      Await.value("it has the lock", locked);
      return this;
    }

    void unlocks() {
      thatHasIt();
      told.complete(null);
      Await.value("it has unlocked", unlocked);
    }

    Throwable failure() {
      Await.until("it fails", locked::isCompletedExceptionally);
      return assertThrows(ExecutionException.class, locked::get).getCause();
    }
  }

  /** Runs a call on a thread of its own. */
  private static <T> T elsewhere(Callable<T> call) {
    CompletableFuture<T> result = new CompletableFuture<>();
    new Thread(
            () -> {
              try {
                result.complete(call.call());
              } catch (Throwable e) {
                result.completeExceptionally(e);
              }
            })
        .start();
    return Await.value("another thread", result);
  }

  /** A reader with a lease that has no place in the queue. */
  private Lease reads() {
    return Await.value("it reads", connect().acquireAsync(REQUEST.shared())).lease().orElseThrow();
  }

  /** Waits until so many processes wait in the queues of all masters, which holds no holder. */
  private void awaitQueued(int waiters) {
    Await.until(
        waiters + " wait",
        () ->
            here.operations().inspectAsync("catalog").join().nodes().stream()
                .allMatch(node -> node.waiting() == waiters));
  }

  /** Waits until so many calls of this process wait. */
  private void awaitWaiting(int calls) {
    Await.until(
        calls + " wait",
        () -> here.operations().waits().stream().mapToInt(WaitStatus::calls).sum() == calls);
  }

  private int holds() {
    return here.operations().leases().get(0).holds();
  }

  // Each.

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void everyWayToLockAgainCounts(boolean reads) throws Exception {
    LeaseLock lock = reads ? read : write;
    lock.lock();
    Lease lease = lock.lease();
    lock.lockInterruptibly();
    assertTrue(lock.tryLock());
    assertTrue(lock.tryLock(0, TimeUnit.SECONDS));
    assertEquals(4, holds());
    for (int left = 3; left > 0; left--) {
      lock.unlock();
      assertEquals(left, holds());
      assertSame(lease, lock.lease());
    }
    lock.unlock();
    assertThrows(IllegalMonitorStateException.class, lock::unlock);
    assertEquals(List.of(), here.operations().leases());
  }

  @Test
  void readerThatReadsAlreadyPassesAWriterThatWaits() {
    read.lock();
    Other writer = new Other(write);
    Await.until(
        "it waits",
        () ->
            !elsewhere(
                () -> {
                  boolean reads = read.tryLock();
                  if (reads) {
                    read.unlock();
                  }
                  return reads;
                }));
    read.lock(); // would wait for itself
    read.unlock();
    read.unlock();
    writer.unlocks();
  }

  // Both.

  @Test
  void writerMayReadAndWritesOnWhileItReads() {
    write.lock();
    assertTrue(read.tryLock());
    read.lock();
    assertSame(write.lease(), read.lease());
    write.lock();
    assertEquals(4, holds());
    read.unlock();
    write.unlock();
    read.unlock();
    assertThrows(IllegalMonitorStateException.class, read::unlock);
    assertFalse(elsewhere(() -> read.tryLock()));
    write.unlock();
    assertTrue(elsewhere(() -> read.tryLock()));
  }

  @Test
  void writerThatReadsOnKeepsItsLeaseExclusiveUntilItHasUnlockedBoth() {
    write.lock();
    Lease lease = write.lease();
    read.lock();
    write.unlock();
    assertSame(lease, read.lease());
    assertFalse(lease.isShared());
    assertThrows(IllegalMonitorStateException.class, write::unlock);
    assertThrows(IllegalMonitorStateException.class, write::lease);
    Other reader = new Other(read);
    awaitWaiting(1);
    assertFalse(reader.locked.isDone());
    read.unlock();
    reader.unlocks();
    assertNotSame(lease, reader.locked.join());
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void readerIsRefusedTheWriteLockAtOnceAndKeepsReading(boolean wroteBefore) {
    if (wroteBefore) {
      write.lock();
      read.lock();
      write.unlock();
    } else {
      read.lock();
    }
    for (Executable locks :
        List.<Executable>of(
            write::lock,
            write::lockInterruptibly,
            write::tryLock,
            () -> write.tryLock(1, TimeUnit.HOURS))) {
      IllegalStateException refused = assertThrows(IllegalStateException.class, locks);
      assertEquals(
          "this thread reads catalog: unlock the read lock before you lock for writing,"
              + " or it waits for itself",
          refused.getMessage());
    }
    assertTrue(read.lease().isValid());
    assertEquals(1, holds());
    read.unlock();
    write.lock();
    write.unlock();
  }

  @Test
  void locksOfTheSameResourceAreOne() {
    LeaseReadWriteLock again = here.asReadWriteLock(REQUEST);
    here.asLock(REQUEST).lock();
    again.readLock().lock();
    assertSame(write.lease(), again.readLock().lease());
    again.writeLock().unlock();
    here.asLock(REQUEST.shared()).unlock();
    assertEquals(List.of(), here.operations().leases());
  }

  // Fair.

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void readerWriterAndReaderAreServedInTheOrderInWhichTheyCame(boolean elsewhere) {
    LeaseReadWriteLock theirs = (elsewhere ? connect() : here).asReadWriteLock(REQUEST);
    List<String> order = new CopyOnWriteArrayList<>();
    Lease first = reads();
    Other writer =
        new Other(theirs.writeLock(), theirs.writeLock()::lock, () -> order.add("writer"));
    awaitQueued(1);
    Other last = new Other(read, read::lock, () -> order.add("last reader"));
    awaitQueued(2);
    first.close();
    writer.thatHasIt();
    assertFalse(last.locked.isDone());
    writer.unlocks();
    last.unlocks();
    assertEquals(List.of("writer", "last reader"), order);
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void readerAndWriterThatWaitForAWriterOfTheirProcessAreServedInTheirOrder(boolean readerFirst) {
    write.lock();
    LeaseLock early = readerFirst ? read : write;
    LeaseLock late = readerFirst ? write : read;
    Other first = new Other(early);
    awaitWaiting(1);
    Other second = new Other(late);
    awaitWaiting(2);
    write.unlock();
    first.thatHasIt();
    awaitQueued(1);
    assertFalse(second.locked.isDone());
    first.unlocks();
    second.unlocks();
  }

  @Test
  void triedReadLockDoesNotPassAWriterThatWaits() throws Exception {
    Lease first = reads();
    Other writer = new Other(write);
    awaitQueued(1);
    assertFalse(read.tryLock());
    assertFalse(read.tryLock(10, TimeUnit.MILLISECONDS));
    first.close();
    writer.unlocks();
    assertTrue(read.tryLock(1, TimeUnit.MINUTES));
  }

  @Test
  void writerThatGivesUpLetsTheReadersBehindItPass() {
    Lease first = reads();
    Other writer = new Other(write, write::lockInterruptibly, () -> {});
    awaitQueued(1);
    Other next = new Other(read);
    awaitQueued(2);
    writer.thread.interrupt();
    assertInstanceOf(InterruptedException.class, writer.failure());
    next.thatHasIt();
    assertTrue(first.isValid());
    next.unlocks();
  }

  // Ends.

  @Test
  void strangerCanUnlockNeither() {
    for (LeaseLock lock : List.of(read, write)) {
      lock.lock();
      for (LeaseLock other : List.of(read, write)) {
        elsewhere(() -> assertThrows(IllegalMonitorStateException.class, other::unlock));
      }
      LeaseLock other = lock == read ? write : read;
      assertThrows(IllegalMonitorStateException.class, other::unlock, "it holds one, not both");
      assertTrue(lock.lease().isValid());
      lock.unlock();
    }
  }

  @Test
  void interruptEndsWhatMayBeInterruptedAndNothingElse() {
    write.lock();
    for (LeaseLock lock : List.of(read, write)) {
      for (Executable waits :
          List.<Executable>of(lock::lockInterruptibly, () -> lock.tryLock(1, TimeUnit.HOURS))) {
        Other interrupted = new Other(lock, waits, () -> {});
        awaitWaiting(1);
        interrupted.thread.interrupt();
        assertInstanceOf(InterruptedException.class, interrupted.failure());
        awaitWaiting(0);
        Thread.currentThread().interrupt();
        assertThrows(InterruptedException.class, waits);
        assertFalse(Thread.interrupted(), "the exception took it");
      }
    }
    List<Boolean> interrupted = new CopyOnWriteArrayList<>();
    Other patient =
        new Other(read, read::lock, () -> interrupted.add(Thread.currentThread().isInterrupted()));
    awaitWaiting(1);
    patient.thread.interrupt();
    write.unlock();
    patient.thatHasIt();
    assertEquals(List.of(true), interrupted);
  }

  @Test
  void waitEndsWhenItsTimeIsOver() throws Exception {
    List<Duration> took = new ArrayList<>();
    RedlockListener watch =
        new RedlockListener() {
          @Override
          public void onAcquire(LeaseRequest request, AcquireResult result, Duration virtually) {
            took.add(virtually);
          }
        };
    try (InMemoryMasters virtual = InMemoryMasters.inVirtualTime(3)) {
      virtual.occupy("catalog", Duration.ofHours(1));
      Redlock redlock = virtual.connect(settings -> settings.listener(watch));
      Duration longest = Duration.ofSeconds(2);
      LeaseReadWriteLock locks = redlock.asReadWriteLock(REQUEST.waitUpTo(longest));
      for (LeaseLock lock : List.of(locks.readLock(), locks.writeLock())) {
        took.clear();
        assertThrows(LockNotAcquiredException.class, lock::lock);
        assertThrows(LockNotAcquiredException.class, lock::lockInterruptibly);
        assertFalse(lock.tryLock(3, TimeUnit.SECONDS));
        assertFalse(lock.tryLock(-1, TimeUnit.DAYS));
        assertFalse(lock.tryLock());
        assertEquals(
            List.of(longest, longest, Duration.ofSeconds(3), Duration.ZERO, Duration.ZERO), took);
      }
    }
  }

  @Test
  void lossIsToldByUnlockAndByLockingAgain() {
    try (InMemoryMasters virtual = InMemoryMasters.inVirtualTime(3)) {
      LeaseReadWriteLock brief =
          virtual.connect().asReadWriteLock(REQUEST.renewFor(Duration.ofMinutes(1)));
      for (LeaseLock lock : List.of(brief.readLock(), brief.writeLock())) {
        lock.lock();
        lock.lock();
        virtual.advance(Duration.ofMinutes(2));
        assertFalse(lock.lease().isValid());
        assertThrows(LeaseLostException.class, lock::lock);
        assertThrows(LeaseLostException.class, lock::unlock);
        assertThrows(LeaseLostException.class, lock::unlock);
        assertThrows(IllegalMonitorStateException.class, lock::unlock);
      }
    }
  }

  // What it is not.

  @Test
  void locksSayWhatTheyLock() {
    assertEquals("read lock on catalog for 20s, renewed for 10m, fair, shared", read.toString());
    assertEquals("lock on catalog for 20s, renewed for 10m, fair", write.toString());
    assertEquals(
        "read lock and write lock on catalog for 20s, renewed for 10m, fair", both.toString());
  }
}
