package io.redlock.simulation;

/**
 * I23: while the masters change, the clients whose majorities are well are served.
 *
 * <p>A client acquires a lease that nobody else wants after every pause. An attempt ends within a
 * node timeout, so leases are at most a pause and a node timeout apart. One attempt may fail: it
 * tells the client that a master was marked anew, while another one is down or abstains. The next
 * one does not fail for that reason, so two leases are at most two pauses and two node timeouts
 * apart.
 */
final class ServiceChecks {

  private static final long LOOK_NANOS = 10 * SimPlan.MILLI;

  private final SimWorld world;
  private final SimPlan plan;
  private long grantedNanos;
  private long longestGapNanos;

  ServiceChecks(SimWorld world) {
    this.world = world;
    this.plan = world.plan;
  }

  /** No two leases are further apart. */
  static long longestNanos(SimPlan plan) {
    return 2 * (Pulse.PAUSE_NANOS + plan.nodeTimeoutNanos) + LOOK_NANOS;
  }

  /** Somebody acquired a lease that nobody else wanted. */
  void granted() {
    grantedNanos = world.nowNanos();
  }

  /** The longest time without a lease while majorities were well. */
  long longestGapNanos() {
    return longestGapNanos;
  }

  /** Looks from now on until it is calm. */
  void watch() {
    new Watch().look();
  }

  private final class Watch {
    private final WellClients well = new WellClients(world);
    private long wellNanos;

    private void look() {
      long now = world.nowNanos();
      if (world.isCalm()) {
        return;
      }
      well.look();
      if (!well.isAnyWell()) {
        wellNanos = now;
      }
      long gapNanos = now - Math.max(grantedNanos, wellNanos);
      longestGapNanos = Math.max(longestGapNanos, gapNanos);
      if (gapNanos > longestNanos(plan)) {
        world.violated(
            SimInvariant.I23,
            () -> "nobody has acquired anything for " + gapNanos / SimPlan.MILLI + " ms");
      }
      world.after(LOOK_NANOS, this::look);
    }
  }
}
