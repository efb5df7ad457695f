package io.redlock;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * Locks over a quorum of independent Redis masters. A lock is had as a {@link Lease}: a right that
 * is limited in time, carries a fencing token, and is held only while a majority of the masters
 * holds it.
 *
 * <p><b>Algorithm.</b> S. Sanfilippo, <i>Distributed Locks with Redis</i> (redis.io, "The Redlock
 * algorithm"): one key per resource on each of N masters, set only if absent, signed with a random
 * value; held when ⌊N/2⌋+1 masters agreed and the time left, after subtracting what the round took
 * and an allowance for clock drift, is positive. Fencing tokens follow M. Kleppmann, <i>How to do
 * distributed locking</i> (2016), "Making the lock safe with fencing".
 *
 * <p><b>What is promised.</b> While the masters' clocks and the clients' pauses keep to the
 * assumptions of Redlock, at most one lease on a resource is valid at any moment. Always, even
 * where those are broken, tokens are unique, and a lease acquired after another was acquired has
 * the higher token, as long as the masters keep their counters (a retention the user can set).
 *
 * <p><b>What is not promised.</b> A lease can end while its holder is paused or cut off: a holder
 * that must not act late lets the resource check {@link Lease#fencingToken()}. There is no order
 * among waiters of different processes, unless all ask {@linkplain LeaseRequest#fairly() fairly}.
 *
 * <p><b>Threads and memory.</b> Instances are thread-safe and meant to be shared: one per service.
 * Actions of a thread before it releases a lease happen-before actions of a thread <i>of the same
 * instance</i> after it acquires a later lease on the same resource. Between processes, and between
 * instances, only what the protected resource itself orders is ordered.
 *
 * <p><b>Cost.</b> No thread per call, per waiter or per lease; any number of virtual threads may
 * wait.
 */
public interface Redlock extends AutoCloseable {

  /**
   * Acquires a lease, waiting for it if need be.
   *
   * <p>The wait ends with a lease; with {@link LockNotAcquiredException} once {@code maxWait} has
   * passed, exceeded by no more than one node timeout (two if the nodes have just refused a token
   * because of their clocks: then one more attempt is made); or with an interrupt. However it ends
   * without a lease, nothing stays locked: what nodes granted meanwhile, or grant later, is
   * released in the background.
   *
   * @param resource what to lock
   * @param ttl for how long nodes shall hold the lock unless it is extended; the lease's own
   *     validity is shorter by what acquiring took, by the drift allowance and by the loss margin
   * @param maxWait how long to go on trying after the first attempt has failed; zero for one
   *     attempt
   * @return the lease, valid on return
   * @throws LockNotAcquiredException if it could not be had; says why, node by node
   * @throws InterruptedException if the thread was interrupted before or while it waited
   * @throws IllegalArgumentException if an argument is out of range; lists every fault, nothing was
   *     sent
   * @throws IllegalStateException if this instance is or gets closed
   */
  default Lease acquire(String resource, Duration ttl, Duration maxWait)
      throws InterruptedException {
    return acquire(LeaseRequest.of(resource, ttl).waitUpTo(maxWait));
  }

  /**
   * Acquires a lease as {@link #acquire(String, Duration, Duration)} does, on the terms of a
   * request.
   *
   * @param request the terms
   * @return the lease, valid on return
   * @throws LockNotAcquiredException if it could not be had; says why, node by node
   * @throws InterruptedException if the thread was interrupted before or while it waited
   * @throws IllegalArgumentException if the request does not fit this instance's settings
   * @throws IllegalStateException if this instance is or gets closed
   */
  Lease acquire(LeaseRequest request) throws InterruptedException;

  /**
   * Makes one attempt and says how it went. "No" is a result, never an exception.
   *
   * @param resource what to lock
   * @param ttl for how long nodes shall hold the lock unless it is extended
   * @return {@link AcquireResult.Acquired} with the lease, or the reason why not; after at most one
   *     node timeout, or two if the nodes refused the first token because of their clocks
   * @throws InterruptedException if the thread was interrupted; nothing stays locked
   * @throws IllegalArgumentException if an argument is out of range
   * @throws IllegalStateException if this instance is or gets closed
   */
  default AcquireResult tryAcquire(String resource, Duration ttl) throws InterruptedException {
    return tryAcquire(LeaseRequest.of(resource, ttl));
  }

  /**
   * Tries as long as the request says and says how it went. "No" is a result, never an exception.
   *
   * @param request the terms; by default one attempt
   * @return the lease, or the reason why the last attempt failed
   * @throws InterruptedException if the thread was interrupted; nothing stays locked
   * @throws IllegalArgumentException if the request does not fit this instance's settings
   * @throws IllegalStateException if this instance is or gets closed
   */
  AcquireResult tryAcquire(LeaseRequest request) throws InterruptedException;

  /**
   * Tries as long as the request says, without a thread. Cancelling the future, or completing it in
   * any other way ({@code orTimeout}, for example), gives up: nothing stays locked, also when the
   * grant arrives at the same moment or later. Cancelling a stage that depends on the future does
   * not. The future completes on the callback executor: with a result, or exceptionally with {@link
   * IllegalStateException} when this instance is closed.
   *
   * <p>Whoever gets an {@link AcquireResult.Acquired} owns its lease. A future that is dropped
   * uncancelled leaves its lease to run out.
   *
   * @param request the terms
   * @return the result to come
   * @throws IllegalArgumentException if the request does not fit this instance's settings
   */
  CompletableFuture<AcquireResult> acquireAsync(LeaseRequest request);

  /**
   * Acquires a lease, runs the body under it, and releases it. The lease is released however the
   * body ends, and its release is waited for at most a node timeout.
   *
   * @param request the terms
   * @param body what to do; it gets the lease
   * @param <T> what the body returns
   * @return what the body returned, if the lease was never lost
   * @throws LockNotAcquiredException if the lease could not be had; the body was not run
   * @throws InterruptedException if the thread was interrupted while it waited for the lease
   * @throws LeaseLostException if the body returned but the lease had been lost before, or no
   *     majority held it any more when it was released: what the body did may have come too late
   * @throws Exception whatever the body threw, unchanged; that the lease was lost as well is added
   *     to it as suppressed
   */
  <T> T callLeased(LeaseRequest request, LeasedCallable<T> body) throws Exception;

  /**
   * The resource as a {@link java.util.concurrent.locks.Lock}: reentrant per thread, renewed while
   * held.
   *
   * @param request the terms; must say how long the lock may be held, with {@link
   *     LeaseRequest#renewFor(Duration)}
   * @return a lock that is not held; share one instance among the threads of a program
   * @throws IllegalArgumentException if the request does not fit this instance's settings, or does
   *     not say how long the lock may be held
   */
  LeaseLock asLock(LeaseRequest request);

  /**
   * What each node is now, and why, in the order of the configuration. A local look; asks nobody.
   *
   * @return one status per node
   */
  List<NodeStatus> nodes();

  /**
   * Ends this instance. Calls that wait for a lease end with {@link IllegalStateException}.
   * Releases that were begun are still sent, for a bounded time of about a node timeout. <b>Nothing
   * that is held is released</b>: a lease held now ends as {@link LeaseEnd.Cause#CLOSED}, since
   * nobody watches it any more, and its keys run out on the nodes by themselves. Never throws.
   * Repeated calls do nothing.
   */
  @Override
  void close();
}
