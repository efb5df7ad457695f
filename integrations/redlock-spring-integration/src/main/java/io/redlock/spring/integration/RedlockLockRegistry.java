package io.redlock.spring.integration;

import io.redlock.LeaseLock;
import io.redlock.Redlock;
import java.time.Duration;

/**
 * A {@link org.springframework.integration.support.locks.LockRegistry} whose locks are renewed
 * leases over a quorum of Redis masters. For Spring Integration 6.5 and 7.x; on 7.x {@link
 * RedlockDistributedLockRegistry} also gives each lock a ttl of its own.
 *
 * <p><b>Locks.</b> A key is a string. Its resource is {@code registryKey:key}, as in Spring's
 * {@code RedisLockRegistry}. Every lock is a {@link LeaseLock}: {@link LeaseLock#lease()} returns
 * the lease and with it the fencing token. A lock belongs to the thread that locked it, and is
 * reentrant, also through another call of {@link #obtain}. The registry remembers only locks that
 * are held, so there is no cache to bound and nothing to expire.
 *
 * <p><b>Renewal.</b> A lock is renewed for {@code renewFor}. A holder that locks it again later, as
 * Spring's leader initiator does with every heartbeat, extends it by its ttl once half of that has
 * passed. {@link #setRenewalTaskScheduler} has no effect.
 *
 * <p><b>Loss.</b> {@code unlock} throws {@link io.redlock.LeaseLostException} if the lease was
 * lost. So does every method that would lock it again.
 *
 * <p>Thread-safe. Needs no closing; does not close the {@link Redlock}.
 */
public final class RedlockLockRegistry extends LeaseLockRegistry<LeaseLock> {

  /**
   * Creates a registry.
   *
   * @param redlock the lock service
   * @param registryKey the prefix of every key, without the colon that follows it
   * @param ttl how long a lock stays held after its process has died; range as in {@link
   *     io.redlock.LeaseRequest#of}
   * @param renewFor how long a lock is renewed: a holder that hangs must not keep it
   * @throws NullPointerException if an argument is null
   * @throws IllegalArgumentException if a time does not fit the settings of the {@link Redlock}
   */
  public RedlockLockRegistry(Redlock redlock, String registryKey, Duration ttl, Duration renewFor) {
    super(redlock, registryKey, ttl, renewFor);
  }

  @Override
  LeaseLock lock(String key) {
    return new RegistryLock(this, key);
  }
}
