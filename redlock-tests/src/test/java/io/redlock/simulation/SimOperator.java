package io.redlock.simulation;

import io.redlock.jedis.deployment.SteppedResize;
import io.redlock.jedis.membership.MasterChange.Command;
import io.redlock.jedis.membership.MasterSet;
import io.redlock.jedis.membership.NodeAudit;
import io.redlock.jedis.membership.NodeAudit.Refresh;
import io.redlock.jedis.membership.Operation;
import io.redlock.jedis.membership.Resize;
import io.redlock.jedis.membership.TermsChange;
import io.redlock.jedis.membership.TrustRules;
import io.redlock.jedis.membership.Waiver;
import io.redlock.jedis.scripts.AuditCall;
import io.redlock.jedis.scripts.Invocation;
import io.redlock.jedis.scripts.ScriptCommand;
import io.redlock.simulation.SimClient.Masters;
import io.redlock.simulation.SimCommand.Known;
import io.redlock.simulation.SimPlan.Change.Left;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.Quorum;
import io.redlock.spi.Ticker;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * An operator who changes the masters with the production commands, and replaces the clients one
 * after the other. Commands that stop, or are interrupted, are run again.
 */
final class SimOperator {

  private static final long SLOWEST_STEP_MILLIS = 300;
  private static final long AGAIN_NANOS = 400 * SimPlan.MILLI;
  private static final int INTERRUPTED_PERCENT = 5;

  private final SimWorld world;
  private final SimPlan plan;
  private final SimPlan.Change change;
  private final Parts parts;
  private final SimRandom random;
  private final List<SimClient> clients;
  private final List<Server> servers;
  private final SplittableRandom ids;
  private Duration maxTtl; // of clients that are replaced
  private int audits;
  private long endedNanos = -1;

  SimOperator(SimWorld world) {
    this.world = world;
    plan = world.plan;
    change = Objects.requireNonNull(plan.change);
    parts = world.parts;
    random = SimRandom.of(plan.seed, "change of masters");
    ids = new SplittableRandom(plan.seed);
    clients = world.clients;
    maxTtl = plan.maxTtl();
    servers = world.servers.stream().map(Server::new).toList();
  }

  void begin() {
    Runnable first = plan.agrees ? this::agree : this::prepare;
    world.after(random.between(2_000, 4_000) * SimPlan.MILLI, first);
    if (plan.meddles) {
      meddle(plan.maxTtl().multipliedBy(2));
    }
  }

  /** Another operator runs {@code agree} whatever goes on, on a longer ttl and back. */
  private void meddle(Duration ttl) {
    if (endedNanos < 0) {
      Duration other = ttl.equals(plan.maxTtl()) ? ttl.multipliedBy(2) : plan.maxTtl();
      Runnable next = () -> meddle(other);
      world.after(
          random.between(100, 3_000) * SimPlan.MILLI, () -> step(typedToAgree(ttl), next, next));
    }
  }

  /** On a shorter ttl, which one client learns late, and on the longer one again. */
  private void agree() {
    List<SimClient> late = clients.subList(0, 1);
    Runnable again = () -> agree(plan.maxTtl(), clients, this::prepare);
    maxTtl = plan.maxTtl().dividedBy(6);
    replace(Masters.PRESENT, clients.subList(1, clients.size()), () -> agree(maxTtl, late, again));
  }

  private void agree(Duration ttl, List<SimClient> replaced, Runnable then) {
    agree(
        ttl,
        () -> {
          maxTtl = ttl;
          long lateNanos = random.nextLong(plan.maxTtlNanos());
          world.after(lateNanos, () -> replace(Masters.PRESENT, replaced, then));
        });
  }

  /** At times it is undone first. */
  private void prepare() {
    if (plan.meddles && random.percent(50)) {
      run(Command.PREPARE, () -> run(Command.ABORT, this::prepare));
    } else {
      run(Command.PREPARE, () -> replace(Masters.BOTH, movers(), this::commit));
    }
  }

  private void commit() {
    List<SimClient> stragglerLast = new ArrayList<>(served());
    Collections.rotate(stragglerLast, -1);
    run(
        Command.COMMIT,
        () -> {
          setClocksBack();
          replace(Masters.FUTURE, stragglerLast, this::finish);
        });
  }

  private void finish() {
    run(Command.FINISH, change.left() == Left.FOR_EVER ? this::restartMasters : this::end);
  }

  private void end() {
    endedNanos = world.nowNanos();
  }

  /** All clocks, those of the clients too, until it gets calm. */
  private void setClocksBack() {
    long byNanos = world.nowNanos() < plan.calmFromNanos() ? plan.setBackNanos : 0;
    if (byNanos > 0) {
      world.note(18, () -> "** all clocks are set back");
      stepClocks(-byNanos);
      world.at(plan.calmFromNanos(), () -> stepClocks(byNanos));
    }
  }

  private void stepClocks(long byNanos) {
    servers.forEach(each -> each.server.stepClock(byNanos));
    clients.forEach(each -> each.wall.step(byNanos));
  }

  /** One after the other, with their data; perhaps while only the client that was left runs. */
  private void restartMasters() {
    boolean isAlone = random.percent(50);
    if (isAlone) {
      served().forEach(SimClient::close);
    }
    restart(
        servers,
        () -> {
          served().forEach(SimClient::startAgain);
          end();
        });
  }

  private void restart(List<Server> left, Runnable then) {
    if (left.isEmpty()) {
      then.run();
      return;
    }
    SimServer next = left.get(0).server;
    if (!next.isDown()) {
      world.note(19, () -> "** " + next + " is restarted with its data");
      next.crash();
    }
    world.after(
        random.between(50, 1_000) * SimPlan.MILLI,
        () -> {
          if (next.isDown()) {
            next.restart();
          }
          long gapMillis = random.between(0, 2 * plan.abstentionMillis());
          world.after(gapMillis * SimPlan.MILLI, () -> restart(left.subList(1, left.size()), then));
        });
  }

  /** When the change was finished; −1 before. */
  long endedNanos() {
    return endedNanos;
  }

  private List<SimClient> movers() {
    return change.left() == Left.NOBODY ? clients : clients.subList(1, clients.size());
  }

  /** All but the client that was left for ever. */
  List<SimClient> served() {
    return change.left() == Left.FOR_EVER ? clients.subList(1, clients.size()) : clients;
  }

  // Commands.

  private void run(Command command, Runnable then) {
    TrustRules rules = rules(plan.maxTtl());
    Waiver none = new Waiver(Set.of(), Map.of());
    Resize resize = new Resize(command, change.joint(), rules, none, "", MasterSet.newId(ids));
    step(typed(resize, servers, change.joint(), rules), then, () -> run(command, then));
  }

  private void agree(Duration ttl, Runnable then) {
    step(typedToAgree(ttl), then, () -> agree(ttl, then));
  }

  private SteppedResize typedToAgree(Duration ttl) {
    TrustRules rules = rules(ttl);
    TermsChange terms = new TermsChange(change.before(), rules, Set.of(), false);
    return typed(terms, servers.subList(0, change.present()), change.before(), rules);
  }

  private TrustRules rules(Duration ttl) {
    return TrustRules.of(true, ttl, plan.driftPartsPerMillion, plan.skewMicros, "");
  }

  private SteppedResize typed(
      Operation operation, List<Server> masters, Quorum quorum, TrustRules rules) {
    Consumer<String> out = line -> world.note(17, () -> "operator: " + line);
    return new SteppedResize(operation, masters, quorum, rules, new Clocks(), out);
  }

  private void step(SteppedResize command, Runnable then, Runnable again) {
    Optional<Duration> pause = command.step();
    if (pause.isPresent() && !random.percent(INTERRUPTED_PERCENT)) {
      long tookNanos = random.between(1, SLOWEST_STEP_MILLIS) * SimPlan.MILLI;
      world.after(
          tookNanos + parts.operatorPause.apply(pause.get()).toNanos(),
          () -> step(command, then, again));
    } else if (command.hasSucceeded()) {
      then.run();
    } else {
      world.after(AGAIN_NANOS, again);
    }
  }

  // Clients.

  private void replace(Masters masters, List<SimClient> left, Runnable then) {
    if (left.isEmpty()) {
      then.run();
      return;
    }
    SimClient next = left.get(0);
    if (!next.isRunning() || next.isAsleep()) {
      world.after(AGAIN_NANOS, () -> replace(masters, left, then));
      return;
    }
    world.note(16, () -> next.name + " is replaced and knows " + masters);
    next.learn(masters, maxTtl);
    List<SimClient> others = left.subList(1, left.size());
    world.after(random.between(200, 1_000) * SimPlan.MILLI, () -> replace(masters, others, then));
  }

  /** A connection of the operator to a master. */
  private final class Server implements SteppedResize.TestMaster {
    private final SimServer server;

    Server(SimServer server) {
      this.server = server;
    }

    @Override
    public String name() {
      return server.toString();
    }

    @Override
    public @Nullable NodeAudit audit(@Nullable Refresh refresh) {
      Invocation call = AuditCall.invocation(++audits, refresh);
      return AuditCall.parse(
          server.asked(SimCommand.of(new ScriptCommand().byText(call, ScriptCommand.NO_GUARD))),
          call);
    }

    @Override
    public @Nullable Map<String, Long> counters() {
      return server.isUp()
          ? parts.carried.of(server.counters(), server.clock.micros(), plan)
          : null;
    }

    @Override
    public boolean execute(NodeRequest request) {
      if (server.isUp()) {
        server.execute(request, Known.NOTHING);
      }
      return server.isUp();
    }

    @Override
    public void forgetFloor(String resource) {
      server.forgetFloor(resource);
    }
  }

  /** The operator's machine. */
  private final class Clocks implements Ticker {
    @Override
    public long monotonicNanos() {
      return world.nowNanos();
    }

    @Override
    public long wallMicros() {
      return Simulation.trueMicros(world);
    }
  }
}
