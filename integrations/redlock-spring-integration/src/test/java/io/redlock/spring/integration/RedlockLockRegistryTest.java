package io.redlock.spring.integration;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.LeaseLock;
import io.redlock.LeaseLostException;
import io.redlock.Redlock;
import io.redlock.testbed.Await;
import io.redlock.testbed.BlockingListener;
import io.redlock.testbed.RedisServer;
import io.redlock.testbed.RedisServers;
import io.redlock.testbed.RequiresRedis;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.Lock;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** What Spring Integration expects of a lock registry, with two instances on three masters. */
@RequiresRedis
@Execution(ExecutionMode.CONCURRENT)
class RedlockLockRegistryTest {

  private static final Duration TTL = Duration.ofSeconds(10);
  private static final Duration RENEW_FOR = Duration.ofMinutes(10);

  @AutoClose private static final RedisServers servers = RedisServers.start(3);

  private final String key = UUID.randomUUID().toString();
  @AutoClose private final Redlock redlock = servers.patientClient().build();
  @AutoClose private final Redlock otherRedlock = servers.patientClient().build();
  private final RedlockLockRegistry registry = registry(redlock);
  private final RedlockLockRegistry other = registry(otherRedlock);

  private static RedlockLockRegistry registry(Redlock redlock) {
    return new RedlockLockRegistry(redlock, "orders", TTL, RENEW_FOR);
  }

  private static <T> T inAnotherThread(Callable<T> call) {
    CompletableFuture<T> future = new CompletableFuture<>();
    Thread thread =
        new Thread(
            () -> {
              try {
                future.complete(call.call());
              } catch (Throwable e) {
                future.completeExceptionally(e);
              }
            });
    thread.setDaemon(true);
    thread.start();
    return Await.value("the other thread ends", future);
  }

  private void loseTheKey() {
    servers.forEach(server -> server.command("DEL", "orders:" + key));
  }

  @Test
  void lockIsUsedLikeAnyOther() throws InterruptedException {
    // readme:start registry
    RedlockLockRegistry registry =
        new RedlockLockRegistry(redlock, "orders", Duration.ofSeconds(10), Duration.ofMinutes(10));
    // readme:end
    // readme:start registry-lock
    LeaseLock lock = registry.obtain("42");
    if (lock.tryLock(2, TimeUnit.SECONDS)) {
      try {
        ship(42, lock.lease().fencingToken());
      } finally {
        lock.unlock();
      }
    }
    // readme:end
    assertEquals(List.of("shipped 42"), shipped);
  }

  private final List<String> shipped = new ArrayList<>();

  private void ship(int order, long token) {
    assertTrue(token > 0);
    shipped.add("shipped " + order);
  }

  @Test
  void heldLockKeepsOtherThreadsAndInstancesOut() {
    Lock lock = registry.obtain(key);
    lock.lock();
    assertFalse(inAnotherThread(() -> registry.obtain(key).tryLock()));
    assertFalse(inAnotherThread(() -> lock.tryLock()));
    assertFalse(other.obtain(key).tryLock());
    lock.unlock();
    assertTrue(other.obtain(key).tryLock());
    other.obtain(key).unlock();
  }

  @Test
  void locksOfOneKeyOfARegistryAreEqual() {
    assertEquals(registry.obtain(key), registry.obtain(key));
    assertEquals(registry.obtain(key).hashCode(), registry.obtain(key).hashCode());
    assertNotEquals(registry.obtain(key), registry.obtain(key + "b"));
    assertNotEquals(registry.obtain(key), other.obtain(key), "of another lock service");
    assertNotEquals(registry.obtain(key), key);
    assertEquals("lock 42 of RedlockLockRegistry orders", registry.obtain("42").toString());
  }

  @Test
  void locksOfDifferentKeysAndRegistriesAreIndependent() {
    RedlockLockRegistry invoices = new RedlockLockRegistry(redlock, "invoices", TTL, RENEW_FOR);
    registry.obtain(key).lock();
    assertTrue(registry.obtain(key + "b").tryLock());
    assertTrue(invoices.obtain(key).tryLock());
    invoices.obtain(key).unlock();
    registry.obtain(key + "b").unlock();
    registry.obtain(key).unlock();
  }

  @Test
  void lockIsReentrantAlsoWhenObtainedAgain() throws InterruptedException {
    LeaseLock first = registry.obtain(key);
    first.lock();
    LeaseLock second = registry.obtain(key);
    second.lockInterruptibly();
    assertTrue(registry.obtain(key).tryLock(1, TimeUnit.SECONDS));
    assertEquals(first.lease().fencingToken(), second.lease().fencingToken());
    second.unlock();
    first.unlock();
    assertFalse(other.obtain(key).tryLock());
    registry.obtain(key).unlock();
    assertTrue(other.obtain(key).tryLock());
    other.obtain(key).unlock();
  }

  @Test
  void onlyTheHolderCanUnlock() {
    Lock lock = registry.obtain(key);
    assertThrows(IllegalMonitorStateException.class, lock::unlock);
    lock.lock();
    inAnotherThread(() -> assertThrows(IllegalMonitorStateException.class, lock::unlock));
    assertFalse(other.obtain(key).tryLock());
    lock.unlock();
    assertThrows(IllegalMonitorStateException.class, () -> registry.obtain(key).lease());
  }

  @Test
  void lostLockIsReportedAndCanBeLockedAgain() {
    LeaseLock lock = registry.obtain(key);
    lock.lock();
    loseTheKey();
    assertTrue(other.obtain(key).tryLock(), "nobody holds it");
    assertThrows(IllegalStateException.class, () -> registry.renewLock(key));
    assertThrows(LeaseLostException.class, lock::lock);
    assertThrows(LeaseLostException.class, lock::unlock);
    assertThrows(IllegalMonitorStateException.class, lock::unlock);
    other.obtain(key).unlock();
    assertTrue(lock.tryLock());
    lock.unlock();
  }

  @Test
  void renewingExtendsTheLockOfThisThreadOnly() {
    registry.obtain(key).lock();
    registry.renewLock(key);
    registry.renewLock(key, Duration.ofSeconds(20));
    assertTrue(registry.obtain(key).lease().remaining().compareTo(TTL) > 0);
    for (RedisServer server : servers) {
      Await.until(
          "it is extended on " + server,
          () -> (Long) server.command("PTTL", "orders:" + key) > TTL.toMillis());
    }
    assertThrows(IllegalStateException.class, () -> other.renewLock(key));
    registry.obtain(key).unlock();
    assertThrows(IllegalStateException.class, () -> registry.renewLock(key));
  }

  @Test
  void lockIsRenewed() {
    registry.obtain(key).lock();
    assertTrue(redlock.operations().leases().get(0).renewed());
    registry.obtain(key).unlock();
  }

  @Test
  void workIsDoneUnderALock() throws Exception {
    AtomicInteger done = new AtomicInteger();
    registry.executeLocked(
        key,
        () -> {
          assertFalse(other.obtain(key).tryLock());
          done.incrementAndGet();
        });
    registry.obtain(key).lock();
    assertThrows(
        TimeoutException.class,
        () -> other.executeLocked(key, Duration.ofMillis(10), done::incrementAndGet));
    registry.obtain(key).unlock();
    assertEquals(1, done.get());
  }

  @Test
  void locksThatAreNotHeldAreNotRemembered() {
    List<WeakReference<Lock>> locks = new ArrayList<>();
    for (int index = 0; index < 100; index++) {
      Lock lock = registry.obtain(key + index);
      lock.lock();
      lock.unlock();
      locks.add(new WeakReference<>(lock));
    }
    Await.until(
        "nothing refers to them",
        () -> {
          System.gc();
          return locks.stream().allMatch(lock -> lock.get() == null);
        });
  }

  @Test
  void wrongArgumentsAreRefused() {
    assertThrows(IllegalArgumentException.class, () -> registry.obtain(42));
    String refusal =
        assertThrows(
                IllegalArgumentException.class,
                () -> new RedlockLockRegistry(redlock, "orders", Duration.ofHours(2), RENEW_FOR))
            .getMessage();
    assertTrue(refusal.contains("above maxTtl"), refusal);
    assertThrows(UnsupportedOperationException.class, () -> registry.obtain(key).newCondition());
  }

  @Test
  void renewalWaitsForNoThreadThatIsLentToListeners() throws Exception {
    try (BlockingListener blocking = new BlockingListener();
        Redlock redlock = servers.patientClient().listener(blocking).build()) {
      blocking.blockAll(redlock, key);
      RedlockLockRegistry registry = registry(redlock);
      inAnotherThread(
          () -> {
            registry.obtain(key).lock();
            registry.renewLock(key);
            registry.obtain(key).unlock();
            return true;
          });
    }
  }
}
