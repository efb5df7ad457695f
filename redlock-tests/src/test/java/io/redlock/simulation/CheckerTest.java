package io.redlock.simulation;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.redlock.LeaseEnd;
import io.redlock.LeaseRequest;
import io.redlock.scenes.Scenes;
import io.redlock.simulation.SimCommand.Known;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReply.Kind;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.NodeRequest.Extend;
import io.redlock.spi.NodeRequest.Grant;
import io.redlock.spi.NodeRequest.Release;
import io.redlock.testkit.InMemoryNode;
import io.redlock.testkit.InMemoryServer;
import io.redlock.testkit.NodeModel.Cell;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.LongSupplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/**
 * The histories of {@code checker.txt}: each invariant rejects what breaks it, and nothing else.
 */
class CheckerTest {

  @TestFactory
  Stream<DynamicTest> eachHistoryIsJudgedRightly() {
    return Scenes.of("simulation/checker.txt", History::new);
  }

  /** A world in which commands make happen what the checker is to judge. */
  private static final class History extends Scenes.Teller {

    private static final List<String> NAME = List.of("r");
    private static final long TTL_MILLIS = 1_000;
    private static final long GOOD_MILLIS = 988;
    private static final long COUNTER_UNTIL_MILLIS = 1_000_000;

    private final SimPlan plan = plan();
    private final SimWorld world = new SimWorld(plan);
    private final Checker checker = world.checker;
    private final Map<String, SimProcess> processes = new HashMap<>();
    private final Map<SimProcess, SimHold> holds = new HashMap<>();
    private final Map<SimProcess, Long> claimedNanos = new HashMap<>(); // until when
    private final List<ProtectedResource.Read> reads = new ArrayList<>();
    private final Map<String, LaneChecks.Letter> letters = new HashMap<>();
    private final LaneChecks.Order order = checker.lanes.order();
    private CallChecks.@Nullable Call call;
    private @Nullable SimSocket socket;
    private long notedNanos;

    private static SimPlan plan() {
      SimPlan plan = SimPlan.of(1).only();
      plan.nodes = 3;
      plan.sessions = 0;
      plan.resources = 2;
      plan.adopted = true;
      plan.permits = true;
      plan.maxTtlMillis = (int) TTL_MILLIS;
      plan.nodeTimeoutNanos = 20 * SimPlan.MILLI;
      plan.chaosNanos = 60_000 * SimPlan.MILLI;
      return plan;
    }

    @Override
    protected void perform(String command, String rest) {
      act((command + " " + rest).strip().split(" "));
    }

    /** Tells what the checker says to the commands so far. */
    private void judge() {
      world.after(0, () -> {});
      pass(1);
      Violation violation = world.violation();
      tell(violation == null ? "fine" : violation.invariant().name());
    }

    private void pass(long millis) {
      world.runUntil(world.nowNanos() + millis * SimPlan.MILLI);
    }

    private SimProcess process(String name) {
      return processes.computeIfAbsent(
          name,
          each ->
              new SimProcess(
                  each,
                  world,
                  new SimClock(world, 0, 0),
                  new SimClock(world, Simulation.EPOCH_NANOS, 0),
                  new SimRandom(1),
                  plan.allMasters()));
    }

    private void act(String... words) {
      String first = words.length > 1 ? words[1] : "";
      int number = first.matches("\\d+") ? Integer.parseInt(first) : 0;
      switch (words[0]) {
        case "judge" -> judge();
        case "pass" -> pass(number);
        case "later" -> {
          String[] command = Arrays.copyOfRange(words, 2, words.length);
          world.after(number * SimPlan.MILLI, () -> act(command));
        }
        case "go-on" -> world.after(0, () -> act(words));
        case "note" -> notedNanos = world.nowNanos();
        case "read" -> reads.add(checker.resource("r").read(number));
        case "write" -> checker.resource("r").write(reads.get(number - 1));
        case "lost" -> assertEquals(number, checker.unfencedLosses());
        case "lose" -> checker.nodes.lostData(number);
        case "step" -> checker.nodes.steppedClock(number);
        case "forgotten" -> checker.holds.areForgotten(notedNanos);
        case "served" -> checker.service.granted(process(first));
        case "free" -> checker.holds.setFree("r", notedNanos, number);
        case "send", "run", "answer", "withdraw", "heard", "wrote" -> request(words);
        case "release-on", "grant-on", "extend-on" -> execute(number, words);
        case "connect", "audit", "audit-fails", "watch" -> audit(words[0]);
        case "permits", "take", "wait", "wait-no-longer", "acquired", "pause" -> permit(words);
        case "call", "acquire", "done", "clock-refused" -> call(words);
        case "freeze" -> process(first).freeze(number(words, 2) * SimPlan.MILLI);
        case "begin", "reset", "reaffirm", "extending", "over", "stall", "close" -> work(words);
        default -> lease(words);
      }
    }

    private static long number(String[] words, int index) {
      return Long.parseLong(words[index]);
    }

    private void call(String[] words) {
      SimProcess a = process("a");
      switch (words[0]) {
        case "call" -> call = checker.calls.begins(a, words[1], number(words, 2) * SimPlan.MILLI);
        case "acquire" -> {
          Duration wait = Duration.ofMillis(number(words, 1));
          LeaseRequest request = LeaseRequest.of("r", Duration.ofMillis(100)).waitUpTo(wait);
          call = checker.calls.beginsToAcquire(a, request);
        }
        case "done" -> Objects.requireNonNull(call).done();
        default -> checker.calls.clockRefused(process(words[1]), List.of(words[2]));
      }
    }

    private void lease(String[] words) {
      SimProcess process = process(words[1]);
      SimHold hold = holds.get(process);
      switch (words[0]) {
        case "hold" -> {
          ask(process, number(words, 2), 0, 1, 2);
          get(process, number(words, 2), GOOD_MILLIS);
        }
        case "ask" -> {
          int[] nodes = Stream.of(words).skip(4).mapToInt(Integer::parseInt).toArray();
          ask(process, number(words, 2), words.length > 4 ? nodes : new int[] {0, 1, 2});
        }
        case "get" -> get(process, number(words, 2), number(words, 4));
        case "ask-to-extend" -> checker.holds.asked(process, extend(0));
        case "claim" -> claim(process, GOOD_MILLIS);
        case "extended" ->
            checker.holds.extended(hold, words.length > 2 ? notedNanos : world.nowNanos());
        case "end", "tell-end" -> {
          claim(process, words[0].equals("end") ? 0 : GOOD_MILLIS);
          checker.holds.ended(hold, new LeaseEnd(LeaseEnd.Cause.RELEASED, ""));
        }
        case "lead" -> checker.holds.leads(hold);
        case "stop" -> checker.holds.stops(hold);
        case "lock-again" -> checker.holds.lockedAgain(hold, number(words, 2));
        case "unlock" ->
            checker.holds.unlocked(hold, (int) number(words, 2), words[3].equals("held"));
        default -> throw new IllegalArgumentException("no such command: " + words[0]);
      }
    }

    private void ask(SimProcess process, long token, int... nodes) {
      Grant grant = new Grant(NAME, process + "#" + token, token, TTL_MILLIS);
      checker.holds.asked(process, grant);
      for (int node : nodes) {
        executed(node, grant, Cell.EMPTY, held(grant, TTL_MILLIS), Kind.GRANTED);
      }
    }

    private void get(SimProcess process, long token, long forMillis) {
      claim(process, forMillis);
      LongSupplier remainingNanos =
          () -> Math.max(0, claimedNanos.getOrDefault(process, 0L) - world.nowNanos());
      holds.put(process, checker.holds.acquired(process, NAME, token, false, remainingNanos));
    }

    /** Its lease says that it is good for so long. */
    private void claim(SimProcess process, long millis) {
      claimedNanos.put(process, world.nowNanos() + millis * SimPlan.MILLI);
    }

    private static Extend extend(int number) {
      return new Extend(NAME, "a#10", 10, TTL_MILLIS, number, false);
    }

    private static Cell held(NodeRequest request, long untilMillis) {
      return new Cell(request.owner(), untilMillis, request.token(), COUNTER_UNTIL_MILLIS);
    }

    private static Cell free(long counter) {
      return new Cell("", 0, counter, COUNTER_UNTIL_MILLIS);
    }

    private void executed(int node, NodeRequest request, Cell before, Cell after, Kind kind) {
      NodeReply reply = NodeReply.of(kind, "");
      checker.nodes.executed(node, 0, request, List.of(before), List.of(after), reply);
      if (kind == Kind.GRANTED) {
        checker.nodes.votes(node, request);
      }
    }

    private void execute(int node, String[] words) {
      NodeRequest request = named(words[0].replace("-on", "-a"));
      switch (words[0]) {
        case "release-on" -> executed(node, request, Cell.EMPTY, free(10), Kind.NOT_HELD);
        case "grant-on" -> {
          Cell before = free(number(words, 4));
          executed(node, request, before, held(request, TTL_MILLIS), Kind.GRANTED);
        }
        default -> {
          Cell before = held(request, TTL_MILLIS);
          executed(node, request, before, held(request, number(words, 3)), Kind.EXTENDED);
        }
      }
    }

    private static NodeRequest named(String name) {
      return switch (name) {
        case "grant-a" -> new Grant(NAME, "a#10", 10, TTL_MILLIS);
        case "grant-b" -> new Grant(NAME, "b#9", 9, TTL_MILLIS);
        case "release-a" -> new Release(NAME, "a#10", 10, 0, false, null, 0);
        case "release-b" -> new Release(NAME, "b#9", 9, 0, false, null, 0);
        default -> extend(0);
      };
    }

    /** Between a caller, its lane, and node 0. */
    private void request(String[] words) {
      if (words[0].equals("heard")) {
        order.heard();
        return;
      }
      NodeRequest request = named(words[1]);
      NodeReply reply = words.length < 3 ? null : NodeReply.of(Kind.valueOf(words[2]), "");
      switch (words[0]) {
        case "send" -> letters.put(words[1], checker.lanes.sent(0, request));
        case "run" -> checker.lanes.executed(0, request, reply);
        case "answer" -> checker.lanes.answered(0, letters.get(words[1]), reply);
        case "withdraw" -> checker.lanes.withdrawn(0, letters.get(words[1]));
        default -> order.wrote(0, request);
      }
    }

    private void audit(String command) {
      SimProcess a = process("a");
      switch (command) {
        case "connect" -> socket = socket(a);
        case "watch" -> {
          SimNode node =
              new SimNode(
                  new InMemoryNode("n0", new InMemoryServer(a)), socket, scheduler -> scheduler);
          node.start(a, new SimScheduler(a), status -> {});
        }
        default -> socket.audited(command.equals("audit-fails"));
      }
    }

    private SimSocket socket(SimProcess process) {
      SimRandom random = new SimRandom(1);
      SimLink link = new SimLink(world, random, SimPlan.MILLI);
      return new SimSocket(new SimServer(world), link, process, random);
    }

    private void work(String[] words) {
      SimProcess process = process(words[1]);
      switch (words[0]) {
        case "begin" -> {
          checker.work.asked(process, named("grant-a"));
          ask(process, 10, 0, 1, 2);
          get(process, 10, GOOD_MILLIS);
        }
        case "reset" -> checker.work.resets(process);
        case "reaffirm" -> {
          for (int i = 0; i < number(words, 2); i++) {
            checker.work.asked(process, extend(i));
          }
        }
        case "extending" -> checker.work.extending(holds.get(process));
        case "over" -> checker.work.ended(holds.get(process), true);
        case "stall" ->
            new SimScheduler(process)
                .timer(() -> process.standStill(number(words, 2) * SimPlan.MILLI))
                .set(process.monotonic.nanos());
        default -> process.closing();
      }
    }

    /** Who waits for any one of several names, and which are free. */
    private void permit(String[] words) {
      switch (words[0]) {
        case "permits" -> watchAClientThatIsWell();
        case "take" -> {
          long token = Simulation.trueMicros(world);
          Grant grant = new Grant(List.of(words[1]), "b#" + words[1], token, TTL_MILLIS);
          for (int i = 2; i < words.length; i++) {
            SimServer server = world.servers.get(Integer.parseInt(words[i]));
            assertEquals(NodeReply.GRANTED, server.execute(grant, Known.NOTHING));
          }
        }
        case "wait" -> checker.waits.waits(process("c"));
        case "wait-no-longer" -> checker.waits.waitsNoLonger(process("c"));
        case "acquired" -> checker.waits.acquired(List.of(words[1]), false);
        default -> world.servers.get((int) number(words, 1)).pause();
      }
    }

    private void watchAClientThatIsWell() {
      for (int node = 0; node < plan.nodes; node++) {
        new SimServer(world);
      }
      SimClient client = new SimClient("c", world, new SimRandom(1), node -> SimPlan.MILLI);
      client.start();
      checker.watch();
      pass(1_000);
      processes.put("c", Objects.requireNonNull(client.life()).process);
    }
  }
}
