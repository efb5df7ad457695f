package io.redlock;

import java.time.Duration;

/**
 * Receives the events of leases and nodes. Implemented by users: every method does nothing by
 * default, also those that are added later. Methods are called on the callback executor, in no
 * promised order, except for {@link #onStart}, {@link #onClose} and {@link #onCall}. They may run
 * at the same time on several threads, and the end of a lease may be reported before its beginning:
 * implementations must be thread-safe. An exception is logged and has no other effect.
 *
 * <p>While 1,000 events wait for a listener, further ones are dropped for it, and the log says so:
 * a lease may be reported at its beginning only, or at its end only. Never dropped are {@link
 * #onNodeReset} and {@link #onEnd} of a lost lease, so what they do must be short.
 */
public interface RedlockListener {

  /**
   * Called once, before the lock service is returned to the thread that builds it, on that thread.
   * It must not block.
   *
   * @param redlock the lock service; its nodes may not be connected yet
   */
  default void onStart(Redlock redlock) {}

  /**
   * Called once, when the lock service is closed, at the end of {@link Redlock#close} on its
   * thread. Events of leases that ended with it may follow. It must not block.
   *
   * @param redlock the lock service
   */
  default void onClose(Redlock redlock) {}

  /**
   * Called when an acquire begins, on the thread that calls for the lease. The listener that it
   * returns receives the events of this call and of its lease. So it can keep the context of that
   * thread, for example a trace. It must not block. If it returns null or throws, that is logged,
   * and this listener is used.
   *
   * @param request the resources and terms
   * @return the listener of the call, not null; by default this listener
   */
  default RedlockListener onCall(LeaseRequest request) {
    return this;
  }

  /**
   * Called when an acquire has ended, with or without a lease, with the result that its caller
   * gets. One that is given up before that is not reported here, nor is the end of its lease.
   *
   * @param request the resources and terms
   * @param result the result
   * @param took the time from the call to its result
   */
  default void onAcquire(LeaseRequest request, AcquireResult result, Duration took) {}

  /**
   * Called when an acquire was given up: cancelled, interrupted, or ended by {@code close}.
   *
   * @param request the resources and terms
   * @param waited the time from the call to its end
   */
  default void onGiveUp(LeaseRequest request, Duration waited) {}

  /**
   * Called when a lease was extended, or could not be.
   *
   * @param lease the lease
   * @param result the result
   * @param took the time from the request to its result
   */
  default void onExtend(Lease lease, ExtendResult result, Duration took) {}

  /**
   * Called when a lease has ended.
   *
   * @param lease the lease
   * @param end how it ended
   * @param held the time from its acquire to its end
   */
  default void onEnd(Lease lease, LeaseEnd end, Duration held) {}

  /**
   * Called when a node changed state.
   *
   * @param status its state now
   */
  default void onNodeState(NodeStatus status) {}

  /**
   * Called when a node may have lost earlier grants: it was restarted, emptied or replaced, or its
   * clock was set. Leases that it granted are extended at once, to find out whether a quorum still
   * holds them.
   *
   * @param node the node's name
   * @param reason what happened
   */
  default void onNodeReset(String node, String reason) {}
}
