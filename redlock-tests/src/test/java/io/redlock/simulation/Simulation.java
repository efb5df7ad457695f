package io.redlock.simulation;

import io.redlock.AcquireResult;
import io.redlock.Lease;
import io.redlock.LeaseRequest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * One run: nodes, clients and faults as a plan says, until it gets calm; then the last checks. The
 * lock services in it are those that users get; only the nodes, the clocks, the scheduler and the
 * network are not real.
 */
final class Simulation {

  /** Ten seconds before the microseconds since the epoch get one digit longer. */
  static final long EPOCH_NANOS = 999_999_990_000_000_000L;

  private static final long SECOND = 1_000_000_000;
  private static final long DAY = 86_400 * SECOND;
  private static final long LONGEST_CHANGE_NANOS = 300 * SECOND;

  private final SimPlan plan;
  private final SimWorld world;
  private final Checker checker;
  private final List<SimServer> servers;
  private final List<SimClient> clients;
  private final @Nullable SimOperator operator;

  private Simulation(SimPlan plan, Parts parts, boolean readable) {
    this.plan = plan;
    world = new SimWorld(plan, parts, readable);
    checker = world.checker;
    servers = world.servers;
    clients = world.clients;
    SimRandom random = SimRandom.of(plan.seed, "world");
    for (int i = 0; i < plan.nodes; i++) {
      new SimServer(world, nodeClock(random));
    }
    int present = plan.change == null ? plan.nodes : plan.change.present();
    SimServer.adopt(servers.subList(0, present), plan.adopted);
    for (int i = 0; i < plan.clients; i++) {
      addClient(i);
    }
    operator = plan.change == null ? null : new SimOperator(world);
  }

  private SimClock nodeClock(SimRandom random) {
    long offsetMicros = random.between(-plan.skewMicros / 3, plan.skewMicros / 3);
    return new SimClock(world, EPOCH_NANOS + 1_000 * offsetMicros, 0);
  }

  private void addClient(int i) {
    SimRandom random = SimRandom.of(plan.seed, "client " + i);
    new SimClient("c" + i, world, random, node -> hopNanos(i, node, random));
  }

  private long hopNanos(int client, int node, SimRandom random) {
    long further = Math.floorMod(node - client, plan.nodes) * plan.hopNanos;
    return plan.hopNanos + (plan.inARing ? further : random.nextLong(plan.hopNanos));
  }

  /** Returns the world in which the plan was carried out. */
  static SimWorld run(SimPlan plan, Parts parts, boolean readable) {
    Simulation simulation = new Simulation(plan, parts, readable);
    simulation.run();
    simulation.world.threads.forEach(SimThread::end);
    return simulation.world;
  }

  /** The same with nothing broken, and without a trace that can be read. */
  static SimWorld run(SimPlan plan) {
    return run(plan, new Parts(), false);
  }

  /** Microseconds since the epoch by true time. */
  static long trueMicros(SimWorld world) {
    return (EPOCH_NANOS + world.nowNanos()) / 1_000;
  }

  /** From a millisecond to a month, forward or back. */
  static long anyOffset(SimRandom random) {
    long size = random.spread(SimPlan.MILLI, 30 * DAY);
    return random.percent(50) ? size : -size;
  }

  private void run() {
    world.trace.note(0, plan.seed, plan::toString);
    clients.forEach(client -> world.after(0, client::start));
    new Chaos(world).begin();
    if (operator != null) {
      operator.begin();
    }
    boolean areServed = plan.hasPulse() || plan.permits || plan.sharedPercent > 0;
    if (areServed && plan.leavesTheNetworkAlone()) {
      checker.watch();
    }
    world.runUntil(plan.calmFromNanos());
    world.note(12, () -> "-- it gets calm");
    clients.forEach(client -> world.after(0, client::startAgain));
    if (operator != null) {
      awaitChange(operator);
    } else {
      SimServer.adoptIfLost(servers);
    }
    settle();
    probe();
    crowd();
    end();
  }

  // What must be so once it is calm.

  private boolean await(long nanos, BooleanSupplier condition) {
    long endNanos = world.nowNanos() + nanos;
    while (!condition.getAsBoolean() && world.nowNanos() < endNanos && world.violation() == null) {
      world.runUntil(Math.min(endNanos, world.nowNanos() + 100 * SimPlan.MILLI));
    }
    return condition.getAsBoolean();
  }

  /** The change of masters comes to its end. */
  private void awaitChange(SimOperator changing) {
    if (!await(LONGEST_CHANGE_NANOS, () -> changing.endedNanos() >= 0)) {
      violated(SimInvariant.I7, "the change of masters does not come to its end");
    }
  }

  /** The callers finish what they are at, and what they no longer want disappears. */
  private void settle() {
    long longest = 10 * plan.maxTtlNanos() + SECOND;
    if (!await(longest, this::isAtRest)) {
      violated(SimInvariant.I7, "a caller does not come to rest");
    }
    world.runUntil(world.nowNanos() + releaseNanos());
    servers.forEach(
        server ->
            server
                .locks()
                .forEach(
                    (name, owners) -> owners.forEach(owner -> expectNone(server, name, owner))));
  }

  private boolean isAtRest() {
    return clients.stream().allMatch(SimClient::isAtRest)
        && checker.holds.all.stream().allMatch(hold -> hold.ends > 0 || hold.process.isDead());
  }

  /** In so much time a release reaches every node. */
  private long releaseNanos() {
    return 4 * SECOND + 2 * plan.silenceTimeoutNanos;
  }

  private void expectNone(SimServer server, String name, String owner) {
    SimHold hold = checker.holds.of(owner);
    long endedNanos =
        hold == null ? checker.holds.lastAskedNanos(owner) : hold.ends == 0 ? -1 : hold.endedNanos;
    boolean abandoned = hold != null && hold.process.isDead();
    boolean tooLate = endedNanos + plan.releaseLifeNanos() < plan.calmFromNanos();
    boolean justEnded = endedNanos < 0 || endedNanos + releaseNanos() > world.nowNanos();
    boolean keptForItsHolder = // to whom a loss is told before its deadline, to have time to stop
        hold != null
            && hold.lost
            && endedNanos + plan.maxTtlNanos() + releaseNanos() > world.nowNanos();
    boolean restored =
        checker.nodes.lostDataWithin(server.index, plan.maxTtlNanos()); // from a dump
    if (!abandoned
        && !tooLate
        && !justEnded
        && !keptForItsHolder
        && !restored
        && !isClosed(owner)) {
      violated(SimInvariant.I5, server + " still has " + name + " for " + owner);
    }
  }

  /** Whether the process that asked for it is gone, or its lock service closed. */
  private boolean isClosed(String owner) {
    return clients.stream()
        .map(SimClient::life)
        .noneMatch(life -> life != null && owner.startsWith(life.process + "#"));
  }

  /** The clients that are served at the end. */
  private List<SimClient> served() {
    return operator == null ? clients : operator.served();
  }

  /** One caller per resource gets it within ttl, abstention and a few pauses. */
  private void probe() {
    long sinceCalm = world.nowNanos() - plan.calmFromNanos();
    long abstentionNanos = (plan.abstentionMillis() * SimPlan.MILLI) * 102 / 100 + 2 * SECOND;
    long within = plan.maxTtlNanos() + Math.max(0, abstentionNanos - sinceCalm) + 3 * SECOND;
    List<Probe> probes = new ArrayList<>();
    for (int i = 0; i < plan.resources; i++) {
      probes.add(new Probe(served().get(i % served().size()), "r" + i, within));
    }
    probes.forEach(Probe::begin);
    world.runUntil(world.nowNanos() + within + SECOND);
    probes.forEach(Probe::expectSuccess);
  }

  /** All at once, and everybody gets it. */
  private void crowd() {
    long within = 2 * SECOND + clients.size() * SECOND;
    List<Probe> probes = new ArrayList<>();
    served().forEach(client -> probes.add(new Probe(client, "r0", within)));
    probes.forEach(Probe::begin);
    await(within + SECOND, () -> probes.stream().allMatch(Probe::isOver));
    probes.forEach(Probe::expectSuccess);
  }

  private final class Probe {
    private final SimClient client;
    private final String resource;
    private final long withinNanos;
    private CompletableFuture<AcquireResult> result = new CompletableFuture<>();

    Probe(SimClient client, String resource, long withinNanos) {
      this.client = client;
      this.resource = resource;
      this.withinNanos = withinNanos;
    }

    boolean isOver() {
      return result.isDone();
    }

    void begin() {
      SimClient.Life life = client.life();
      if (life == null || world.violation() != null) {
        return;
      }
      LeaseRequest request =
          LeaseRequest.of(resource, plan.maxTtl()).waitUpTo(Duration.ofNanos(withinNanos));
      result = life.redlock.acquireAsync(request);
      result.thenAccept(
          acquired -> acquired.lease().ifPresent(lease -> letGo(life.process, lease)));
    }

    private void letGo(SimProcess process, Lease lease) {
      checker.holds.acquired(process, lease);
      lease.close();
    }

    void expectSuccess() {
      Object outcome =
          result
              .<Object>handle((acquired, failure) -> failure == null ? acquired : failure)
              .getNow("nothing");
      if (!(outcome instanceof AcquireResult acquired) || acquired.lease().isEmpty()) {
        violated(
            SimInvariant.I7,
            client.name + " does not get " + resource + " after it got calm, but " + outcome);
      }
    }
  }

  /** Nothing is left over. */
  private void end() {
    world.runUntil(world.nowNanos() + 2 * plan.releaseLifeNanos());
    for (SimHold hold : checker.holds.all) {
      if (hold.ends == 0 && !hold.process.isDead()) {
        violated(SimInvariant.I11, hold + " has not ended");
      }
    }
    for (SimClient client : clients) {
      SimClient.Life life = client.life();
      if (life != null && life.scheduler.pending() > 0) {
        violated(
            SimInvariant.I12, client.name + " has " + life.scheduler.pending() + " timers left");
      }
    }
    for (SimServer server : servers) {
      server
          .locks()
          .forEach((name, owners) -> violated(SimInvariant.I5, server + " still has " + name));
    }
    clients.forEach(SimClient::close);
    world.runUntil(world.nowNanos() + 2 * SECOND);
    for (SimClient client : clients) {
      SimClient.Life life = client.life();
      if (life != null && life.lanes.stream().anyMatch(lane -> lane.open() > 0)) {
        violated(SimInvariant.I12, client.name + " has requests that were never answered");
      }
    }
    if (checker.calls.open() > 0) {
      violated(SimInvariant.I7, checker.calls.open() + " calls have not returned");
    }
  }

  private void violated(SimInvariant invariant, String what) {
    world.violated(invariant, () -> what);
  }
}
