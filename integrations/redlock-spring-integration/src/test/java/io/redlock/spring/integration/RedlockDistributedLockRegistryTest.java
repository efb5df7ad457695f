package io.redlock.spring.integration;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.LeaseLock;
import io.redlock.Redlock;
import io.redlock.testbed.Await;
import io.redlock.testbed.RedisServers;
import io.redlock.testbed.RequiresRedis;
import java.time.Duration;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.springframework.integration.support.locks.DistributedLock;
import org.springframework.integration.support.locks.LockRegistry;
import org.springframework.integration.support.locks.RenewableLockRegistry;

/** What Spring Integration 7 adds. */
@RequiresRedis
class RedlockDistributedLockRegistryTest {

  private static final Duration TTL = Duration.ofSeconds(9);
  private static final Duration LONGER = Duration.ofSeconds(25);

  @AutoClose private static final RedisServers servers = RedisServers.start(3);

  @AutoClose private final Redlock redlock = servers.patientClient().build();
  @AutoClose private final Redlock otherRedlock = servers.patientClient().build();

  private static RenewableLockRegistry<DistributedLock> registry(Redlock redlock) {
    return new RedlockDistributedLockRegistry(redlock, "orders", TTL, Duration.ofMinutes(10));
  }

  private static Duration remaining(DistributedLock lock) {
    return ((LeaseLock) lock).lease().remaining();
  }

  @Test
  void lockHasTheTtlThatItIsLockedWith() throws InterruptedException {
    LockRegistry<DistributedLock> registry = registry(redlock);
    DistributedLock lock = registry.obtain("42");
    lock.lock();
    assertTrue(remaining(lock).compareTo(TTL) < 0);
    lock.unlock();
    lock.lock(LONGER);
    assertTrue(remaining(lock).compareTo(TTL) > 0);
    lock.unlock();
    assertTrue(lock.tryLock(Duration.ZERO, LONGER));
    assertTrue(remaining(lock).compareTo(TTL) > 0);
    lock.unlock();
  }

  @Test
  void lockWithATtlIsReentrantAndKeepsOthersOut() throws InterruptedException {
    DistributedLock lock = registry(redlock).obtain("43");
    lock.lock(LONGER);
    lock.lock();
    long token = ((LeaseLock) lock).lease().fencingToken();
    assertTrue(lock.tryLock(Duration.ofSeconds(1), TTL));
    assertEquals(token, ((LeaseLock) lock).lease().fencingToken());
    DistributedLock other = registry(otherRedlock).obtain("43");
    assertFalse(other.tryLock(Duration.ofMillis(10), TTL));
    lock.unlock();
    lock.unlock();
    lock.unlock();
    assertTrue(other.tryLock(Duration.ofMinutes(1), TTL));
    other.unlock();
  }

  @Test
  void lockThatIsLockedAgainWithMoreThanTwiceWhatIsLeftIsExtended() throws InterruptedException {
    DistributedLock lock = registry(redlock).obtain("45");
    lock.lock();
    assertTrue(lock.tryLock(Duration.ZERO, LONGER));
    Await.until("it is extended", () -> remaining(lock).compareTo(TTL) > 0);
    lock.unlock();
    lock.unlock();
  }

  @Test
  void renewalCanHaveATtlOfItsOwn() {
    RenewableLockRegistry<DistributedLock> registry = registry(redlock);
    DistributedLock lock = registry.obtain("44");
    lock.lock();
    registry.renewLock("44", LONGER);
    assertTrue(remaining(lock).compareTo(TTL) > 0);
    lock.unlock();
  }
}
