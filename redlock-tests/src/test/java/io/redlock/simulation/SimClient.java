package io.redlock.simulation;

import io.redlock.Redlock;
import io.redlock.driver.CoreBuilder;
import io.redlock.driver.RedlockBuilder;
import io.redlock.jedis.lane.LaneSettings;
import io.redlock.jedis.lane.NodeLane;
import io.redlock.jedis.membership.NodeTrust;
import io.redlock.jedis.membership.Peers;
import io.redlock.jedis.membership.TrustRules;
import io.redlock.jedis.scripts.RequestEncoder;
import io.redlock.spi.LockNode;
import io.redlock.spi.Quorum;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.function.IntToLongFunction;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** A machine with one client process: the lock service that users get, on simulated parts. */
final class SimClient {

  private static final long CALLBACK_NANOS = 50_000;

  final String name;
  final SimClock monotonic;
  final SimClock wall;
  final List<SimLink> links;
  private final SimWorld world;
  private final SimPlan plan;
  private final Parts parts;
  private final SimRandom random;
  private final List<Session> sessions = new ArrayList<>();
  private final List<SimProcess> processes = new ArrayList<>(); // one, and those that are closing
  private int lives;
  private Masters known = Masters.PRESENT;
  private Duration maxTtl;
  private @Nullable Life life;

  /** The masters that a process knows while they change. */
  enum Masters {
    PRESENT,
    BOTH,
    FUTURE;

    /** Returns the quorums of such a process; nodes are bits. */
    Quorum quorum(SimPlan plan) {
      SimPlan.Change change = plan.change;
      if (change == null) {
        return plan.allMasters();
      }
      return switch (this) {
        case PRESENT -> change.before();
        case BOTH -> change.joint();
        case FUTURE -> new Quorum(change.after(), 0);
      };
    }
  }

  /** One process, from its start to its end. */
  final class Life {
    final SimProcess process;
    final SimScheduler scheduler;
    final List<SimNode> lanes = new ArrayList<>();
    final Duration maxTtl = SimClient.this.maxTtl;
    final Redlock redlock;
    private boolean closed;

    private Life(String processName) {
      Quorum quorum = known.quorum(plan);
      process = new SimProcess(processName, world, monotonic, wall, random, quorum);
      scheduler = new SimScheduler(process);
      Quorum itsOwn = known == Masters.FUTURE ? Quorum.of(quorum.nodes()) : quorum;
      addLanes(itsOwn);
      Quorum needed = parts.needed.apply(itsOwn);
      List<? extends LockNode> nodes = parts.nodes.apply(lanes, process);
      Supplier<String> ownerIds =
          parts.ownerIds.apply(() -> processName + "#" + Long.toHexString(random.nextLong()));
      RedlockBuilder builder =
          new RedlockBuilder()
              .over(nodes.subList(0, needed.nodes()), needed)
              .nodeTimeout(Duration.ofNanos(plan.nodeTimeoutNanos))
              .maxTtl(maxTtl)
              .driftPerSecond(Duration.ofNanos(plan.driftPartsPerMillion * 1_000))
              .clockSkew(Duration.ofNanos(plan.skewMicros * 1_000))
              .lossMargin(plan.lossMargin)
              .ticker(parts.ticker.apply(process))
              .scheduler(parts.scheduler.apply(scheduler, lanes))
              .random(random)
              .ownerIds(ownerIds)
              .callbackExecutor(callbacks());
      if (plan.has(SimFault.USER_CODE)) {
        new UserCode(process, random).configure(builder, ownerIds, callbacks());
        CoreBuilder.startRefusedWith(builder, parts.threads.apply(threads()));
      }
      parts.settings.accept(builder);
      redlock = builder.build();
    }

    /** As the production code connects a lock service to its nodes. */
    private void addLanes(Quorum quorum) {
      int masters = process.quorum.present() | process.quorum.future();
      List<SimServer> known =
          world.servers.stream().filter(server -> (masters & 1 << server.index) != 0).toList();
      Peers peers = new Peers(known.stream().map(SimServer::toString).toList(), quorum);
      TrustRules rules =
          TrustRules.of(parts.guarded, maxTtl, plan.driftPartsPerMillion, plan.skewMicros, "");
      LaneSettings settings =
          new LaneSettings(
              plan.nodeTimeoutNanos,
              plan.silenceTimeoutNanos,
              plan.releaseLifeNanos(),
              plan.skewMicros,
              new RequestEncoder(plan.retentionMillis, plan.skewMicros));
      for (SimServer server : known) {
        SimSocket socket = new SimSocket(server, links.get(server.index), process, random);
        LockNode lane =
            new NodeLane(
                server.toString(),
                parts.dialer.apply(socket),
                settings,
                new NodeTrust(
                    server.toString(), lanes.size(), peers, rules, plan.driftPartsPerMillion),
                SimRandom.of(plan.seed, process + " backs off from " + server));
        lanes.add(
            new SimNode(
                parts.lane.apply(lane, process),
                socket,
                given -> parts.laneScheduler.apply(scheduler.ofLanes(), process)));
      }
    }

    private Executor callbacks() {
      SimProcess.Strand[] pool = {process.strand(), process.strand()};
      return task -> {
        SimProcess.Strand strand = pool[random.nextInt(pool.length)];
        world.after(random.nextLong(CALLBACK_NANOS), () -> strand.run(task));
      };
    }

    /** Starts threads of the lock service. */
    private Executor threads() {
      List<SimProcess.Strand> threads = new ArrayList<>();
      return work ->
          world.after(
              random.nextLong(CALLBACK_NANOS),
              () ->
                  threads.stream()
                      .filter(SimProcess.Strand::isIdle)
                      .findFirst()
                      .orElseGet(
                          () -> {
                            threads.add(process.strand());
                            return threads.get(threads.size() - 1);
                          })
                      .run(work));
    }

    boolean isOver() {
      return closed || process.isDead();
    }
  }

  /**
   * @param hopNanos how long a message to or from a node takes at least
   */
  SimClient(String name, SimWorld world, SimRandom random, IntToLongFunction hopNanos) {
    this.name = name;
    this.world = world;
    this.random = random;
    links =
        IntStream.range(0, world.servers.size())
            .mapToObj(node -> new SimLink(world, random, hopNanos.applyAsLong(node)))
            .toList();
    plan = world.plan;
    parts = world.parts;
    maxTtl = plan.maxTtl();
    world.clients.add(this);
    long ratePpm = plan.has(SimFault.CLIENT_RATE) ? random.between(-4_000, 4_000) : 0;
    long offsetNanos = plan.has(SimFault.CLIENT_WALL_STEP) ? Simulation.anyOffset(random) : 0;
    monotonic = new SimClock(world, random.between(-1_000_000_000, 1_000_000_000), ratePpm);
    wall = new SimClock(world, Simulation.EPOCH_NANOS + offsetNanos, ratePpm);
  }

  /** A new process starts. */
  void start() {
    Life started = new Life(name + (lives == 0 ? "" : "'" + lives));
    lives++;
    processes.removeIf(SimProcess::isDead);
    processes.add(started.process);
    life = started;
    world.checker.fair.starts();
    for (int i = 0; i < plan.sessions; i++) {
      Session session = new Session(world, started, random);
      sessions.add(session);
      session.begin();
    }
    if (plan.hasPulse()) {
      new Pulse(world, started, "pulse of " + started.process).begin();
    }
  }

  /** A new process starts unless one runs. */
  void startAgain() {
    if (!isRunning()) {
      start();
    }
  }

  /** Its processes know other masters or terms from now on. The one that runs is replaced. */
  void learn(Masters masters, Duration ttl) {
    known = masters;
    maxTtl = ttl;
    close();
    world.after(SimPlan.MILLI, this::startAgain);
  }

  @Nullable Life life() {
    return life;
  }

  boolean isRunning() {
    Life now = life;
    return now != null && !now.isOver();
  }

  /** Whether every caller has come to rest. */
  boolean isAtRest() {
    return sessions.stream().allMatch(Session::isAtRest);
  }

  /** The machine sleeps: its processes stand still, and its monotonic clock with them. */
  void suspend(long nanos) {
    if (processes.stream().noneMatch(SimProcess::isFrozen)) {
      monotonic.stop();
      world.after(nanos, monotonic::go);
      processes.forEach(process -> process.freeze(nanos));
    }
  }

  boolean isAsleep() {
    return monotonic.isStopped();
  }

  /** The process dies. */
  void crash() {
    Life now = life;
    if (now != null && !now.process.isBlocked()) {
      now.process.die();
      now.lanes.forEach(SimNode::orphan);
      life = null;
    }
  }

  /** The lock service is closed under its callers. */
  void close() {
    Life now = life;
    if (now != null && !now.closed) {
      now.closed = true;
      close(now, now.process.strand());
    }
  }

  private void close(Life closed, SimProcess.Strand closer) {
    closer.run(
        () -> {
          if (!closed.process.blocking(() -> closeNow(closed))) {
            world.after(SimPlan.MILLI, () -> close(closed, closer));
          }
        });
  }

  private void closeNow(Life closed) {
    closed.process.closing();
    closed.redlock.close();
    world.after(SimPlan.MILLI, () -> checkAnswered(closed));
  }

  /** What a closed lock service has handed to its nodes is answered. */
  private void checkAnswered(Life closed) {
    if (closed.process.isDead()) {
      return;
    }
    if (closed.process.isHeldUp()) {
      world.after(SimPlan.MILLI, () -> checkAnswered(closed));
      return;
    }
    for (SimNode lane : closed.lanes) {
      if (lane.open() > 0) {
        world.violated(
            SimInvariant.I12, () -> lane + " is closed and owes " + lane.open() + " answers");
      }
    }
  }
}
