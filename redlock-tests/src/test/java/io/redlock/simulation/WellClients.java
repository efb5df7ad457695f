package io.redlock.simulation;

import io.redlock.simulation.SimPlan.Change.Left;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The clients that should be served: their process runs, and the majorities that they need are
 * well, both for a while. Looks at them at intervals.
 */
final class WellClients {

  /** After so long every client has connected to, and audited, a master that is back. */
  private static final long RECOVERY_NANOS = 5_000 * SimPlan.MILLI;

  private final SimWorld world;
  private final SimPlan plan;
  private final List<SimServer> servers;
  private final List<SimClient> clients;
  private final long[] serverWellNanos;
  private final long[] clientWellNanos;
  private final long[] stoodStillNanos;
  private final @Nullable SimProcess[] processes;
  private final boolean[] areWell;
  private int wellServers;

  WellClients(SimWorld world) {
    this.world = world;
    plan = world.plan;
    servers = world.servers;
    clients = world.clients;
    serverWellNanos = new long[servers.size()];
    clientWellNanos = new long[clients.size()];
    stoodStillNanos = new long[clients.size()];
    processes = new SimProcess[clients.size()];
    areWell = new boolean[clients.size()];
  }

  void look() {
    wellServers = lookAtServers();
    for (int i = 0; i < clients.size(); i++) {
      areWell[i] = lookAtClient(i);
    }
  }

  boolean isAnyWell() {
    for (boolean isWell : areWell) {
      if (isWell) {
        return true;
      }
    }
    return false;
  }

  /** The process of a client that is well; null if it is not. */
  @Nullable SimProcess process(int client) {
    return areWell[client] ? processes[client] : null;
  }

  /** The servers that are well, as bits. */
  int servers() {
    return wellServers;
  }

  private int lookAtServers() {
    int well = 0;
    for (SimServer server : servers) {
      int index = server.index;
      if (!server.isWell()) {
        serverWellNanos[index] = world.nowNanos() + RECOVERY_NANOS;
      }
      well |= serverWellNanos[index] <= world.nowNanos() ? 1 << index : 0;
    }
    return well;
  }

  private boolean lookAtClient(int index) {
    long now = world.nowNanos();
    SimClient.Life life = clients.get(index).life();
    SimProcess process = life == null || life.isOver() ? null : life.process;
    if (process == null || process != processes[index]) {
      clientWellNanos[index] = now + 4 * plan.nodeTimeoutNanos;
    } else if (process.isHeldUp() || process.stoodStillNanos() != stoodStillNanos[index]) {
      clientWellNanos[index] = now + plan.nodeTimeoutNanos;
    }
    processes[index] = process;
    stoodStillNanos[index] = process == null ? 0 : process.stoodStillNanos();
    boolean isLeftBehind = index == 0 && plan.change != null && plan.change.left() != Left.NOBODY;
    return process != null
        && !isLeftBehind
        && clientWellNanos[index] <= now
        && process.quorum.isReachedBy(wellServers);
  }
}
