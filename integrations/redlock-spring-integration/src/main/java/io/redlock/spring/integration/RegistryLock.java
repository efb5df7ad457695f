package io.redlock.spring.integration;

import io.redlock.Lease;
import io.redlock.LeaseLock;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;

/** A key of a registry. A thread that locks it again later extends its lease. */
class RegistryLock implements LeaseLock {

  private final LeaseLockRegistry<?> registry;
  private final String key;

  RegistryLock(LeaseLockRegistry<?> registry, String key) {
    this.registry = registry;
    this.key = key;
  }

  /** Returns the lock, to be locked. Extends it if this thread holds it, but not for long. */
  private LeaseLock extended(Duration ttl) {
    LeaseLock lock = registry.leaseLock(key, ttl);
    try {
      Lease lease = lock.lease();
      if (lease.isValid() && lease.remaining().compareTo(ttl.dividedBy(2)) < 0) {
        lease.extendAsync(ttl);
      }
    } catch (IllegalMonitorStateException e) {
      // this thread does not hold it yet
    }
    return lock;
  }

  @Override
  public Lease lease() {
    return registry.leaseLock(key, registry.ttl).lease();
  }

  @Override
  public void lock() {
    lock(registry.ttl);
  }

  /** Locks as Spring Integration 7's {@code DistributedLock} does. */
  public void lock(Duration ttl) {
    extended(ttl).lock();
  }

  @Override
  public void lockInterruptibly() throws InterruptedException {
    extended(registry.ttl).lockInterruptibly();
  }

  @Override
  public boolean tryLock() {
    return extended(registry.ttl).tryLock();
  }

  @Override
  public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
    return extended(registry.ttl).tryLock(time, unit);
  }

  /** Locks as Spring Integration 7's {@code DistributedLock} does. */
  public boolean tryLock(Duration waitTime, Duration ttl) throws InterruptedException {
    long nanos = TimeUnit.NANOSECONDS.convert(waitTime);
    return extended(ttl).tryLock(nanos, TimeUnit.NANOSECONDS);
  }

  @Override
  public void unlock() {
    registry.leaseLock(key, registry.ttl).unlock();
  }

  @Override
  public Condition newCondition() {
    throw new UnsupportedOperationException("a lease has no conditions");
  }

  /** Returns true for a lock of the same key of the same registry: they lock as one. */
  @Override
  public final boolean equals(Object other) {
    return other instanceof RegistryLock same && registry == same.registry && key.equals(same.key);
  }

  @Override
  public final int hashCode() {
    return key.hashCode();
  }

  /** For example {@code lock 42 of RedlockLockRegistry orders}. */
  @Override
  public String toString() {
    return "lock " + key + " of " + registry;
  }
}
