package io.redlock.spring.integration;

import io.redlock.ExtendResult;
import io.redlock.Lease;
import io.redlock.LeaseLock;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.locks.Lock;
import org.jspecify.annotations.Nullable;
import org.springframework.integration.support.locks.RenewableLockRegistry;

/**
 * Knows the locks that each thread holds.
 *
 * @param <L> the type of its locks
 */
abstract class LeaseLockRegistry<L extends Lock> implements RenewableLockRegistry<L> {

  /** A lock that a thread holds, so many times. */
  private static final class Hold {
    final LeaseLock lock;
    int count;

    Hold(LeaseLock lock) {
      this.lock = lock;
    }
  }

  final Duration ttl;
  private final Redlock redlock;
  private final String registryKey;
  private final Duration renewFor;
  private final ThreadLocal<Map<String, Hold>> holds = ThreadLocal.withInitial(HashMap::new);

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
    LeaseLock held = held(key);
    if (held == null) {
      throw new IllegalStateException("Lock " + key + " is not held by the current thread");
    }
    ExtendResult result;
    try {
      result = held.lease().extend(ttl);
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

  /** Returns the lock that the current thread holds, or null. */
  @Nullable LeaseLock held(String key) {
    Hold hold = holds.get().get(key);
    return hold == null ? null : hold.lock;
  }

  /** Returns the lock to lock: the one that the current thread holds, extended, or a new one. */
  LeaseLock lockOrHeld(String key, Duration ttl) {
    LeaseLock held = held(key);
    if (held == null) {
      return leaseLock(key, ttl);
    }
    Lease lease = held.lease();
    if (lease.isValid() && lease.remaining().compareTo(ttl.dividedBy(2)) < 0) {
      lease.extendAsync(ttl);
    }
    return held;
  }

  private LeaseLock leaseLock(String key, Duration ttl) {
    return redlock.asLock(LeaseRequest.of(registryKey + ':' + key, ttl).renewFor(renewFor));
  }

  void locked(String key, LeaseLock lock) {
    boolean remembered = false;
    try {
      remember(key, lock);
      remembered = true;
    } finally {
      if (!remembered) { // no memory; nobody could unlock it
        lock.unlock();
      }
    }
  }

  void remember(String key, LeaseLock lock) {
    holds.get().computeIfAbsent(key, any -> new Hold(lock)).count++;
  }

  void unlock(String key) {
    Map<String, Hold> mine = holds.get();
    Hold hold = mine.get(key);
    if (hold == null) {
      throw new IllegalMonitorStateException(
          "Lock " + key + " is not held by the current thread of " + this);
    }
    if (--hold.count == 0) {
      mine.remove(key);
    }
    if (mine.isEmpty()) {
      holds.remove();
    }
    hold.lock.unlock();
  }

  /** For example {@code RedlockLockRegistry orders}. */
  @Override
  public String toString() {
    return getClass().getSimpleName() + " " + registryKey;
  }
}
