package io.redlock.simulation;

import io.redlock.jedis.membership.BirthMark;
import io.redlock.jedis.membership.MasterSet;
import io.redlock.jedis.membership.Served;
import io.redlock.jedis.membership.TrustRules;
import io.redlock.jedis.scripts.Script;
import io.redlock.simulation.Parts.Sighting;
import io.redlock.simulation.SimCommand.Known;
import io.redlock.simulation.SimCommand.Step;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReply.Kind;
import io.redlock.spi.NodeRequest;
import io.redlock.testkit.NodeModel;
import io.redlock.testkit.NodeModel.Cell;
import io.redlock.testkit.NodeModel.Outcome;
import io.redlock.testkit.NodeModel.Reader;
import io.redlock.testkit.NodeModel.Standing;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * One master: its process, its clock, its data, its mark of birth. Reads commands as a real one
 * does, and says what a real one would say; what the scripts do is left to the node model.
 */
final class SimServer {

  /** What its process does. */
  private enum Running {
    UP,
    PAUSED,
    DOWN
  }

  /** Everything stored, at one moment. */
  record Dump(Map<String, Cell> cells, String birth) {
    static final Dump EMPTY = new Dump(Map.of(), "");
  }

  /** An error that a node answers to some commands, and whether it executes them all the same. */
  record Trouble(String error, boolean executes, Set<Step> steps) {}

  private static final String NO_ID = "0".repeat(40);

  /** Another server, while it does not answer. */
  private record Stranger(Dump data, String runId, String replicationId, long evictedKeys) {}

  /** Something that is done just after a request of that kind was executed on that name. */
  private record Trap(Class<? extends NodeRequest> kind, String name, Runnable action) {}

  private static final int DUMPS = 6;

  final int index;
  final SimWorld world;
  final SimClock clock;
  private final NodeModel model;
  private final Parts parts;
  private final Checker checker;
  private final Map<String, Cell> cells = new TreeMap<>();
  private final ArrayDeque<Dump> dumps = new ArrayDeque<>();
  private final ArrayDeque<Runnable> backlog = new ArrayDeque<>();
  private final List<SimConnection> connections = new ArrayList<>();
  private final List<Trap> traps = new ArrayList<>();
  private final Set<Script> scripts = EnumSet.noneOf(Script.class); // that it was told
  private final Map<String, List<SimConnection>> subscribers = new TreeMap<>(); // by channel
  private final SimRandom random;
  private String birth = "";
  private String runId;
  private String replicationId;
  private String formerReplicationId = NO_ID;
  private int identities;
  private Running running = Running.UP;
  private long incarnation;
  private @Nullable Trouble trouble;
  private boolean outOfMemory;
  private long evictedKeys; // since the process was started
  private boolean evicts; // by its policy
  private @Nullable Stranger stranger; // that answers at its address at times

  /** A server whose clock shows the true time. */
  SimServer(SimWorld world) {
    this(world, new SimClock(world, Simulation.EPOCH_NANOS, 0));
  }

  SimServer(SimWorld world, SimClock clock) {
    this.world = world;
    this.clock = clock;
    index = world.servers.size();
    world.servers.add(this);
    random = SimRandom.of(world.plan.seed, "node " + index);
    parts = world.parts;
    checker = world.checker;
    model = parts.model.with(world.plan.skewMicros, world.plan.retentionMillis);
    this.runId = newIdentity();
    this.replicationId = newIdentity();
  }

  /** Founds the set anew, as an operator who waits, if all of them have lost its marks. */
  static void adoptIfLost(List<SimServer> masters) {
    if (masters.stream().allMatch(master -> master.birth.isEmpty())) {
      adopt(masters, false);
    }
  }

  /** Gives them the marks that an operator leaves; a set that is not new abstains at first. */
  static void adopt(List<SimServer> masters, boolean isNew) {
    masters.forEach(each -> each.adopt("first", masters, each.world.plan.maxTtl(), isNew));
  }

  /** Gives it the mark of the set of these masters, whose clients agreed on this longest ttl. */
  void adopt(String id, List<SimServer> masters, Duration maxTtl, boolean isNew) {
    MasterSet set = new MasterSet(id, masters.stream().map(SimServer::toString).toList());
    SimPlan plan = world.plan;
    TrustRules rules =
        TrustRules.of(world.parts.guarded, maxTtl, plan.driftPartsPerMillion, plan.skewMicros, "");
    birth =
        new BirthMark(
                runId,
                parts.replicationId.apply(replicationId),
                nowMillis(),
                isNew,
                true,
                evictedKeys,
                Served.of(id),
                List.of(set),
                rules.terms())
            .toString();
  }

  private String newIdentity() {
    return "n" + index + "x" + identities++;
  }

  String runId() {
    return runId;
  }

  long incarnation() {
    return incarnation;
  }

  boolean isUp() {
    return running == Running.UP;
  }

  /** Whether it answers, and answers no errors. */
  boolean isWell() {
    return running == Running.UP && trouble == null && !outOfMemory;
  }

  boolean isDown() {
    return running == Running.DOWN;
  }

  long nowMillis() {
    return Math.floorDiv(clock.micros(), 1_000L);
  }

  /** What is stored under the name now. */
  Cell cell(String name) {
    return cells.getOrDefault(name, Cell.EMPTY).at(nowMillis());
  }

  /** The names that somebody holds now, with their owners. */
  Map<String, List<String>> locks() {
    Map<String, List<String>> locks = new TreeMap<>();
    cells.forEach(
        (name, stored) -> {
          Cell cell = stored.at(nowMillis());
          if (cell.isShared()) {
            locks.put(name, cell.readers().stream().map(Reader::owner).toList());
          } else if (!cell.isFree()) {
            locks.put(name, List.of(cell.owner()));
          }
        });
    return locks;
  }

  // What arrives.

  /** Somebody wants to connect. */
  void knocked(SimConnection connection) {
    Trouble now = trouble;
    if (running == Running.DOWN) {
      connection.refused(SimConnection.failure("refused connection"));
    } else if (running == Running.PAUSED) {
      backlog.add(() -> knocked(connection));
    } else if (now != null && now.steps.contains(Step.CONNECT)) {
      connection.refused(SimCommand.error(now.error));
    } else {
      connections.add(connection);
      connection.accepted(incarnation);
    }
  }

  void disconnected(SimConnection connection) {
    connections.remove(connection);
    subscribers.values().forEach(of -> of.remove(connection));
  }

  /** A command has come in over a connection. */
  void arrived(SimConnection connection, SimCommand command) {
    if (connection.incarnation() != incarnation || running == Running.DOWN) {
      connection.reset("connection reset");
    } else if (running == Running.PAUSED) {
      backlog.add(() -> arrived(connection, command));
    } else {
      connection.reply(command, answer(connection, command));
    }
  }

  private Object answer(SimConnection connection, SimCommand command) {
    Trouble now = trouble;
    boolean troubled = now != null && now.steps.contains(command.step());
    if (now != null && troubled && !now.executes) {
      return SimCommand.error(now.error);
    }
    Object answer =
        switch (command.name()) {
          case "EVAL", "EVALSHA" -> script(connection, command);
          case "SUBSCRIBE" -> subscription(connection, command);
          case "PING" -> SimCommand.bytes("PONG");
          case "CLIENT" -> SimCommand.bytes("OK");
          default -> SimCommand.error("ERR unknown command '" + command.name() + "'");
        };
    return now != null && troubled ? SimCommand.error(now.error) : answer;
  }

  private Object script(SimConnection connection, SimCommand command) {
    if (command.byDigest() && !scripts.contains(command.script())) {
      return SimCommand.error("NOSCRIPT No matching script. Please use EVAL.");
    }
    scripts.add(Objects.requireNonNull(command.script()));
    NodeRequest request = command.request();
    if (request == null) {
      carry(connection);
      return audit(command.arguments());
    }
    NodeReply reply = execute(request, command.known(), connection.isLive());
    checker.lanes.executed(index, request, reply);
    connection.repeat(request, reply, command.known());
    return command.reply(reply, clock.micros());
  }

  /** Carries the mark of this process into its present history, if a client does. */
  private void carry(SimConnection connection) {
    boolean isOwnHistory = formerReplicationId.equals(NO_ID);
    Sighting before = connection.sees(birth, evicts);
    if (isOwnHistory && !evicts && parts.carries.test(before, birth)) {
      birth = birth.replaceFirst("(?<= " + runId + " )\\w+", replicationId);
    }
  }

  /** Answers a command of an operator, who has a connection of his own; null if it cannot. */
  @Nullable Object asked(SimCommand command) {
    if (running != Running.UP || trouble != null) {
      return null;
    }
    return command.request() == null
        ? audit(command.arguments())
        : execute(command.request(), command.known());
  }

  /** The highest token that was granted on each name, as far as it is remembered. */
  Map<String, Long> counters() {
    Map<String, Long> counters = new TreeMap<>();
    cells.forEach((name, cell) -> counters.put(name, cell.at(nowMillis()).counter()));
    return counters;
  }

  /** Deletes the floor of a name. */
  void forgetFloor(String name) {
    Cell cell = cells.getOrDefault(name, Cell.EMPTY);
    put(name, cell.read(cell.reading().withoutFloor()));
  }

  private Object subscription(SimConnection connection, SimCommand command) {
    String channel = command.arguments().get(0);
    List<SimConnection> of = subscribers.computeIfAbsent(channel, c -> new ArrayList<>());
    of.remove(connection);
    of.add(connection);
    return List.of(SimCommand.bytes("subscribe"), SimCommand.bytes(channel), 1L);
  }

  private void wake(String waiter) {
    int colon = waiter.lastIndexOf(':');
    String channel = "redlock:wake:" + waiter.substring(0, colon);
    List<Object> message =
        List.of(
            SimCommand.bytes("message"),
            SimCommand.bytes(channel),
            SimCommand.bytes(waiter.substring(colon + 1)));
    for (SimConnection connection : subscribers.getOrDefault(channel, List.of())) {
      if (world.strikes(SimFault.WAKE_LOST, random, 50, 100)) {
        continue;
      }
      connection.push(message);
      if (world.strikes(SimFault.WAKE_TWICE, random, 50, 100)) {
        connection.push(message);
      }
    }
  }

  /** Executes a request that says this of its mark. */
  NodeReply execute(NodeRequest request, Known known) {
    return execute(request, known, true);
  }

  private NodeReply execute(NodeRequest request, Known known, boolean isAwaited) {
    List<String> names = request.names();
    List<Cell> before = names.stream().map(this::cell).toList();
    Outcome outcome = model.execute(before, request, standing(request, known), clock.micros());
    for (int i = 0; i < names.size(); i++) {
      put(names.get(i), outcome.cells().get(i));
    }
    NodeReply reply = outcome.reply();
    world.note(
        request.token() * 31 + reply.kind().ordinal(),
        () -> "n" + index + " executes " + Names.of(request) + ": " + Names.of(reply));
    checker.nodes.executed(index, nowMillis(), request, before, outcome.cells(), reply);
    if (isAwaited && (reply.kind() == Kind.GRANTED || reply.kind() == Kind.JOINED)) {
      checker.nodes.votes(index, request);
    }
    checker.fair.executed(index, request, outcome.cells());
    outcome.woken().forEach(this::wake);
    spring(request);
    return reply;
  }

  private Standing standing(NodeRequest request, Known known) {
    if (!birth.contains(known.served())) {
      return Standing.UNSERVING;
    }
    boolean heeds = !known.birth().isEmpty() && parts.heedsBirth.test(request);
    if (heeds && !birth.startsWith(known.birth())) {
      return Standing.ABSTAINING;
    }
    return outOfMemory ? Standing.OUT_OF_MEMORY : Standing.VOTING;
  }

  private void put(String name, Cell cell) {
    if (cell.equals(Cell.EMPTY)) {
      cells.remove(name);
    } else {
      cells.put(name, cell);
    }
  }

  /** Says what it is; writes its mark of birth if it is told to, as the audit script does. */
  private Object audit(List<String> arguments) {
    boolean isInTime =
        arguments.size() > 2
            && Math.abs(clock.micros() - Long.parseLong(arguments.get(6))) <= 3_000_000;
    if (isInTime && arguments.get(2).equals(birth)) {
      if (outOfMemory) {
        return SimCommand.error("OOM command not allowed when used memory > 'maxmemory'.");
      }
      String seen = arguments.get(4);
      long ahead = seen.startsWith("+") ? nowMillis() : 0;
      birth = arguments.get(3) + (ahead + Long.parseLong(seen)) + arguments.get(5);
      world.note(3, () -> "n" + index + " is marked: " + birth);
    }
    return Stream.of(
            arguments.get(1),
            "7.2.0",
            runId,
            "master",
            "standalone",
            parts.replicationId.apply(replicationId),
            parts.formerReplicationId.apply(formerReplicationId),
            "0",
            outOfMemory || evicts ? "1000000" : "0",
            outOfMemory ? "1000001" : "0",
            evicts ? "volatile-lru" : "noeviction",
            Long.toString(parts.evictedKeys.applyAsLong(evictedKeys)),
            Long.toString(clock.micros()),
            birth)
        .map(SimCommand::bytes)
        .toList();
  }

  // What somebody lies in wait for.

  /** Does it just after a request of that kind was executed on that name. */
  void lieInWait(Class<? extends NodeRequest> kind, String name, Runnable action) {
    traps.add(new Trap(kind, name, action));
  }

  private void spring(NodeRequest request) {
    if (traps.isEmpty()) {
      return;
    }
    List<Trap> sprung =
        traps.stream()
            .filter(trap -> trap.kind.isInstance(request) && request.names().contains(trap.name))
            .toList();
    traps.removeAll(sprung);
    sprung.forEach(trap -> world.after(1_000, trap.action));
  }

  // What befalls it.

  void takeDump() {
    dumps.add(dump());
    if (dumps.size() > DUMPS) {
      dumps.remove();
    }
  }

  Dump dump() {
    return new Dump(new TreeMap<>(cells), birth);
  }

  /** An earlier state of the data, perhaps the latest that was dumped, perhaps an older one. */
  Dump someDump(SimRandom random) {
    List<Dump> all = new ArrayList<>(dumps);
    return all.isEmpty() ? Dump.EMPTY : all.get(random.nextInt(all.size()));
  }

  void pause() {
    running = Running.PAUSED;
  }

  /** It goes on, unless it has gone down meanwhile, or come back. */
  void resume() {
    if (running != Running.PAUSED) {
      return;
    }
    running = Running.UP;
    List<Runnable> late = new ArrayList<>(backlog);
    backlog.clear();
    late.forEach(Runnable::run);
  }

  /** The process is gone; its data stay on its disk. */
  void crash() {
    running = Running.DOWN;
    incarnation++;
    backlog.clear();
    List<SimConnection> broken = new ArrayList<>(connections);
    connections.clear();
    subscribers.clear();
    scripts.clear();
    broken.forEach(connection -> connection.reset("connection reset"));
  }

  /** A new process on the same data. */
  void restart() {
    birth = parts.birthAfterRestart.apply(birth);
    runId = newIdentity();
    running = Running.UP;
    trouble = null;
    outOfMemory = false;
    evictedKeys = 0;
    formerReplicationId = NO_ID;
  }

  /** A new process on other data. */
  void restartWith(Dump dump) {
    replaceData(dump);
    restart();
  }

  /** Another process, or the original one once more, with a replica's data. */
  void failOver(Dump dump, @Nullable String originalRunId) {
    replaceData(dump);
    restart();
    if (originalRunId != null) {
      runId = originalRunId;
    }
    promote();
  }

  private void promote() {
    formerReplicationId = replicationId;
    replicationId = newIdentity();
  }

  /** Its first copy comes, or all have been gone for long. */
  void takeAnotherHistory() {
    promote();
    formerReplicationId = NO_ID;
  }

  /** The running process copies a copy of its own that lags, and is promoted again. */
  void takeBack(Dump dump) {
    replaceData(dump);
    promote();
  }

  /** The same, and nothing but the name of the history is left to show it. */
  void takeBackUnseen(Dump dump) {
    takeBack(dump);
    formerReplicationId = NO_ID;
  }

  /** Another server answers at its address from now on; the one before comes back next time. */
  void swap() {
    Stranger next = stranger;
    stranger = new Stranger(dump(), runId, replicationId, evictedKeys);
    crash();
    replaceData(next == null ? Dump.EMPTY : next.data);
    restart();
    replicationId = next == null ? newIdentity() : next.replicationId;
    if (next != null) {
      evictedKeys = next.evictedKeys;
      if (parts.returnsAsItself) {
        runId = next.runId;
      } else {
        birth = birth.replace(next.runId, runId);
      }
    }
  }

  /** The scripts are forgotten. */
  void flushScripts() {
    scripts.clear();
  }

  /** Everything is deleted in the running process. */
  void flush() {
    replaceData(new Dump(Map.of(), parts.birthAfterFlush.apply(birth)));
  }

  /** The running process takes over an empty data set. */
  void resyncFromEmpty() {
    flush();
    promote();
  }

  private void replaceData(Dump dump) {
    cells.clear();
    cells.putAll(dump.cells);
    birth = dump.birth;
    checker.nodes.lostData(index);
  }

  /** Its clock is set. */
  void stepClock(long nanos) {
    clock.step(nanos);
    checker.nodes.steppedClock(index);
  }

  /** A lock key is gone, as under an eviction policy, which the server counts. */
  void evict(String name) {
    Cell cell = cells.getOrDefault(name, Cell.EMPTY);
    put(name, cell.locked("", 0));
    evictedKeys++;
  }

  /** Its policy is to evict, or no more. */
  void mayEvict(boolean may) {
    evicts = may;
  }

  /** Everything with a time to live is gone, which the server counts. */
  void evictAll() {
    if (!cells.isEmpty()) {
      evictedKeys += cells.size();
      cells.clear();
      checker.nodes.lostData(index);
    }
  }

  /** Somebody writes a counter, which has no end then. */
  void setCounter(String name, long counter) {
    put(name, cell(name).counting(counter, Long.MAX_VALUE));
  }

  void trouble(@Nullable Trouble trouble) {
    this.trouble = trouble;
  }

  void outOfMemory(boolean full) {
    outOfMemory = full;
  }

  @Override
  public String toString() {
    return "n" + index;
  }
}
