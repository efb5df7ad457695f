package io.redlock.simulation;

import io.redlock.simulation.SimPlan.Change.Left;
import io.redlock.testkit.NodeModel.Cell;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The clients that should be served: their process runs, and the majorities that they need are
 * well, both for a while. Looks at them at intervals.
 */
final class WellClients {

  /** After so long every client has connected to, and audited, a master that is back. */
  private static final long RECOVERY_NANOS = 5_000 * SimPlan.MILLI;

  private final SimWorld world;
  private final Map<SimServer, Long> serverWellNanos = new HashMap<>(); // from when on
  private final Map<SimClient, Seen> seen = new HashMap<>();
  private final Set<SimProcess> processes = new LinkedHashSet<>();
  private int servers;

  /** A client as it was at the last look. */
  private record Seen(@Nullable SimProcess process, long stoodStillNanos, long wellNanos) {}

  WellClients(SimWorld world) {
    this.world = world;
  }

  void look() {
    servers = 0;
    world.servers.forEach(this::look);
    processes.clear();
    world.clients.forEach(this::look);
  }

  /** The processes of the clients that are well. */
  Set<SimProcess> processes() {
    return processes;
  }

  /** Whether a name is like that on enough of the servers that are well. */
  boolean majorityHas(String name, Predicate<Cell> state) {
    int having = 0;
    for (SimServer server : world.servers) {
      having |= state.test(server.cell(name)) ? 1 << server.index : 0;
    }
    return world.plan.allMasters().isReachedBy(having & servers);
  }

  private void look(SimServer server) {
    if (!server.isWell()) {
      serverWellNanos.put(server, world.nowNanos() + RECOVERY_NANOS);
    }
    boolean isWell = serverWellNanos.getOrDefault(server, 0L) <= world.nowNanos();
    servers |= isWell ? 1 << server.index : 0;
  }

  private void look(SimClient client) {
    SimPlan plan = world.plan;
    long now = world.nowNanos();
    SimClient.Life life = client.life();
    SimProcess process = life == null || life.isOver() ? null : life.process;
    Seen before = seen.getOrDefault(client, new Seen(null, 0, 0));
    long stoodStillNanos = process == null ? 0 : process.stoodStillNanos();
    long wellNanos = before.wellNanos;
    if (process == null || process != before.process) {
      wellNanos = now + 4 * plan.nodeTimeoutNanos;
    } else if (process.isHeldUp() || stoodStillNanos != before.stoodStillNanos) {
      wellNanos = now + plan.nodeTimeoutNanos;
    }
    seen.put(client, new Seen(process, stoodStillNanos, wellNanos));
    boolean isLeftBehind =
        client == world.clients.get(0) && plan.change != null && plan.change.left() != Left.NOBODY;
    if (process != null
        && !isLeftBehind
        && wellNanos <= now
        && process.quorum.isReachedBy(servers)) {
      processes.add(process);
    }
  }
}
