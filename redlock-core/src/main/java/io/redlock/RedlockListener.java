package io.redlock;

import java.time.Duration;

/**
 * Watches a lock service. Every method does nothing by default. Called on the callback executor, in
 * no promised order between leases; what a method throws is logged and contained.
 */
public interface RedlockListener {

  /**
   * A call for a lease has ended, with or without one. A call that was given up (cancelled,
   * interrupted, ended by {@code close}) is told of only if a lease had been granted meanwhile:
   * each lease is told of at its beginning and at its end.
   *
   * @param request what was asked for
   * @param result how it went
   * @param took from the call to its result
   */
  default void onAcquire(LeaseRequest request, AcquireResult result, Duration took) {}

  /**
   * A lease was extended, or could not be.
   *
   * @param lease which
   * @param result how it went
   * @param took from the request to its result
   */
  default void onExtend(Lease lease, ExtendResult result, Duration took) {}

  /**
   * A lease has ended.
   *
   * @param lease which
   * @param end how
   * @param held from its acquisition to its end
   */
  default void onEnd(Lease lease, LeaseEnd end, Duration held) {}

  /**
   * A node has become something else.
   *
   * @param status what it is now
   */
  default void onNodeState(NodeStatus status) {}

  /**
   * A node can no longer be relied upon for what it granted before: it was restarted, emptied or
   * replaced, or its clock was set. Leases that it granted are extended on the nodes at once, to
   * find out whether a quorum still holds them.
   *
   * @param node the node's name
   * @param reason what happened
   */
  default void onPastLost(String node, String reason) {}
}
