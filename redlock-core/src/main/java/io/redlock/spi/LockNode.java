package io.redlock.spi;

import io.redlock.NodeStatus;
import java.util.OptionalLong;

/**
 * One independent Redis master, as the quorum sees it: something that executes {@link NodeRequest}s
 * in the order given and answers each exactly once.
 *
 * <p>Order is a safety property. Requests handed to one node by one thread, or by threads that are
 * ordered by happens-before, reach the server in that order for as long as the connection lives; a
 * release therefore never overtakes the grant of its own owner. A release that cannot be sent now
 * waits inside the node for the next connection and goes there ahead of everything but the node's
 * own handshake. A withdrawal is sent to a node that has merely been slow, too; without a
 * connection it may be refused, for a ticket runs out by itself.
 *
 * <p>Implementations are thread-safe. They start to work at {@link #start} and end at {@link
 * #close()}; a request outside that span is answered with {@link NodeReply.Kind#UNREACHABLE}.
 */
public interface LockNode extends AutoCloseable {

  /** The node's name as configured: unique among the nodes of one lock service, free of secrets. */
  String name();

  /**
   * Begins to connect, without waiting for it. Called once, after all settings were checked.
   *
   * @param ticker the lock service's clocks, to which {@link #clockOffsetMicros()} relates
   * @param scheduler the lock service's scheduler, which outlives this node
   * @param observer told of what happens to the node
   */
  void start(Ticker ticker, Scheduler scheduler, Observer observer);

  /**
   * Hands a request to the node. Never blocks and never throws: whatever goes wrong is an answer.
   *
   * <p>The handler is called exactly once, perhaps before this method returns, perhaps long after
   * the caller lost interest: the node itself keeps no deadline of the caller's. It is called on a
   * thread of the node's (or, for what fails at once, on the calling thread) and must not block.
   *
   * @param request what to execute
   * @param slot a number the handler gets back unchanged; the coordinator's index of this node
   * @param handler where the answer goes
   * @return a handle with which the request can be withdrawn while it has not been sent
   */
  Pending send(NodeRequest request, int slot, ReplyHandler handler);

  /**
   * How far the node's clock lies ahead of {@link Ticker#monotonicNanos()}: the node's TIME in
   * microseconds since the epoch minus the ticker's nanoseconds / 1000 at the same instant. Empty
   * until the node has been asked once.
   */
  OptionalLong clockOffsetMicros();

  /** What the node is now, and why. A local look; asks nobody. */
  NodeStatus status();

  /**
   * Begins to end the node and returns at once; {@link #close()} follows. A service stops all its
   * nodes before it closes the first, so that their waits overlap. Does nothing by default. Never
   * throws.
   */
  default void stop() {}

  /**
   * Ends the node: what is queued is still written for a bounded time, so that releases get out;
   * everything unanswered is then answered. Never throws. Repeated calls do nothing.
   */
  @Override
  void close();

  /** Who is told of what happens to a node. Its methods must neither block nor throw. */
  @FunctionalInterface
  interface Observer {

    /**
     * The node's {@link NodeStatus#state()} has changed.
     *
     * @param status what it is now
     */
    void onStateChange(NodeStatus status);

    /**
     * What the node granted before now can no longer be relied upon to be there, or to last: it was
     * restarted, flushed or replaced, or its clock was set. Does nothing by default.
     *
     * @param reason what happened, for a person
     */
    default void onReset(String reason) {}

    /**
     * The node has woken a waiter of this client: it is first in the queue of a name that has
     * become free. A hint, which may come late, twice, or not at all. Nodes without a way to send
     * it never call this. Does nothing by default.
     *
     * @param waiter the {@link NodeRequest.Ticket#number()} of the waiter
     */
    default void onWake(long waiter) {}

    /**
     * Wake-ups reach this client from now on; earlier ones may have been missed. Does nothing by
     * default.
     */
    default void onListening() {}
  }

  /** Where the answer to one request goes. */
  @FunctionalInterface
  interface ReplyHandler {
    /**
     * Takes the one answer to one request. Must neither block nor throw.
     *
     * @param slot the number given with the request
     * @param reply the answer
     */
    void onReply(int slot, NodeReply reply);
  }

  /** A request on its way. */
  @FunctionalInterface
  interface Pending {
    /**
     * Takes the request back if no byte of it has been handed to the socket. Neither blocks nor
     * waits for a handler: the caller may hold a lock that its handlers take.
     *
     * @return true if the request will certainly never be executed; its handler is then not called
     *     any more. False if it was, or may have been, sent: its handler is called as usual.
     */
    boolean withdraw();
  }
}
