package io.redlock.spi;

import io.redlock.NodeStatus;
import java.util.OptionalLong;

/**
 * One independent Redis master, as its clients see it. It executes {@link NodeRequest}s in the
 * order in which they were sent, and answers each exactly once.
 *
 * <p>Order is a safety property. Requests that one thread sends to a node, or several threads
 * ordered by happens-before, reach the server in that order for as long as the connection lives. A
 * release therefore never overtakes the grant of its own owner. A release that cannot be sent now
 * waits inside the node for the next connection, where it comes first after the node's own
 * handshake. The removal of a ticket is sent to a silent node, too; without a connection the node
 * may refuse it, since a ticket expires by itself.
 *
 * <p>Implementations are thread-safe. Requests before {@link #start} and after {@link #close()} are
 * answered with {@link NodeReply.Kind#UNREACHABLE}.
 */
public interface LockNode extends AutoCloseable {

  /** Returns the node's name as configured: unique in its lock service, without secrets. */
  String name();

  /**
   * Begins to connect, and returns at once. Called once, after all settings were checked.
   *
   * @param ticker the lock service's clocks, to which {@link #clockOffsetMicros()} relates
   * @param scheduler the lock service's scheduler, which outlives this node
   * @param observer receives the events of the node
   */
  void start(Ticker ticker, Scheduler scheduler, Observer observer);

  /**
   * Sends a request to the node. Never blocks and never throws: every failure is an answer.
   *
   * <p>The handler is called exactly once, perhaps before this method returns, perhaps long after
   * the caller's timeout, which the node does not know. It is called on a thread of the node, or on
   * the calling thread if the request fails at once, and must not block.
   *
   * @param request the request to execute
   * @param slot a number that is passed to the handler unchanged: the caller's index of this node
   * @param handler receives the answer
   * @return a handle that withdraws the request while it has not been sent
   */
  Pending send(NodeRequest request, int slot, ReplyHandler handler);

  /**
   * Returns the node's clock minus {@link Ticker#monotonicNanos()}: its TIME in microseconds since
   * the epoch minus the ticker's nanoseconds / 1000 at the same instant. Empty until the node has
   * reported its time once.
   */
  OptionalLong clockOffsetMicros();

  /** Returns the node's state and the reason for it. A local look: sends nothing. */
  NodeStatus status();

  /**
   * Begins to close the node, and returns at once; {@link #close()} follows. A service stops all
   * its nodes before it closes the first, so that their waits overlap. Does nothing by default.
   * Never throws.
   */
  default void stop() {}

  /**
   * Closes the node. Queued requests are still written, for a bounded time, so that releases are
   * sent; then every open request is answered. Never throws. Repeated calls do nothing.
   */
  @Override
  void close();

  /** Receives the events of a node. Its methods must neither block nor throw. */
  @FunctionalInterface
  interface Observer {

    /**
     * Called when the node's {@link NodeStatus#state()} has changed.
     *
     * @param status its status now
     */
    void onStateChange(NodeStatus status);

    /**
     * Called when the node may have lost earlier grants, or may expire them early: it was
     * restarted, flushed or replaced, or its clock was set. Does nothing by default.
     *
     * @param reason what happened, for an operator
     */
    default void onReset(String reason) {}

    /**
     * Called when the node wakes a waiter of this client: the waiter is first in the queue of a
     * name that has become free. A hint, which may come late, twice, or not at all. Does nothing by
     * default.
     *
     * @param waiter the {@link NodeRequest.Ticket#number()} of the waiter
     */
    default void onWake(long waiter) {}

    /**
     * Called when wake-ups begin to reach this client; earlier ones may have been missed. Does
     * nothing by default.
     */
    default void onListening() {}
  }

  /** Receives the answer to one request. */
  @FunctionalInterface
  interface ReplyHandler {
    /**
     * Called once, with the answer. Must neither block nor throw.
     *
     * @param slot the number that was sent with the request
     * @param reply the answer
     */
    void onReply(int slot, NodeReply reply);
  }

  /** A request that was handed to a node. */
  @FunctionalInterface
  interface Pending {
    /**
     * Withdraws the request if no byte of it has been written to the socket. Neither blocks nor
     * waits for a handler: the caller may hold a lock that its handlers take.
     *
     * @return true if the request will never be executed; its handler is then never called. False
     *     if it was, or may have been, sent: its handler is called as usual.
     */
    boolean withdraw();

    /**
     * Returns true if the request waits for its turn: the node has not answered it, but is not
     * silent, and answers those before it. Neither blocks nor waits for a handler. False if that is
     * not known, which is the default.
     */
    default boolean awaitsItsTurn() {
      return false;
    }
  }
}
