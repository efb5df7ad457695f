package io.redlock.lease;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.redlock.AcquireResult;
import io.redlock.LeaseEnd;
import io.redlock.LeaseLock;
import io.redlock.LeaseLostException;
import io.redlock.LeaseRequest;
import io.redlock.LockNotAcquiredException;
import io.redlock.Redlock;
import io.redlock.RedlockListener;
import io.redlock.testbed.Await;
import io.redlock.testing.InMemoryMasters;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** The Lock view, used as a ReentrantLock is. */
@Execution(ExecutionMode.CONCURRENT)
class LeaseLockTest {

  private static final Duration TTL = Duration.ofSeconds(9);
  private static final Duration HOLD = Duration.ofMinutes(10);

  @RegisterExtension final LeaseMasters masters = new LeaseMasters();

  private Redlock redlock;

  @BeforeEach
  void connect() {
    redlock = masters.connect();
  }

  private LeaseLock lock(String resource) {
    return redlock.asLock(LeaseRequest.of(resource, TTL).renewFor(HOLD));
  }

  @Test
  void lockingAgainKeepsLeaseAndTokenAndCountsUnlocks() throws Exception {
    LeaseLock lock = lock("reentrant");
    lock.lock();
    long token = lock.lease().fencingToken();
    lock.lockInterruptibly();
    assertTrue(lock.tryLock());
    assertTrue(lock.tryLock(1, TimeUnit.SECONDS));
    assertEquals(token, lock.lease().fencingToken());
    for (int holds = 4; holds > 0; holds--) {
      masters.awaitHolders(5, "reentrant");
      assertFalse(elsewhere(() -> lock.tryLock()));
      lock.unlock();
    }
    masters.awaitHolders(0, "reentrant");
    assertThrows(IllegalMonitorStateException.class, lock::unlock);
    assertThrows(IllegalMonitorStateException.class, lock::lease);
  }

  @Test
  void strangerCannotUnlock() throws Exception {
    LeaseLock lock = lock("stranger");
    lock.lock();
    assertThrows(
        IllegalMonitorStateException.class,
        () ->
            elsewhere(
                () -> {
                  lock.unlock();
                  return null;
                }));
    assertTrue(lock.lease().isValid());
    lock.unlock();
  }

  @Test
  void lockIsRenewedUntilItIsUnlocked() throws Exception {
    LeaseLock lock = lock("renewed");
    lock.lock();
    long start = System.nanoTime();
    while (System.nanoTime() - start < TTL.toNanos() * 5 / 4) {
      assertTrue(lock.lease().isValid());
      assertFalse(elsewhere(() -> lock.tryLock()));
      LockSupport.parkNanos(20_000_000);
    }
    lock.unlock();
    assertTrue(elsewhere(() -> lock.tryLock()));
  }

  @Test
  void timedTryLockTakesItsTimeAndNoMore() throws Exception {
    List<Duration> took = new ArrayList<>();
    RedlockListener watch =
        new RedlockListener() {
          @Override
          public void onAcquire(LeaseRequest request, AcquireResult result, Duration virtually) {
            took.add(virtually);
          }
        };
    try (InMemoryMasters virtual = InMemoryMasters.inVirtualTime(3)) {
      virtual.occupy("timed", HOLD);
      LeaseLock lock =
          virtual
              .connect(settings -> settings.listener(watch))
              .asLock(LeaseRequest.of("timed", TTL).renewFor(HOLD));
      assertFalse(lock.tryLock(300, TimeUnit.MILLISECONDS));
      assertFalse(lock.tryLock(-1, TimeUnit.DAYS));
      assertFalse(lock.tryLock());
    }
    assertEquals(List.of(Duration.ofMillis(300), Duration.ZERO, Duration.ZERO), took);
  }

  @Test
  void timedTryLockWaitsForItsTime() throws Exception {
    LeaseLock lock = lock("timed");
    lock.lock();
    long tookMillis =
        elsewhere(
            () -> {
              long start = System.nanoTime();
              assertFalse(lock.tryLock(300, TimeUnit.MILLISECONDS));
              return (System.nanoTime() - start) / 1_000_000;
            });
    assertTrue(tookMillis >= 300, "took " + tookMillis + " ms");
    assertFalse(elsewhere(() -> lock.tryLock(-1, TimeUnit.DAYS)));
    assertFalse(elsewhere(() -> lock.tryLock()));

    // A lock that becomes free within the time is had.
    Future<Boolean> waits = inBackground(() -> lock.tryLock(60, TimeUnit.SECONDS));
    lock.unlock();
    assertTrue(waits.get(60, TimeUnit.SECONDS));
  }

  @Test
  void interruptEndsWhatMayBeInterruptedAndNothingElse() throws Exception {
    LeaseLock lock = lock("interrupted");
    lock.lock();
    for (Callable<Object> wait :
        List.<Callable<Object>>of(
            () -> {
              lock.lockInterruptibly();
              return "locked";
            },
            () -> lock.tryLock(1, TimeUnit.MINUTES))) {
      CompletableFuture<Throwable> failure = new CompletableFuture<>();
      Thread waiter =
          new Thread(
              () -> {
                try {
                  wait.call();
                } catch (Throwable e) {
                  failure.complete(e);
                }
              });
      waiter.start();
      Await.until("it waits", () -> waiter.getState() == Thread.State.WAITING);
      waiter.interrupt();
      assertEquals(InterruptedException.class, Await.value("it ends", failure).getClass());
    }

    // lock() goes on waiting, and hands the interrupt back with the lock.
    CompletableFuture<Boolean> interruptedOnReturn = new CompletableFuture<>();
    Thread waiter =
        new Thread(
            () -> {
              lock.lock();
              interruptedOnReturn.complete(Thread.currentThread().isInterrupted());
              lock.unlock();
            });
    waiter.start();
    Await.until("it waits", () -> waiter.getState() == Thread.State.WAITING);
    waiter.interrupt();
    lock.unlock();
    assertTrue(Await.value("it has the lock", interruptedOnReturn));
    waiter.join();
    masters.awaitHolders(0, "interrupted");
    Thread.currentThread().interrupt();
    assertThrows(InterruptedException.class, lock::lockInterruptibly);
    assertFalse(Thread.interrupted(), "the exception took it");
  }

  @Test
  void lossIsToldByUnlockAndByLockingAgain() throws Exception {
    Duration ttl = Duration.ofMillis(8_100);
    LeaseLock lock = redlock.asLock(LeaseRequest.of("lost", ttl).renewFor(Duration.ofMillis(1)));
    lock.lock();
    lock.lock();
    LeaseEnd end = Await.value("the loss", lock.lease().ended().toCompletableFuture());
    assertEquals(LeaseEnd.Cause.RENEWAL_ENDED, end.cause());
    assertThrows(LeaseLostException.class, lock::lock);
    assertThrows(LeaseLostException.class, lock::tryLock);
    LeaseLostException inner = assertThrows(LeaseLostException.class, lock::unlock);
    assertTrue(inner.getMessage().contains("RENEWAL_ENDED"), inner.getMessage());
    assertThrows(LeaseLostException.class, lock::unlock);
    assertThrows(IllegalMonitorStateException.class, lock::unlock, "both holds were given back");
    lock.lock();
    lock.unlock();
  }

  @Test
  void lossThatOnlyTheUnlockFindsIsToldToo() {
    Duration ttl = Duration.ofSeconds(20); // no renewal comes first
    LeaseLock lock = redlock.asLock(LeaseRequest.of("deleted", ttl).renewFor(HOLD));
    lock.lock();
    masters.awaitHolders(5, "deleted");
    IntStream.of(0, 1, 2).forEach(node -> masters.get(node).command("DEL", "deleted"));
    LeaseLostException lost = assertThrows(LeaseLostException.class, lock::unlock);
    assertTrue(lost.getMessage().contains("no majority held it"), lost.getMessage());
  }

  @Test
  void lockWithAnEndSaysWhyItWasNotHad() throws Exception {
    LeaseRequest request = LeaseRequest.of("bounded", TTL).renewFor(HOLD);
    redlock.acquire(request);
    LeaseLock bounded = redlock.asLock(request.waitUpTo(Duration.ofMillis(100)));
    LockNotAcquiredException refused = assertThrows(LockNotAcquiredException.class, bounded::lock);
    assertTrue(refused.getMessage().startsWith("not acquired: bounded"), refused.getMessage());
    assertFalse(bounded.tryLock());
  }

  @Test
  void conditionsAreNotSupported() {
    assertThrows(UnsupportedOperationException.class, () -> lock("c").newCondition());
  }

  @Test
  void lockWithoutALongestHoldIsRefused() {
    IllegalArgumentException refused =
        assertThrows(
            IllegalArgumentException.class, () -> redlock.asLock(LeaseRequest.of("endless", TTL)));
    assertTrue(refused.getMessage().contains(".renewFor(...)"), refused.getMessage());
  }

  @Test
  void twoHundredThreadsCountRight() throws Exception {
    countRight(Executors.newFixedThreadPool(200));
  }

  @Test
  void twoHundredVirtualThreadsCountRight() throws Exception {
    assumeTrue(Runtime.version().feature() >= 21, "virtual threads need Java 21");
    countRight(
        (ExecutorService)
            Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null));
  }

  private void countRight(ExecutorService threads) throws Exception {
    LeaseLock lock = lock("counter");
    int[] counter = {0}; // plain: only the lock orders it
    int rounds = 3;
    List<Future<?>> all = new ArrayList<>();
    try {
      for (int thread = 0; thread < 200; thread++) {
        all.add(
            threads.submit(
                () -> {
                  for (int round = 0; round < rounds; round++) {
                    lock.lock();
                    try {
                      counter[0]++;
                    } finally {
                      lock.unlock();
                    }
                  }
                }));
      }
      for (Future<?> each : all) {
        each.get(2, TimeUnit.MINUTES);
      }
    } finally {
      threads.shutdownNow();
    }
    assertEquals(200 * rounds, counter[0]);
    masters.awaitHolders(0, "counter");
  }

  private static Future<Boolean> inBackground(Callable<Boolean> body) {
    CompletableFuture<Boolean> result = new CompletableFuture<>();
    new Thread(
            () -> {
              try {
                result.complete(body.call());
              } catch (Exception e) {
                result.completeExceptionally(e);
              }
            })
        .start();
    return result;
  }

  /** Runs the body on a thread of its own and waits for it. */
  private static <T> T elsewhere(Callable<T> body) throws Exception {
    ExecutorService thread = Executors.newSingleThreadExecutor();
    try {
      return thread.submit(body).get(60, TimeUnit.SECONDS);
    } catch (ExecutionException e) {
      if (e.getCause() instanceof Exception cause) {
        throw cause;
      }
      throw e;
    } finally {
      thread.shutdown();
    }
  }
}
