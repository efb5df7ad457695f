package io.redlock.simulation;

import io.redlock.FreeResult;
import io.redlock.jedis.membership.NodeAudit;
import io.redlock.simulation.SimCommand.Step;
import io.redlock.simulation.SimServer.Dump;
import io.redlock.simulation.SimServer.Trouble;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Lets the faults of a plan strike at random times, and end, until it is calm. */
final class Chaos {

  /** Errors that a server answers instead of executing anything. */
  private static final List<String> REFUSALS =
      List.of(
          "LOADING Redis is loading the dataset in memory",
          "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
          "ERR max number of clients reached",
          "READONLY You can't write against a read only replica.",
          "NOAUTH Authentication required.",
          "NOPERM this user has no permissions to run the 'evalsha' command",
          "MISCONF Redis is configured to save RDB snapshots, but it's unable to persist to disk",
          "ERR unknown command 'EVALSHA', with args beginning with: ",
          "WRONGTYPE Operation against a key holding the wrong kind of value",
          "OOM command not allowed when used memory > 'maxmemory'.",
          "ERR something else");

  /** Errors that a script may end with after it has written. */
  private static final List<String> FAILURES =
      List.of(
          "ERR something else",
          "ERR value is not an integer or out of range",
          "ERR The user executing the script can't run this command or subcommand script:"
              + " 0123456789012345678901234567890123456789, on @user_script:12.");

  private static final long FAR_COUNTER = (1L << 53) - 4;

  private final SimWorld world;
  private final SimPlan plan;
  private final SimRandom random;
  private final List<SimServer> servers;
  private final List<SimClient> clients;
  private final Checker checker;
  private long majorityStruckUntilNanos;

  Chaos(SimWorld world) {
    this.world = world;
    plan = world.plan;
    random = SimRandom.of(plan.seed, "chaos");
    servers = world.servers;
    clients = world.clients;
    checker = world.checker;
  }

  void begin() {
    for (SimFault fault : plan.faults) {
      planNext(fault);
    }
    world.at(plan.calmFromNanos(), () -> servers.forEach(server -> server.clock.rate(0)));
    world.at(
        plan.calmFromNanos() + 1, // dumps may have brought it back
        () -> servers.forEach(each -> plan.names().forEach(name -> correct(each, name))));
    if (plan.has(SimFault.NODE_OLD_DUMP) || plan.has(SimFault.NODE_FAILOVER)) {
      servers.forEach(this::dumpNowAndThen);
    }
  }

  private void planNext(SimFault fault) {
    long gap = gapNanos(fault);
    long at = world.nowNanos() + 1 + random.nextLong(2 * gap);
    if (gap > 0 && at < plan.calmFromNanos()) {
      world.at(
          at,
          () -> {
            strike(fault);
            planNext(fault);
          });
    }
  }

  private long gapNanos(SimFault fault) {
    return switch (fault.pace) {
      case NODES -> plan.nodeFaultGapNanos;
      case CLIENTS -> plan.clientFaultGapNanos;
      case NETWORK -> plan.networkFaultGapNanos;
      case CLOCKS -> 200 * SimPlan.MILLI;
      case OPERATORS -> plan.maxTtlNanos();
      case CHANCE -> 1_000_000_000_000L; // these strike elsewhere
    };
  }

  private void strike(SimFault fault) {
    SimServer server = servers.get(random.nextInt(victims()));
    SimClient client = clients.get(random.nextInt(clients.size()));
    switch (fault) {
      case NODE_CRASH -> down(fault, server, server::restart);
      case NODE_WIPE -> down(fault, server, () -> server.restartWith(Dump.EMPTY));
      case NODE_OLD_DUMP -> {
        Dump dump = server.someDump(random);
        down(fault, server, () -> server.restartWith(dump));
      }
      case NODE_FAILOVER -> failOver(server, null);
      case NODE_FLUSH -> ifUp(fault, server, server::flush);
      case NODE_RESYNC -> ifUp(fault, server, server::resyncFromEmpty);
      case NODE_PAUSE ->
          ifUp(
              fault,
              server,
              () -> {
                server.pause();
                end(plan.nodeTimeoutNanos, server::resume);
              });
      case NODE_ERROR -> {
        Trouble trouble = someTrouble();
        note(fault, server + " answers " + trouble);
        server.trouble(trouble);
        end(plan.nodeTimeoutNanos, () -> server.trouble(null));
      }
      case NODE_OOM -> {
        note(fault, server + " is out of memory");
        server.outOfMemory(true);
        end(plan.nodeTimeoutNanos, () -> server.outOfMemory(false));
      }
      case NODE_RATE -> servers.forEach(this::rate);
      case NODE_CLOCK_STEP -> step(server);
      case NODE_EVICT -> evict(server);
      case NODE_POLICY -> evictWhileRefused();
      case NODE_SWAP -> swap();
      case NODE_COPY -> copy();
      case NODE_OTHERS -> disown();
      case NODE_COUNTER -> setCounter(server, "r" + random.nextInt(plan.resources));
      case NODE_REFUSED -> ifUp(fault, server, () -> loseWhileRefused(server));
      case SCRIPT_FLUSH -> ifUp(fault, server, server::flushScripts);
      case CUT -> someSocket(client, SimSocket::cut);
      case HALF_OPEN -> someSocket(client, SimSocket::forget);
      case WRITE_STALL ->
          someSocket(
              client,
              socket -> {
                note(fault, socket + " takes no more");
                socket.stall(random.spread(100_000, 2 * plan.nodeTimeoutNanos));
              });
      case PARTITION -> partition(client, server);
      default -> strike(fault, client);
    }
  }

  private void strike(SimFault fault, SimClient client) {
    SimClient.Life life = client.life();
    if (life == null || life.isOver() || client.isAsleep()) {
      return;
    }
    long nanos = world.untilCalm(random.spread(SimPlan.MILLI, 3 * plan.maxTtlNanos()));
    switch (fault) {
      case CLIENT_PAUSE -> {
        note(fault, client.name + " stands still for " + nanos / SimPlan.MILLI + " ms");
        life.process.freeze(nanos);
      }
      case CLIENT_SUSPEND -> {
        note(fault, client.name + " sleeps for " + nanos / SimPlan.MILLI + " ms");
        client.suspend(nanos);
      }
      case CLIENT_WALL_STEP -> {
        long by = Simulation.anyOffset(random);
        // Asleep and set back at once, both clocks would be wrong: no lease survives that.
        client.wall.step(plan.has(SimFault.CLIENT_SUSPEND) ? Math.abs(by) : by);
        note(fault, client.name + "'s wall clock is set by " + by / SimPlan.MILLI + " ms");
      }
      case CLIENT_CRASH -> {
        note(fault, client.name + " dies");
        client.crash();
        end(SimPlan.MILLI, client::startAgain);
      }
      case CLIENT_CLOSE -> {
        note(fault, client.name + " is closed");
        client.close();
        end(SimPlan.MILLI, client::startAgain);
      }
      case SET_FREE -> setFree(fault, client, life);
      default -> {}
    }
  }

  /** Through one of the clients, at times only at the token of the last lease. */
  private void setFree(SimFault fault, SimClient client, SimClient.Life life) {
    String name = "r" + random.nextInt(plan.resources);
    long token = random.percent(30) ? checker.holds.lastToken(name) : 0;
    note(fault, client.name + " sets " + name + " free" + (token > 0 ? " at T" + token : ""));
    life.process
        .strand()
        .run(
            () -> {
              if (!life.isOver()) {
                setFree(life, name, token);
              }
            });
  }

  private void setFree(SimClient.Life life, String name, long token) {
    long beganNanos = world.nowNanos();
    CallChecks.Call call = checker.calls.begins(life.process, "free", 2 * plan.nodeTimeoutNanos);
    CompletableFuture<FreeResult> freed =
        token > 0
            ? life.redlock.operations().freeAsync(name, token)
            : life.redlock.operations().freeAsync(name);
    freed.thenAccept(
        result -> {
          call.done();
          long number = 14 + result.outcome().ordinal();
          world.note(number, () -> life.process + ": " + result);
          if (result.grantableIn().isPresent()) {
            checker.holds.setFree(name, beganNanos, token);
          }
        });
  }

  /** Nodes that may be struck, from the first. */
  private int victims() {
    return plan.fewVictims ? Math.max(1, plan.minority()) : plan.nodes;
  }

  private void note(SimFault fault, String what) {
    world.struck(fault);
    world.note(fault.ordinal(), () -> "** " + fault + ": " + what);
  }

  /** Ends a fault after a random time, or when it gets calm. */
  private void end(long leastNanos, Runnable action) {
    world.after(world.untilCalm(random.spread(leastNanos, 3 * plan.maxTtlNanos())), action);
  }

  private void ifUp(SimFault fault, SimServer server, Runnable action) {
    if (server.isUp()) {
      note(fault, server.toString());
      action.run();
    }
  }

  private void down(SimFault fault, SimServer server, Runnable start) {
    if (!server.isDown()) {
      note(fault, server.toString());
      server.crash();
      end(
          SimPlan.MILLI,
          () -> {
            world.note(11, () -> "** " + server + " comes back");
            start.run();
          });
    }
  }

  private void failOver(SimServer server, @Nullable String originalRunId) {
    if (server.isDown()) {
      return;
    }
    String runId = server.runId();
    Dump dump = server.someDump(random);
    down(
        SimFault.NODE_FAILOVER,
        server,
        () -> {
          server.failOver(dump, originalRunId);
          if (originalRunId == null && random.percent(50)) {
            long soon = random.spread(SimPlan.MILLI, plan.maxTtlNanos());
            world.after(world.untilCalm(soon), () -> failBack(server, runId));
          }
        });
  }

  private void failBack(SimServer server, String runId) {
    server.takeDump();
    failOver(server, runId);
  }

  private void dumpNowAndThen(SimServer server) {
    server.takeDump();
    if (world.nowNanos() < plan.calmFromNanos()) {
      world.after(random.spread(SimPlan.MILLI, plan.maxTtlNanos()), () -> dumpNowAndThen(server));
    }
  }

  /** Another rate, such that the clock stays within the skew. */
  private void rate(SimServer server) {
    world.struck(SimFault.NODE_RATE);
    long ppm = random.between(0, 4_000);
    long offMicros = server.clock.micros() - Simulation.trueMicros(world);
    boolean ahead = Math.abs(offMicros) > plan.skewMicros / 4 ? offMicros > 0 : random.percent(50);
    server.clock.rate(ahead ? -ppm : ppm);
  }

  private void step(SimServer server) {
    long byNanos =
        random.spread(SimPlan.MILLI, 3 * plan.maxTtlNanos()) * (random.percent(50) ? 1 : -1);
    note(SimFault.NODE_CLOCK_STEP, server + " by " + byNanos / SimPlan.MILLI + " ms");
    server.stepClock(byNanos);
    world.at(
        plan.calmFromNanos(),
        () -> {
          long offMicros = server.clock.micros() - Simulation.trueMicros(world);
          server.clock.step(-offMicros * 1_000);
        });
  }

  private void evict(SimServer server) {
    List<String> names = new ArrayList<>(server.locks().keySet());
    if (!names.isEmpty()) {
      String name = names.get(random.nextInt(names.size()));
      note(SimFault.NODE_EVICT, server + " evicts " + name);
      server.evict(name);
    }
  }

  private void setCounter(SimServer server, String name) {
    note(SimFault.NODE_COUNTER, server + " counts " + name + " far ahead");
    server.setCounter(name, FAR_COUNTER);
    end(SimPlan.MILLI, () -> correct(server, name));
  }

  /** By the counters of the other masters, or by the time. */
  private void correct(SimServer server, String name) {
    if (server.cell(name).counter() == FAR_COUNTER) {
      long leastMicros = Simulation.trueMicros(world) + plan.skewMicros;
      long highest =
          servers.stream()
              .mapToLong(other -> other.cell(name).counter())
              .filter(counter -> counter < FAR_COUNTER)
              .reduce(leastMicros, Math::max);
      server.setCounter(name, highest);
    }
  }

  /** As many as are a majority; none if others are struck, or not before it gets calm. */
  private List<SimServer> majority(long lastsNanos) {
    List<SimServer> struck = new ArrayList<>(servers);
    Collections.rotate(struck, random.nextInt(servers.size()));
    long untilNanos = world.nowNanos() + lastsNanos;
    if (majorityStruckUntilNanos > world.nowNanos() || untilNanos > plan.calmFromNanos()) {
      return List.of();
    }
    majorityStruckUntilNanos = untilNanos;
    return struck.subList(0, plan.quorum());
  }

  /** By when every client that works has audited every node. */
  private long audited() {
    return 2 * plan.auditGapNanos();
  }

  private void evictWhileRefused() {
    long lastsNanos = audited() + random.between(100, 2_000) * SimPlan.MILLI;
    List<SimServer> struck = majority(lastsNanos);
    if (struck.isEmpty()) {
      return;
    }
    note(SimFault.NODE_POLICY, struck + " may evict for " + lastsNanos / SimPlan.MILLI + " ms");
    struck.forEach(server -> server.mayEvict(true));
    for (long at = audited(); at < lastsNanos; at += 50 * SimPlan.MILLI) {
      world.after(at, () -> struck.forEach(SimServer::evictAll));
    }
    world.after(lastsNanos, () -> struck.forEach(server -> server.mayEvict(false)));
  }

  private void swap() {
    long abstentionNanos = plan.abstentionMillis() * SimPlan.MILLI + audited();
    long lastsNanos = abstentionNanos + random.between(100, 2_000) * SimPlan.MILLI;
    List<SimServer> struck = majority(lastsNanos + abstentionNanos);
    if (struck.isEmpty()) {
      return;
    }
    note(SimFault.NODE_SWAP, "others answer for " + struck);
    struck.forEach(SimServer::swap);
    world.after(
        lastsNanos,
        () -> {
          world.note(20, () -> "** " + struck + " answer again");
          struck.forEach(SimServer::swap);
        });
  }

  private void copy() {
    List<SimServer> struck = majority(4 * audited());
    if (struck.isEmpty()) {
      return;
    }
    note(SimFault.NODE_COPY, struck + " are copied");
    struck.forEach(
        server -> world.after(random.nextLong(plan.auditGapNanos()), server::takeAnotherHistory));
    SimServer server = struck.get(0);
    switch (random.nextInt(8)) {
      case 0, 1 -> goBack(server, audited(), dump -> putBack(server, dump));
      case 2 -> goBack(server, audited(), dump -> putBackUnseen(server, dump));
      case 3 -> goBack(server, 0, server::takeBackUnseen);
      default -> {}
    }
  }

  /** It gets the data back that it has after so long. */
  private void goBack(SimServer server, long dumpedNanos, Consumer<Dump> how) {
    world.after(
        dumpedNanos,
        () -> {
          Dump dump = server.dump();
          world.after(
              audited() + plan.maxTtlNanos() / 4 - dumpedNanos,
              () -> {
                note(SimFault.NODE_COPY, server + " gets its data back from a copy");
                how.accept(dump);
              });
        });
  }

  /** Nobody reaches it until every audit before is too old to count. */
  private void putBackUnseen(SimServer server, Dump dump) {
    server.pause();
    server.takeBackUnseen(dump);
    long longNanos = NodeAudit.FRESH_NANOS + random.between(100, 1_000) * SimPlan.MILLI;
    world.after(longNanos, server::resume);
  }

  /** Whoever holds a lease that a majority has forgotten learns it, though he is refused there. */
  private void disown() {
    long lastsNanos = audited() + random.between(100, 2_000) * SimPlan.MILLI;
    List<SimServer> struck = majority(lastsNanos + plan.abstentionMillis() * SimPlan.MILLI);
    if (struck.isEmpty()) {
      return;
    }
    boolean keepsData = random.percent(50);
    boolean areOthers = random.percent(50);
    String id = areOthers ? "others" : "first";
    List<SimServer> members = areOthers ? struck : servers;
    Duration maxTtl = plan.maxTtl().dividedBy(areOthers ? 1 : 8);
    note(SimFault.NODE_OTHERS, struck + " serve " + id + ", with their data: " + keepsData);
    if (!keepsData) {
      struck.forEach(SimServer::flush);
      long forgottenNanos = world.nowNanos();
      world.after(audited(), () -> checker.holds.areForgotten(forgottenNanos));
    }
    struck.forEach(server -> server.adopt(id, members, maxTtl, false));
    world.after(lastsNanos, () -> SimServer.adopt(servers, false));
  }

  private void loseWhileRefused(SimServer server) {
    Dump dump = server.dump();
    server.mayEvict(true);
    world.after(
        audited() + random.between(0, 2_000) * SimPlan.MILLI,
        () -> {
          server.takeBackUnseen(dump);
          server.mayEvict(false);
        });
  }

  /** It is a replica until its next audit, so it refuses all else. */
  private void putBack(SimServer server, Dump dump) {
    server.takeBack(dump);
    Set<Step> all = EnumSet.complementOf(EnumSet.of(Step.AUDIT));
    server.trouble(new Trouble("READONLY You can't write against a replica.", false, all));
    world.after(audited(), () -> server.trouble(null));
  }

  private void someSocket(SimClient client, Consumer<SimSocket> action) {
    SimClient.Life life = client.life();
    if (life != null) {
      SimNode lane = life.lanes.get(random.nextInt(life.lanes.size()));
      action.accept(lane.socket);
    }
  }

  /** An error of some kind, for everything or for one step of the conversation. */
  private Trouble someTrouble() {
    boolean executes = random.percent(20);
    List<String> errors = executes ? FAILURES : REFUSALS;
    Step[] steps = Step.values();
    return new Trouble(
        errors.get(random.nextInt(errors.size())),
        executes,
        random.percent(50)
            ? EnumSet.allOf(Step.class)
            : EnumSet.of(steps[random.nextInt(steps.length)]));
  }

  private void partition(SimClient client, SimServer server) {
    List<SimLink> links = new ArrayList<>();
    switch (random.nextInt(3)) {
      case 0 -> links.addAll(client.links);
      case 1 -> clients.forEach(each -> links.add(each.links.get(server.index)));
      default -> links.add(client.links.get(server.index));
    }
    boolean requests = random.percent(70);
    boolean replies = !requests || random.percent(60);
    String what = (requests ? "requests " : "") + (replies ? "replies " : "");
    note(SimFault.PARTITION, what + "of " + links.size() + " links");
    links.forEach(link -> link.block(requests, replies));
    end(plan.nodeTimeoutNanos, () -> links.forEach(SimLink::unblock));
  }
}
