package io.redlock.simulation;

import io.redlock.jedis.trust.LaneGuard;
import io.redlock.jedis.trust.LaneGuard.Identity;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest;
import io.redlock.testkit.NodeModel;
import io.redlock.testkit.NodeModel.Cell;
import io.redlock.testkit.NodeModel.Outcome;
import io.redlock.testkit.NodeModel.Standing;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** One master: its process, its clock, its data, its mark of birth. Executes what arrives. */
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

  /** What a node answers to everything for a while, and whether it executes it all the same. */
  record Trouble(NodeReply reply, boolean executes) {}

  /** Something that is done just after a request of that kind was executed on that name. */
  private record Trap(Class<? extends NodeRequest> kind, String name, Runnable action) {}

  private static final int DUMPS = 6;

  final int index;
  final SimClock clock;
  private final World world;
  private final NodeModel model;
  private final Parts parts;
  private final Checker checker;
  private final Map<String, Cell> cells = new TreeMap<>();
  private final ArrayDeque<Dump> dumps = new ArrayDeque<>();
  private final ArrayDeque<Runnable> backlog = new ArrayDeque<>();
  private final List<SimConnection> connections = new ArrayList<>();
  private final List<Trap> traps = new ArrayList<>();
  private final List<SimLane> listeners = new ArrayList<>();
  private String birth = "";
  private String runId;
  private String replicationId;
  private int identities;
  private Running running = Running.UP;
  private long incarnation;
  private @Nullable Trouble trouble;
  private boolean outOfMemory;

  SimServer(int index, World world, SimClock clock, Parts parts, Checker checker, Plan plan) {
    this.index = index;
    this.world = world;
    this.clock = clock;
    this.model = parts.model(plan);
    this.parts = parts;
    this.checker = checker;
    this.runId = newIdentity();
    this.replicationId = newIdentity();
    if (plan.adopted) {
      birth =
          LaneGuard.adopted(identity(), plan.nodes, plan.guarded, plan.maxTtl(), plan.skewMicros);
    }
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
  Map<String, String> locks() {
    Map<String, String> locks = new TreeMap<>();
    cells.forEach(
        (name, cell) -> {
          if (!cell.at(nowMillis()).isFree()) {
            locks.put(name, cell.owner());
          }
        });
    return locks;
  }

  // What arrives.

  /** A client wants to hear of it when its waiters are woken. */
  void listens(SimLane lane) {
    listeners.add(lane);
  }

  void listensNoMore(SimLane lane) {
    listeners.remove(lane);
  }

  void connected(SimConnection connection) {
    connections.add(connection);
  }

  void disconnected(SimConnection connection) {
    connections.remove(connection);
  }

  /** A message has come in over a connection. */
  void arrived(SimConnection connection, Supplier<Object> job) {
    if (connection.incarnation() != incarnation || running == Running.DOWN) {
      connection.reset(running == Running.DOWN ? "refused connection" : "connection reset");
    } else if (running == Running.PAUSED) {
      backlog.add(() -> arrived(connection, job));
    } else {
      connection.reply(job.get());
    }
  }

  /** Executes a request that carries this mark of birth; empty if the node shall not look. */
  NodeReply execute(NodeRequest request, String birthKnown) {
    Trouble now = trouble;
    if (now == null) {
      return executeSoundly(request, birthKnown);
    }
    if (now.executes) {
      executeSoundly(request, birthKnown);
    }
    return now.reply;
  }

  private NodeReply executeSoundly(NodeRequest request, String birthKnown) {
    long nowMillis = nowMillis();
    List<String> names = request.names();
    List<Cell> before = new ArrayList<>(names.size());
    for (String name : names) {
      before.add(cells.getOrDefault(name, Cell.EMPTY).at(nowMillis));
    }
    Outcome outcome = model.execute(before, request, standing(request, birthKnown), clock.micros());
    for (int i = 0; i < names.size(); i++) {
      put(names.get(i), outcome.cells().get(i));
    }
    NodeReply reply = outcome.reply();
    world.trace.note(
        world.nowNanos(),
        request.token() * 31 + reply.kind().ordinal(),
        () -> "n" + index + " executes " + Names.of(request) + ": " + Names.of(reply));
    checker.nodes.executed(this, request, before, outcome.cells(), reply);
    checker.fair.executed(index, request, outcome.cells());
    outcome.woken().forEach(waiter -> listeners.forEach(lane -> lane.wake(waiter)));
    spring(request);
    return reply;
  }

  private Standing standing(NodeRequest request, String birthKnown) {
    boolean heeds = !birthKnown.isEmpty() && parts.heedsBirth(request);
    if (heeds && !birthKnown.equals(birth)) {
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

  /** Says what it is; writes its mark of birth if it is told to. */
  Object audit(LaneGuard.Question question) {
    if (trouble != null) {
      return trouble.reply;
    }
    String after = question.birthAfter(birth, nowMillis());
    if (!after.equals(birth)) {
      if (outOfMemory) {
        return NodeReply.of(NodeReply.Kind.OUT_OF_MEMORY, "out of memory");
      }
      birth = after;
      world.trace.note(world.nowNanos(), 3, () -> "n" + index + " is marked: " + birth);
    }
    return identity();
  }

  private Identity identity() {
    return new Identity(runId, parts.replicationId(replicationId), clock.micros(), birth);
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
    List<Trap> sprung = new ArrayList<>();
    for (Trap trap : traps) {
      if (trap.kind.isInstance(request) && request.names().contains(trap.name)) {
        sprung.add(trap);
      }
    }
    traps.removeAll(sprung);
    sprung.forEach(trap -> world.after(1_000, trap.action));
  }

  // What befalls it.

  void takeDump() {
    dumps.add(new Dump(new TreeMap<>(cells), birth));
    if (dumps.size() > DUMPS) {
      dumps.remove();
    }
  }

  /** An earlier state of the data, perhaps the latest that was dumped, perhaps an older one. */
  Dump someDump(SimRandom random) {
    List<Dump> all = new ArrayList<>(dumps);
    return all.isEmpty() ? Dump.EMPTY : all.get(random.nextInt(all.size()));
  }

  void pause() {
    running = Running.PAUSED;
  }

  void resume() {
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
    broken.forEach(connection -> connection.reset("connection reset"));
  }

  /** A new process on the same data. */
  void restart() {
    runId = newIdentity();
    running = Running.UP;
    trouble = null;
    outOfMemory = false;
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
    replicationId = newIdentity();
  }

  /** Everything is deleted in the running process. */
  void flush() {
    replaceData(new Dump(Map.of(), parts.birthAfterFlush(birth)));
  }

  /** The running process takes over an empty data set. */
  void resyncFromEmpty() {
    flush();
    replicationId = newIdentity();
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

  /** A lock key is gone, as under an eviction policy. */
  void evict(String name) {
    Cell cell = cells.getOrDefault(name, Cell.EMPTY);
    put(name, cell.locked("", 0));
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
