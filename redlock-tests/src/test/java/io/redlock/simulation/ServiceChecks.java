package io.redlock.simulation;

import java.util.HashMap;
import java.util.Map;

/**
 * I23 and I31: while the masters change or are copied, the clients whose majorities are well are
 * served; and each of them is, between two leases of its own.
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
  private final Map<SimProcess, Long> servedNanos = new HashMap<>(); // or not well, last

  ServiceChecks(SimWorld world, WellClients well) {
    this.world = world;
    this.well = well;
  }

  /** No two leases are further apart. */
  private static long longestNanos(SimPlan plan) {
    return 2 * (Pulse.PAUSE_NANOS + plan.nodeTimeoutNanos) + Checker.LOOK_NANOS;
  }

  /** Somebody acquired a lease that nobody else wanted. */
  void granted(SimProcess process) {
    grantedNanos = world.nowNanos();
    Long beforeNanos = servedNanos.put(process, grantedNanos);
    long gapNanos = beforeNanos == null ? 0 : grantedNanos - beforeNanos;
    if (gapNanos > longestNanos(world.plan)
        && world.plan.answersInTime()
        && well.processes().contains(process)) {
      world.violated(
          SimInvariant.I31,
          () -> process + " was not served for " + gapNanos / SimPlan.MILLI + " ms");
    }
  }

  void judge() {
    long now = world.nowNanos();
    if (well.processes().isEmpty()) {
      wellNanos = now;
    }
    servedNanos.replaceAll((process, nanos) -> well.processes().contains(process) ? nanos : now);
    long gapNanos = now - Math.max(grantedNanos, wellNanos);
    if (gapNanos > longestNanos(world.plan)) {
      world.violated(
          SimInvariant.I23,
          () -> "nobody has acquired anything for " + gapNanos / SimPlan.MILLI + " ms");
    }
  }
}
