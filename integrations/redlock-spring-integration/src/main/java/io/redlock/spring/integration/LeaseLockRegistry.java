package io.redlock.spring.integration;

import io.redlock.ExtendResult;
import io.redlock.LeaseLock;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.locks.Lock;
import org.springframework.integration.support.locks.RenewableLockRegistry;

/**
 * A registry without a memory: the lock service knows which locks each thread holds.
 *
 * @param <L> the type of its locks
 */
abstract class LeaseLockRegistry<L extends Lock> implements RenewableLockRegistry<L> {

  final Duration ttl;
  private final Redlock redlock;
  private final String registryKey;
  private final Duration renewFor;

  LeaseLockRegistry(Redlock redlock, String registryKey, Duration ttl, Duration renewFor) {
    this.redlock = Objects.requireNonNull(redlock, "redlock is null: give the lock service");
    this.registryKey = Objects.requireNonNull(registryKey, "registryKey is null: give a prefix");
    this.ttl = Objects.requireNonNull(ttl, "ttl is null: give a duration of a few seconds");
    this.renewFor = Objects.requireNonNull(renewFor, "renewFor is null: give the longest hold");
    leaseLock("any", ttl); // a wrong setting is reported here
  }

  abstract L lock(String key);

  /**
   * Returns the lock of a key.
   *
   * @param lockKey the key, a string
   * @return a lock, equal to every other one of this key; it may be another object each time
   * @throws IllegalArgumentException if the key is no string
   */
  @Override
  public L obtain(Object lockKey) {
    return lock(key(lockKey));
  }

  /**
   * Extends a lock by the registry's ttl.
   *
   * @param lockKey the key of a lock that the current thread holds
   * @throws IllegalStateException if the current thread does not hold it, the masters did not
   *     confirm, or the thread was interrupted, which stays set
   */
  @Override
  public void renewLock(Object lockKey) {
    renewLock(lockKey, ttl);
  }

  /**
   * Extends a lock. Never shortens it.
   *
   * @param lockKey the key of a lock that the current thread holds
   * @param ttl how long it is held from now; range as in {@link LeaseRequest#of}
   * @throws IllegalStateException if the current thread does not hold it, the masters did not
   *     confirm, or the thread was interrupted, which stays set
   */
  public void renewLock(Object lockKey, Duration ttl) { // no @Override: Spring Integration 6
    String key = key(lockKey);
    ExtendResult result;
    try {
      result = leaseLock(key, this.ttl).lease().extend(ttl);
    } catch (IllegalMonitorStateException e) {
      throw new IllegalStateException("Lock " + key + " is not held by the current thread", e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(
          "Lock " + key + " may not be renewed: the current thread was interrupted", e);
    }
    if (result.outcome() != ExtendResult.Outcome.EXTENDED) {
      throw new IllegalStateException("Lock " + key + " could not be renewed: " + result);
    }
  }

  private static String key(Object lockKey) {
    if (lockKey instanceof String key) {
      return key;
    }
    throw new IllegalArgumentException("lock key " + lockKey + " is no string: give a string");
  }

  /** Returns the lock of a key, one with all others of it. */
  final LeaseLock leaseLock(String key, Duration ttl) {
    return redlock.asLock(LeaseRequest.of(registryKey + ':' + key, ttl).renewFor(renewFor));
  }

  /** For example {@code RedlockLockRegistry orders}. */
  @Override
  public String toString() {
    return getClass().getSimpleName() + " " + registryKey;
  }
}
