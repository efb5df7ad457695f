package io.redlock.simulation;

/**
 * I23: while the masters change or are copied, the clients whose majorities are well are served.
 *
 * <p>A client acquires a lease that nobody else wants after every pause. An attempt ends within a
 * node timeout, so leases are at most a pause and a node timeout apart. One attempt may fail: it
 * tells the client that a master was marked anew, while another one is down or abstains. The next
 * one does not fail for that reason, so two leases are at most two pauses and two node timeouts
 * apart.
 */
final class ServiceChecks {

  private final SimWorld world;
  private final WellClients well;
  private long grantedNanos;
  private long wellNanos;

  ServiceChecks(SimWorld world, WellClients well) {
    this.world = world;
    this.well = well;
  }

  /** No two leases are further apart. */
  private static long longestNanos(SimPlan plan) {
    return 2 * (Pulse.PAUSE_NANOS + plan.nodeTimeoutNanos) + Checker.LOOK_NANOS;
  }

  /** Somebody acquired a lease that nobody else wanted. */
  void granted() {
    grantedNanos = world.nowNanos();
  }

  void judge() {
    long now = world.nowNanos();
    if (well.processes().isEmpty()) {
      wellNanos = now;
    }
    long gapNanos = now - Math.max(grantedNanos, wellNanos);
    if (gapNanos > longestNanos(world.plan)) {
      world.violated(
          SimInvariant.I23,
          () -> "nobody has acquired anything for " + gapNanos / SimPlan.MILLI + " ms");
    }
  }
}
