package io.redlock.simulation;

import java.util.List;
import org.jspecify.annotations.Nullable;

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

  /** After so long every client has connected to, and audited, a master that is back. */
  private static final long RECOVERY_NANOS = 5_000 * SimPlan.MILLI;

  private final SimWorld world;
  private final SimPlan plan;
  private long grantedNanos;
  private long longestGapNanos;

  ServiceChecks(SimWorld world, SimPlan plan) {
    this.world = world;
    this.plan = plan;
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
  void watch(List<SimServer> servers, List<SimClient> clients) {
    new Watch(servers, clients).look();
  }

  private final class Watch {
    private final List<SimServer> servers;
    private final List<SimClient> clients;
    private final long[] serverWellNanos;
    private final long[] clientWellNanos;
    private final long[] stoodStillNanos;
    private final @Nullable SimProcess[] processes;
    private long wellNanos;

    Watch(List<SimServer> servers, List<SimClient> clients) {
      this.servers = servers;
      this.clients = clients;
      serverWellNanos = new long[servers.size()];
      clientWellNanos = new long[clients.size()];
      stoodStillNanos = new long[clients.size()];
      processes = new SimProcess[clients.size()];
    }

    private void look() {
      long now = world.nowNanos();
      if (now >= plan.calmFromNanos()) {
        return;
      }
      int wellServers = wellServers(now);
      boolean isWell = false;
      for (int i = 0; i < clients.size(); i++) {
        isWell |= isWell(i, now, wellServers);
      }
      if (!isWell) {
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

    private int wellServers(long now) {
      int well = 0;
      for (SimServer server : servers) {
        int index = server.index;
        if (!server.isWell()) {
          serverWellNanos[index] = now + RECOVERY_NANOS;
        }
        well |= serverWellNanos[index] <= now ? 1 << index : 0;
      }
      return well;
    }

    /** Whether a client has run for a while without standing still, and its majorities are well. */
    private boolean isWell(int index, long now, int wellServers) {
      SimClient.Life life = clients.get(index).life();
      SimProcess process = life == null || life.isOver() ? null : life.process;
      if (process == null || process != processes[index]) {
        clientWellNanos[index] = now + 4 * plan.nodeTimeoutNanos;
      } else if (process.isHeldUp() || process.stoodStillNanos() != stoodStillNanos[index]) {
        clientWellNanos[index] = now + plan.nodeTimeoutNanos;
      }
      processes[index] = process;
      stoodStillNanos[index] = process == null ? 0 : process.stoodStillNanos();
      boolean isLeftBehind = index == 0 && plan.change != null && plan.change.hasStraggler();
      return process != null
          && !isLeftBehind
          && clientWellNanos[index] <= now
          && process.quorum.isReachedBy(wellServers);
    }
  }
}
