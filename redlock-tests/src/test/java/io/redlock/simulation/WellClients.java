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
    boolean areAlone = world.clients.stream().noneMatch(this::mayBeServed);
    world.servers.forEach(server -> look(server, areAlone));
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

  /** A server that is back gets its mark from a client: it does not recover while none runs. */
  private void look(SimServer server, boolean areAlone) {
    boolean isBack = serverWellNanos.getOrDefault(server, 0L) <= world.nowNanos();
    if (!server.isWell() || (areAlone && !isBack)) {
      serverWellNanos.put(server, world.nowNanos() + RECOVERY_NANOS);
      isBack = false;
    }
    servers |= isBack ? 1 << server.index : 0;
  }

  private static @Nullable SimProcess process(SimClient client) {
    SimClient.Life life = client.life();
    return life == null || life.isOver() ? null : life.process;
  }

  private boolean isLeftBehind(SimClient client) {
    SimPlan.Change change = world.plan.change;
    return client == world.clients.get(0) && change != null && change.left() != Left.NOBODY;
  }

  private boolean mayBeServed(SimClient client) {
    return process(client) != null && !isLeftBehind(client);
  }

  private void look(SimClient client) {
    SimPlan plan = world.plan;
    long now = world.nowNanos();
    SimProcess process = process(client);
    Seen before = seen.getOrDefault(client, new Seen(null, 0, 0));
    long stoodStillNanos = process == null ? 0 : process.stoodStillNanos();
    long wellNanos = before.wellNanos;
    if (process == null || process != before.process) {
      wellNanos = now + 4 * plan.nodeTimeoutNanos;
    } else if (process.isHeldUp() || stoodStillNanos != before.stoodStillNanos) {
      wellNanos = now + plan.nodeTimeoutNanos;
    }
    seen.put(client, new Seen(process, stoodStillNanos, wellNanos));
    if (process != null
        && !isLeftBehind(client)
        && wellNanos <= now
        && process.quorum.isReachedBy(servers)) {
      processes.add(process);
    }
  }
}
