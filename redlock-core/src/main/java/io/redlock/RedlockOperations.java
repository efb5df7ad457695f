package io.redlock;

import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * The operations of a {@link Redlock} for operators, health checks and monitoring: the state of its
 * nodes, who holds what, and setting a resource free. Thread-safe. Implemented by this project
 * only: methods may be added.
 */
public interface RedlockOperations {

  /**
   * Sets a resource free, for an operator. Its holder can no longer extend the lease, and learns so
   * with its next extension. Nobody else is granted the resource before the holder's last deadline.
   * So there are never two holders, whatever the state of the holder is: well, hung, stopped or cut
   * off. Waiters keep their places. Locks nothing, and can be repeated.
   *
   * <p>A release by the holder does not shorten that time. {@code DEL} on the nodes would: it lets
   * another client in while the holder still works.
   *
   * @param resource the name to set free; a lease on several names is lost as a whole
   * @return the result, after at most two node timeouts; if this instance is closed during the
   *     call, {@link FreeResult.Outcome#UNKNOWN} unless enough nodes had answered
   * @throws InterruptedException if the thread was interrupted; the resource may be set free
   * @throws NullPointerException if the resource is null
   * @throws IllegalArgumentException if the resource is not valid
   * @throws IllegalStateException if this instance is closed
   */
  FreeResult free(String resource) throws InterruptedException;

  /**
   * Sets a resource free, as {@link #free(String)} does, but only if it is still held at this
   * token. So a later holder is not hit. Nodes do not know the tokens of {@linkplain
   * LeaseRequest#shared shared} leases: {@link #free(String)} ends those, all at once.
   *
   * @param resource the name to set free
   * @param token the token of the lease to end, as {@link #inspect} shows it; its {@linkplain
   *     Lease#fencingToken() fencing token} is lower if it was passed on
   * @return the result, as {@link #free(String)} does
   * @throws InterruptedException if the thread was interrupted; the resource may be set free
   * @throws NullPointerException if the resource is null
   * @throws IllegalArgumentException if an argument is not valid
   * @throws IllegalStateException if this instance is closed
   */
  FreeResult free(String resource, long token) throws InterruptedException;

  /**
   * Sets a resource free without a thread, as {@link #free(String)} does. Cancelling the future
   * does not undo it.
   *
   * @param resource the name to set free
   * @return the future result, completed on the callback executor
   * @throws NullPointerException if the resource is null
   * @throws IllegalArgumentException if the resource is not valid
   * @throws IllegalStateException if this instance is closed
   */
  CompletableFuture<FreeResult> freeAsync(String resource);

  /**
   * Sets a resource free without a thread, as {@link #free(String, long)} does. Cancelling the
   * future does not undo it.
   *
   * @param resource the name to set free
   * @param token the token of the lease to end, as {@link #inspect} shows it
   * @return the future result, completed on the callback executor
   * @throws NullPointerException if the resource is null
   * @throws IllegalArgumentException if an argument is not valid
   * @throws IllegalStateException if this instance is closed
   */
  CompletableFuture<FreeResult> freeAsync(String resource, long token);

  /**
   * Returns the state of each node and the reason for it, in the order of the configuration. A
   * local look: sends nothing.
   *
   * @return one status per node
   */
  List<NodeStatus> nodes();

  /**
   * Returns true while enough nodes vote: a majority or, while clients move to other nodes, a
   * majority of the present nodes and a majority of the future ones. A local look for health
   * checks: sends nothing, and promises nothing about the next request.
   *
   * @return true if the nodes that are {@link NodeStatus.State#UP}, and not out of memory, are
   *     enough
   */
  boolean isAvailable();

  /**
   * Asks all nodes who holds a resource. Takes nothing and changes nothing; for operators. Waits
   * for the answer of every node, for at most one node timeout.
   *
   * @param resource the name, without the key prefix
   * @return the answers of the nodes, and what follows from them
   * @throws InterruptedException if the thread was interrupted before or while it waited
   * @throws NullPointerException if the resource is null
   * @throws IllegalArgumentException if the resource cannot be locked
   * @throws IllegalStateException if this instance is closed, also during the call
   */
  Inspection inspect(String resource) throws InterruptedException;

  /**
   * Asks all nodes who holds a resource, without a thread; otherwise as {@link #inspect}.
   *
   * @param resource the name, without the key prefix
   * @return the future answers, completed on the callback executor; exceptionally with {@link
   *     IllegalStateException} if this instance is closed
   * @throws NullPointerException if the resource is null
   * @throws IllegalArgumentException if the resource cannot be locked
   */
  CompletableFuture<Inspection> inspectAsync(String resource);

  /**
   * Returns the leases that this instance holds, in the order in which they were acquired. A local
   * look: sends nothing.
   *
   * @return one status per valid lease
   */
  List<LeaseStatus> leases();

  /**
   * Returns the resources for which calls of this instance wait, the most contended first: those
   * with the most calls, then with the longest wait. Counts calls with a wait, from their start,
   * whether they are queued, ask the nodes or pause; not calls of other processes. A local look:
   * sends nothing, and takes time for each open call.
   *
   * @return one status per set of resources that is waited for
   */
  List<WaitStatus> waits();

  /**
   * Returns the number of events that listeners of this instance did not get, because too many
   * waited, or failed on by throwing. Other callbacks that throw count, too. A local look: sends
   * nothing.
   *
   * @return the number since this instance was built, each listener counted for itself
   */
  long lostEvents();
}
