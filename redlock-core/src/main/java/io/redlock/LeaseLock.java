package io.redlock;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;

/**
 * A resource as a {@link Lock}, for code that is written for {@link
 * java.util.concurrent.locks.ReentrantLock}. The thread that locks it holds a lease, which is
 * renewed until it unlocks, at most for the request's {@code renewFor}. Locking again by the same
 * thread counts up, and keeps the lease and its fencing token.
 *
 * <p><b>Where a lease differs from a {@link Lock}.</b>
 *
 * <ul>
 *   <li>A {@code Lock} is held until it is unlocked. A lease can be lost before: by a pause longer
 *       than its ttl, by the loss of a majority of nodes, by deleted keys, by an operator ({@link
 *       RedlockOperations#free}), at the end of {@code renewFor}, or when the {@link Redlock} is
 *       closed. The code under the lock is not stopped. {@link #unlock} reports it afterwards with
 *       {@link LeaseLostException}; {@link #lease()} returns the handle to check or to listen to,
 *       and the token with which the resource can refuse late writes.
 *   <li>{@link #lock} of a {@code Lock} does not fail. Here it fails when the request's wait ends;
 *       it waits without end if the request sets none.
 *   <li>Memory effects are those of a {@code Lock} among threads of one {@link Redlock}. There are
 *       none between processes.
 * </ul>
 *
 * <p>Ownership is per thread, platform or virtual. All locks that one {@link Redlock} returns for
 * the same resources are one lock; but a thread that only {@linkplain LeaseRequest#shared reads}
 * must unlock before it locks to write, or gets {@link IllegalStateException}. Conditions are not
 * supported. Thread-safe. Implemented by this project only: methods may be added.
 */
public interface LeaseLock extends Lock {

  /**
   * Returns the lease that the current thread holds through this lock.
   *
   * @return the lease, ended or not
   * @throws IllegalMonitorStateException if the current thread does not hold this lock
   */
  Lease lease();

  /**
   * Locks, or throws when the request's {@code waitUpTo} has passed. Without it, it waits without
   * end; with zero it makes one attempt. An interrupt does not end the wait; it is set again on
   * return.
   *
   * @throws LockNotAcquiredException if the request sets a wait, and it has passed
   * @throws LeaseLostException if the current thread already held the lock and its lease has ended
   * @throws IllegalStateException if the {@link Redlock} is closed, also during the call
   */
  @Override
  void lock();

  /**
   * Locks as {@link #lock} does, but an interrupt ends the wait; nothing stays locked then.
   *
   * @throws InterruptedException if the thread was interrupted before or while it waited
   * @throws LockNotAcquiredException if the request sets a wait, and it has passed
   * @throws LeaseLostException if the current thread already held the lock and its lease has ended
   * @throws IllegalStateException if the {@link Redlock} is closed, also during the call
   */
  @Override
  void lockInterruptibly() throws InterruptedException;

  /**
   * Locks in one attempt, and returns the result: the request's wait does not count here. Takes at
   * most a node timeout, or three with {@link LeaseRequest#anyOf}; twice as long if nodes refuse a
   * token because of their clocks. An interrupt does not end it.
   *
   * @return true if the lock was acquired, false otherwise
   * @throws LeaseLostException if the current thread already held the lock and its lease has ended
   * @throws IllegalStateException if the {@link Redlock} is closed, also during the call
   */
  @Override
  boolean tryLock();

  /**
   * Locks, waiting up to {@code time} instead of the request's wait, and returns the result.
   * Exceeds the time by at most a node timeout, or three with {@link LeaseRequest#anyOf}; by twice
   * that if nodes have just refused a token because of their clocks.
   *
   * @param time how long to wait; zero or less for one attempt
   * @param unit the unit of {@code time}
   * @return true if the lock was acquired, false otherwise
   * @throws InterruptedException if the thread was interrupted before or while it waited
   * @throws NullPointerException if the unit is null
   * @throws LeaseLostException if the current thread already held the lock and its lease has ended
   * @throws IllegalStateException if the {@link Redlock} is closed, also during the call
   */
  @Override
  boolean tryLock(long time, TimeUnit unit) throws InterruptedException;

  /**
   * Gives back one hold. With the last hold it releases the lease and waits until a majority has
   * confirmed, at most a node timeout. An interrupt does not end that wait; it is set again on
   * return.
   *
   * @throws IllegalMonitorStateException if the current thread does not hold this lock
   * @throws LeaseLostException if the lease was lost since it was locked, or no majority held it
   *     when it was released; the hold is given back all the same. In a {@code finally} block it
   *     replaces the exception of the body; {@link Redlock#callLeased} never does that
   */
  @Override
  void unlock();

  /**
   * Not supported: waiting for a condition would need a signal between processes.
   *
   * @throws UnsupportedOperationException always
   */
  @Override
  Condition newCondition();
}
