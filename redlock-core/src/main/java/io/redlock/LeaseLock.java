package io.redlock;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;

/**
 * A resource as a {@link Lock}, for code that is written for {@link
 * java.util.concurrent.locks.ReentrantLock}. The thread that locks it holds a lease that is renewed
 * until it unlocks, at most for the request's {@code renewFor}; locking again by the same thread
 * counts, and keeps the lease and its fencing token.
 *
 * <p><b>What {@link Lock} promises and a lease cannot.</b>
 *
 * <ul>
 *   <li>A {@code Lock} is held until it is unlocked. A lease can be lost first: by a pause longer
 *       than its ttl, by the loss of a majority of nodes, at the end of {@code renewFor}. The code
 *       in between is not stopped; {@link #unlock} tells afterwards with {@link
 *       LeaseLostException}, and {@link #lease()} gives the handle to ask or to listen to, and the
 *       token with which the resource can refuse what comes late.
 *   <li>{@link #lock} of a {@code Lock} does not fail. Here it goes on trying for as long as the
 *       request's {@code waitUpTo} says, without end where that is zero.
 *   <li>Memory effects are those of a {@code Lock} among threads of one {@link Redlock}; between
 *       processes there are none.
 * </ul>
 *
 * <p>Ownership is per thread, platform or virtual, and per instance of this interface: two
 * instances for one resource exclude each other even in one thread. No condition is supported.
 */
public interface LeaseLock extends Lock {

  /**
   * The lease that the current thread holds through this lock.
   *
   * @return the lease, ended or not
   * @throws IllegalMonitorStateException if the current thread does not hold this lock
   */
  Lease lease();

  /**
   * Locks, waiting as long as the request's {@code waitUpTo}, without end where that is zero. An
   * interrupt does not end the wait; it is set again on return.
   *
   * @throws LockNotAcquiredException if the wait has an end and it came
   * @throws LeaseLostException if the current thread held the lock already and its lease has ended
   * @throws IllegalStateException if the lock service is or gets closed
   */
  @Override
  void lock();

  /**
   * Locks as {@link #lock} does, but an interrupt ends the wait; nothing stays locked then.
   *
   * @throws InterruptedException if the thread was interrupted before or while it waited
   * @throws LockNotAcquiredException if the wait has an end and it came
   * @throws LeaseLostException if the current thread held the lock already and its lease has ended
   * @throws IllegalStateException if the lock service is or gets closed
   */
  @Override
  void lockInterruptibly() throws InterruptedException;

  /**
   * Makes one attempt, which takes at most a node timeout and is not ended by an interrupt.
   *
   * @return whether the lock was had, for whatever reason not
   * @throws LeaseLostException if the current thread held the lock already and its lease has ended
   * @throws IllegalStateException if the lock service is or gets closed
   */
  @Override
  boolean tryLock();

  /**
   * Tries for so long, exceeded by no more than a node timeout.
   *
   * @param time how long; zero or less for one attempt
   * @param unit its unit
   * @return whether the lock was had, for whatever reason not
   * @throws InterruptedException if the thread was interrupted before or while it waited
   * @throws LeaseLostException if the current thread held the lock already and its lease has ended
   * @throws IllegalStateException if the lock service is or gets closed
   */
  @Override
  boolean tryLock(long time, TimeUnit unit) throws InterruptedException;

  /**
   * Gives back one hold; with the last, releases the lease and waits until a majority has
   * confirmed, at most a node timeout. An interrupt does not end that wait; it is set again on
   * return.
   *
   * @throws IllegalMonitorStateException if the current thread does not hold this lock
   * @throws LeaseLostException if the lease was lost since it was locked, or no majority held it
   *     any more when it was released; the hold is given back all the same. In a {@code finally}
   *     block it takes the place of what the body threw; {@link Redlock#callLeased} never does that
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
