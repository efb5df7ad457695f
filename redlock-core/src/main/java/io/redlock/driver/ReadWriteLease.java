package io.redlock.driver;

import io.redlock.LeaseReadWriteLock;

/** Two locks on one resource. */
record ReadWriteLease(ReentrantLease readLock, ReentrantLease writeLock)
    implements LeaseReadWriteLock {

  /** For example {@code read lock and write lock on catalog for 10s, renewed for 5m, fair}. */
  @Override
  public String toString() {
    return "read lock and write " + writeLock;
  }
}
