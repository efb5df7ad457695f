package io.redlock.spring.integration;

import io.redlock.Lease;
import io.redlock.LeaseLock;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;

/** A key of a registry, which knows its holders. */
class RegistryLock implements LeaseLock {

  private final LeaseLockRegistry<?> registry;
  private final String key;

  RegistryLock(LeaseLockRegistry<?> registry, String key) {
    this.registry = registry;
    this.key = key;
  }

  @Override
  public Lease lease() {
    LeaseLock held = registry.held(key);
    if (held == null) {
      throw new IllegalMonitorStateException("the current thread does not hold " + this);
    }
    return held.lease();
  }

  @Override
  public void lock() {
    lockFor(registry.ttl);
  }

  void lockFor(Duration ttl) {
    LeaseLock lock = registry.lockOrHeld(key, ttl);
    lock.lock();
    registry.locked(key, lock);
  }

  @Override
  public void lockInterruptibly() throws InterruptedException {
    LeaseLock lock = registry.lockOrHeld(key, registry.ttl);
    lock.lockInterruptibly();
    registry.locked(key, lock);
  }

  @Override
  public boolean tryLock() {
    LeaseLock lock = registry.lockOrHeld(key, registry.ttl);
    return locked(lock, lock.tryLock());
  }

  @Override
  public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
    Objects.requireNonNull(unit, "unit is null: give the unit of time");
    LeaseLock lock = registry.lockOrHeld(key, registry.ttl);
    return locked(lock, lock.tryLock(time, unit));
  }

  boolean tryLockFor(Duration waitTime, Duration ttl) throws InterruptedException {
    LeaseLock lock = registry.lockOrHeld(key, ttl);
    return locked(lock, lock.tryLock(TimeUnit.NANOSECONDS.convert(waitTime), TimeUnit.NANOSECONDS));
  }

  private boolean locked(LeaseLock lock, boolean locked) {
    if (locked) {
      registry.locked(key, lock);
    }
    return locked;
  }

  @Override
  public void unlock() {
    registry.unlock(key);
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
