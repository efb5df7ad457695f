package io.redlock;

import java.util.concurrent.locks.ReadWriteLock;

/**
 * A resource as a {@link ReadWriteLock}: one writer, or any number of readers. Both locks are
 * reentrant per thread and renewed while held, as {@link LeaseLock} says. Both are fair: served
 * first come, first served across processes, except that readers are served together.
 *
 * <ul>
 *   <li>A thread that holds the write lock may take the read lock. Its lease stays exclusive until
 *       it has unlocked both, so nobody writes in between.
 *   <li>A thread that holds the read lock alone cannot take the write lock: it would wait for
 *       itself, or two threads for each other. Both methods {@code tryLock} of the write lock
 *       return false at once; {@code lock} and {@code lockInterruptibly} throw {@link
 *       IllegalStateException}. Unlock first.
 *   <li>Each thread that reads has a lease of its own, so that readers of this process never pass a
 *       writer that waits. A read lock costs a round trip.
 * </ul>
 *
 * <p>Thread-safe. Implemented by this project only: methods may be added.
 */
public interface LeaseReadWriteLock extends ReadWriteLock {

  /**
   * Returns the lock for reading. The lease of a thread that holds it is {@linkplain
   * LeaseRequest#shared shared}, or exclusive if the thread took it while it held the write lock.
   */
  @Override
  LeaseLock readLock();

  /** Returns the lock for writing. */
  @Override
  LeaseLock writeLock();
}
