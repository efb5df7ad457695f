package io.redlock.spring.integration;

import io.redlock.Redlock;
import java.time.Duration;
import org.springframework.integration.support.locks.DistributedLock;

/**
 * A {@link RedlockLockRegistry} for Spring Integration 7.x, with the type that has come with it: a
 * {@link DistributedLock} can be locked with a ttl of its own. Its locks are {@link
 * io.redlock.LeaseLock}s too.
 */
public final class RedlockDistributedLockRegistry extends LeaseLockRegistry<DistributedLock> {

  /**
   * Creates a registry.
   *
   * @param redlock the lock service
   * @param registryKey the prefix of every key, without the colon that follows it
   * @param ttl how long a lock stays held after its process has died, unless it is locked with
   *     another ttl; range as in {@link io.redlock.LeaseRequest#of}
   * @param renewFor how long a lock is renewed: a holder that hangs must not keep it
   * @throws NullPointerException if an argument is null
   * @throws IllegalArgumentException if a time does not fit the settings of the {@link Redlock}
   */
  public RedlockDistributedLockRegistry(
      Redlock redlock, String registryKey, Duration ttl, Duration renewFor) {
    super(redlock, registryKey, ttl, renewFor);
  }

  @Override
  DistributedLock lock(String key) {
    return new RegistryDistributedLock(this, key);
  }

  private static final class RegistryDistributedLock extends RegistryLock
      implements DistributedLock {

    RegistryDistributedLock(LeaseLockRegistry<?> registry, String key) {
      super(registry, key);
    }
  }
}
