package io.redlock;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * Acquires locks, as leases, over a quorum of independent Redis masters, which this API calls
 * nodes. A {@link Lease} is a right that is limited in time and carries a fencing token. It is held
 * only while a majority of the nodes holds it.
 *
 * <p><b>Try.</b> A method with {@code try} in its name returns a result where its twin without
 * {@code try} throws. How long a call waits depends on its request or arguments alone, never on the
 * name of the method.
 *
 * <p><b>Algorithm.</b> S. Sanfilippo, <i>Distributed Locks with Redis</i> (redis.io, "The Redlock
 * algorithm"): one key per resource on each of N nodes, set only if absent, signed with a random
 * value. The lock is held when ⌊N/2⌋+1 nodes agreed and the time left is positive, after
 * subtracting the time of the round and an allowance for clock drift. Fencing tokens follow M.
 * Kleppmann, <i>How to do distributed locking</i> (2016), "Making the lock safe with fencing".
 *
 * <p><b>What is promised.</b> While the nodes' clocks and the clients' pauses keep to the
 * assumptions of Redlock, at most one lease on a resource is valid at any moment, or any number of
 * {@linkplain LeaseRequest#shared shared} ones. Tokens of exclusive leases are always unique. A
 * lease that is acquired after another has the higher token, unless both are shared, also where
 * those assumptions are broken, as long as the nodes keep their counters (for a retention that
 * users set).
 *
 * <p><b>What is not promised.</b> A lease can end while its holder is paused or cut off. If a late
 * write does harm, let the resource check {@link Lease#fencingToken()}. Waiters of different
 * processes are served in no order unless all ask {@linkplain LeaseRequest#fair() fairly}.
 *
 * <p><b>Threads and memory.</b> Instances are thread-safe. Share one per service. Actions of a
 * thread before it releases a lease happen-before actions of a thread <i>of the same instance</i>
 * after it acquires a later lease on the same resource. Between processes, and between instances,
 * only the protected resource itself orders anything.
 *
 * <p><b>Cost.</b> No thread per call, per waiter or per lease; any number of virtual threads may
 * wait.
 *
 * <p>Implemented by this project only: methods may be added. For tests, {@code redlock-testing} has
 * masters in memory.
 */
public interface Redlock extends AutoCloseable {

  /**
   * Acquires a lease in one attempt, or throws.
   *
   * @param resource the name to lock
   * @param ttl how long nodes hold the lock unless it is extended; see {@link LeaseRequest#of}
   * @return the lease, as {@link #acquire(LeaseRequest)} does
   * @throws LockNotAcquiredException if the lock could not be acquired; gives the reason, node by
   *     node
   * @throws InterruptedException if the thread was interrupted before or while it waited
   * @throws NullPointerException if an argument is null
   * @throws IllegalArgumentException if an argument is out of range
   * @throws IllegalStateException if this instance is closed, also during the call
   */
  default Lease acquire(String resource, Duration ttl) throws InterruptedException {
    return acquire(LeaseRequest.of(resource, ttl));
  }

  /**
   * Acquires a lease, waiting up to {@code waitUpTo} for it, or throws.
   *
   * @param resource the name to lock
   * @param ttl how long nodes hold the lock unless it is extended; see {@link LeaseRequest#of}
   * @param waitUpTo how long to go on after the first attempt has failed; zero for one attempt
   * @return the lease, as {@link #acquire(LeaseRequest)} does
   * @throws LockNotAcquiredException if the lock could not be acquired; gives the reason, node by
   *     node
   * @throws InterruptedException if the thread was interrupted before or while it waited
   * @throws NullPointerException if an argument is null
   * @throws IllegalArgumentException if an argument is out of range
   * @throws IllegalStateException if this instance is closed, also during the call
   */
  default Lease acquire(String resource, Duration ttl, Duration waitUpTo)
      throws InterruptedException {
    return acquire(LeaseRequest.of(resource, ttl).waitUpTo(waitUpTo));
  }

  /**
   * Acquires a lease, or throws. Makes one attempt, or as many as fit into the request's wait: an
   * endless wait would hide a lock that is stuck, so it is never the default here.
   *
   * <p>The wait ends in one of four ways: with a lease; with {@link LockNotAcquiredException} once
   * the wait has passed; with an interrupt; or with {@link IllegalStateException} when this
   * instance is closed. It exceeds the wait by at most one node timeout, or three with {@link
   * LeaseRequest#anyOf}; by twice that if nodes have just refused a token because of their clocks,
   * since one more attempt is made then. If it ends without a lease, nothing stays locked: grants
   * that arrived, or arrive later, are released in the background.
   *
   * @param request the resources and terms
   * @return the lease, valid on return; its validity is shorter than its ttl by the time that
   *     acquiring took, by the drift allowance and by the loss margin
   * @throws LockNotAcquiredException if the lock could not be acquired; gives the reason, node by
   *     node
   * @throws InterruptedException if the thread was interrupted before or while it waited
   * @throws NullPointerException if the request is null
   * @throws IllegalArgumentException if the request does not fit this instance's settings; lists
   *     every fault, and nothing was sent
   * @throws IllegalStateException if this instance is closed, also during the call
   */
  Lease acquire(LeaseRequest request) throws InterruptedException;

  /**
   * Acquires a lease in one attempt, and returns the result. If several callers come together, each
   * may get a part of the nodes, so that nobody acquires the lease: {@link
   * AcquireResult#contendedBy()} tells such a split from a holder. {@link LeaseRequest#unlessHeld}
   * asks again until one of them holds it.
   *
   * @param resource the name to lock
   * @param ttl how long nodes hold the lock unless it is extended; see {@link LeaseRequest#of}
   * @return the result, as {@link #tryAcquire(LeaseRequest)} does, after at most one node timeout,
   *     or two if nodes refused the first token because of their clocks
   * @throws InterruptedException if the thread was interrupted; nothing stays locked
   * @throws NullPointerException if an argument is null
   * @throws IllegalArgumentException if an argument is out of range
   * @throws IllegalStateException if this instance is closed, also during the call
   */
  default AcquireResult tryAcquire(String resource, Duration ttl) throws InterruptedException {
    return tryAcquire(LeaseRequest.of(resource, ttl));
  }

  /**
   * Acquires a lease, waiting up to {@code waitUpTo} for it, and returns the result.
   *
   * @param resource the name to lock
   * @param ttl how long nodes hold the lock unless it is extended; see {@link LeaseRequest#of}
   * @param waitUpTo how long to go on after the first attempt has failed; zero for one attempt
   * @return the result, as {@link #tryAcquire(LeaseRequest)} does
   * @throws InterruptedException if the thread was interrupted; nothing stays locked
   * @throws NullPointerException if an argument is null
   * @throws IllegalArgumentException if an argument is out of range
   * @throws IllegalStateException if this instance is closed, also during the call
   */
  default AcquireResult tryAcquire(String resource, Duration ttl, Duration waitUpTo)
      throws InterruptedException {
    return tryAcquire(LeaseRequest.of(resource, ttl).waitUpTo(waitUpTo));
  }

  /**
   * Acquires a lease, and returns the result. Waits exactly as {@link #acquire(LeaseRequest)} does;
   * a refusal is a result, never an exception.
   *
   * @param request the resources and terms
   * @return the lease, or the reason why the last attempt failed
   * @throws InterruptedException if the thread was interrupted; nothing stays locked
   * @throws NullPointerException if the request is null
   * @throws IllegalArgumentException if the request does not fit this instance's settings
   * @throws IllegalStateException if this instance is closed, also during the call
   */
  AcquireResult tryAcquire(LeaseRequest request) throws InterruptedException;

  /**
   * Acquires a lease without a thread. Waits as {@link #acquire(LeaseRequest)} does. Cancelling the
   * future, or completing it in any other way ({@code orTimeout}, for example), gives up: nothing
   * stays locked, also when the grant arrives at the same moment or later. Cancelling a dependent
   * stage does not give up the call. The future completes on the callback executor, where a lease
   * is looked at for the last time, and its renewal begins: with a result, or exceptionally with
   * {@link IllegalStateException} when this instance is closed.
   *
   * <p>The receiver of an {@link AcquireResult} owns its lease. The lease of a future that is
   * dropped without being cancelled stays until it expires.
   *
   * @param request the resources and terms
   * @return the future result
   * @throws NullPointerException if the request is null
   * @throws IllegalArgumentException if the request does not fit this instance's settings
   */
  CompletableFuture<AcquireResult> acquireAsync(LeaseRequest request);

  /**
   * Acquires a lease, calls the body under it, and releases it. The lease is released however the
   * body ends. The release waits as {@link Lease#release()} does; an interrupt does not end that
   * wait, and stays set. A release that too few nodes confirm in time is not reported.
   *
   * @param request the resources and terms
   * @param body the work; it receives the lease
   * @param <T> the type of the result
   * @param <E> the checked exception of the body
   * @return the result of the body, if the lease was never lost
   * @throws LockNotAcquiredException if the lock could not be acquired; the body was not called
   * @throws InterruptedException if the thread was interrupted while it waited for the lease
   * @throws LeaseLostException if the body returned, but the lease was lost before, or no majority
   *     held it when it was released: the body's writes may have come too late
   * @throws E if the body throws it, unchanged; a lost lease is added as suppressed
   * @throws NullPointerException if an argument is null
   * @throws IllegalArgumentException if the request does not fit this instance's settings
   * @throws IllegalStateException if this instance is closed, also during the acquire
   */
  <T extends @Nullable Object, E extends Exception> T callLeased(
      LeaseRequest request, LeasedCallable<T, E> body) throws E, InterruptedException;

  /**
   * Acquires a lease, runs the body under it, and releases it: {@link #callLeased} without a
   * result. Waits for the release as that does.
   *
   * @param request the resources and terms
   * @param body the work; it receives the lease
   * @param <E> the checked exception of the body
   * @throws LockNotAcquiredException if the lock could not be acquired; the body was not run
   * @throws InterruptedException if the thread was interrupted while it waited for the lease
   * @throws LeaseLostException if the body returned, but the lease was lost before, or no majority
   *     held it when it was released: the body's writes may have come too late
   * @throws E if the body throws it, unchanged; a lost lease is added as suppressed
   * @throws NullPointerException if an argument is null
   * @throws IllegalArgumentException if the request does not fit this instance's settings
   * @throws IllegalStateException if this instance is closed, also during the acquire
   */
  <E extends Exception> void runLeased(LeaseRequest request, LeasedRunnable<E> body)
      throws E, InterruptedException;

  /**
   * Returns the resource as a {@link java.util.concurrent.locks.Lock}: reentrant per thread,
   * renewed while held. All locks that this instance returns for the same resources are one: a
   * thread that has locked one may lock and unlock it again by another, under the terms of the
   * first. Only locks that are held take memory. Locks on any one of several resources are each
   * their own. With {@link LeaseRequest#shared()} it is a lock for reading, as {@link
   * #asReadWriteLock} has.
   *
   * @param request the resources and terms; must set the longest hold with {@link
   *     LeaseRequest#renewFor(Duration)}
   * @return the lock
   * @throws NullPointerException if the request is null
   * @throws IllegalArgumentException if the request does not fit this instance's settings, sets no
   *     longest hold, or ends at a holder ({@link LeaseRequest#unlessHeld()})
   */
  LeaseLock asLock(LeaseRequest request);

  /**
   * Returns the resource as a lock for readers and a writer. Both locks are {@linkplain
   * LeaseRequest#fair fair}, and one with all others that this instance returns for the resource,
   * as {@link #asLock} says.
   *
   * @param request one resource, and the terms; not {@code shared}; must set the longest hold with
   *     {@link LeaseRequest#renewFor(Duration)}
   * @return the two locks
   * @throws NullPointerException if the request is null
   * @throws IllegalArgumentException if the request does not fit this instance's settings, is for
   *     several resources or shared, or sets no longest hold
   */
  LeaseReadWriteLock asReadWriteLock(LeaseRequest request);

  /**
   * Starts a candidate for the leadership of one resource. It campaigns until it is closed. While
   * it leads, the work runs under the lease of the term, on a daemon thread of its own with the
   * context class loader of this call. {@link Leadership} says how a term ends.
   *
   * <p>Work that returns or throws ends its term; an exception is logged. Work should stop when its
   * thread is interrupted, check the lease before every write, and send its token with the write.
   *
   * <p>Candidates take {@linkplain LeaseRequest#fair() turns}. A term has no bound: see {@link
   * #lead(String, Duration, Duration, Leadership.Work)}.
   *
   * @param resource the name to lead, as in {@link LeaseRequest#of}
   * @param ttl how long nodes hold the lease of a term unless it is extended; as in {@link
   *     LeaseRequest#of}
   * @param work the work of the leader, which may begin before this method returns
   * @return the candidate, to be closed
   * @throws NullPointerException if an argument is null
   * @throws IllegalArgumentException if an argument does not fit this instance's settings
   * @throws IllegalStateException if this instance is closed
   */
  Leadership lead(String resource, Duration ttl, Leadership.Work work);

  /**
   * Starts a candidate as {@link #lead(String, Duration, Leadership.Work)} does, whose terms end
   * after a time.
   *
   * @param resource the name to lead, as in {@link LeaseRequest#of}
   * @param ttl how long nodes hold the lease of a term unless it is extended; as in {@link
   *     LeaseRequest#of}
   * @param renewFor the longest term, positive
   * @param work the work of the leader, which may begin before this method returns
   * @return the candidate, to be closed
   * @throws NullPointerException if an argument is null
   * @throws IllegalArgumentException if an argument does not fit this instance's settings
   * @throws IllegalStateException if this instance is closed
   */
  Leadership lead(String resource, Duration ttl, Duration renewFor, Leadership.Work work);

  /** Returns what operators and health checks ask of this instance; lasts as long as it does. */
  RedlockOperations operations();

  /**
   * Closes this instance. Waiting calls end with {@link IllegalStateException}. Waits until
   * releases under way are sent, for about one node timeout at most; an interrupt does not end that
   * wait, and stays set. <b>Held leases are not released</b>: each ends with {@link
   * LeaseEnd.Cause#CLOSED}, since nothing watches it any longer, and its keys expire on the nodes.
   * The work of each {@linkplain Leadership leader} is interrupted. Never throws. A second call
   * does nothing and returns at once, on another thread perhaps before the first has ended.
   */
  @Override
  void close();
}
