package io.redlock.jedis.lane;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.NodeStatus;
import io.redlock.jedis.lane.LaneConnection.Batch;
import io.redlock.jedis.lane.LaneConnection.Writer;
import io.redlock.jedis.scripts.Replies;
import io.redlock.jedis.scripts.RequestEncoder;
import io.redlock.jedis.trust.Marks;
import io.redlock.jedis.trust.NodeTrust;
import io.redlock.jedis.trust.Peers;
import io.redlock.jedis.trust.TrustRules;
import io.redlock.scenes.Scenes;
import io.redlock.spi.LockNode;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.NodeRequest.Extend;
import io.redlock.spi.NodeRequest.Grant;
import io.redlock.spi.NodeRequest.Release;
import io.redlock.spi.NodeRequest.RemoveTicket;
import io.redlock.spi.NodeRequest.Ticket;
import io.redlock.spi.Quorum;
import io.redlock.spi.Ticker;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.random.RandomGenerator;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.exceptions.JedisNoScriptException;

/**
 * A lane's machine in a shell without threads: time passes, bytes are written and answers arrive
 * when the test says so. What comes out of the machine is kept as text until the test takes it.
 */
final class LaneBed implements LockNode.Observer, Ticker, LaneEffect.Shell {

  static final long NODE_TIMEOUT_MILLIS = 100;
  static final long WATCH_MILLIS = NODE_TIMEOUT_MILLIS / 4;
  static final long TTL_MILLIS = 20_000;
  private static final String LOADS =
      Introduction.LOADED.stream().map(each -> "load " + each).collect(Collectors.joining(", "));

  private static final long WALL_MICROS = 1_800_000_000_000_000L;
  private static final long SKEW_MICROS = Marks.SKEW_MICROS;

  final LaneSettings settings = FakeNet.settings(Duration.ofMillis(NODE_TIMEOUT_MILLIS));
  final RequestEncoder encoder = new RequestEncoder(settings.retentionMillis(), SKEW_MICROS);
  final NodeClock clock = new NodeClock();
  final TestNode node = new TestNode();
  private final InOrder inOrder = new InOrder("n");
  final LaneMachine machine;

  private final int nodes;
  private final Peers peers;
  private final TrustRules rules;
  private final Map<Call, Asked> asked = new IdentityHashMap<>();
  private final List<String> came = new ArrayList<>();
  private final Deque<Sent> unanswered = new ArrayDeque<>();
  private @Nullable Long tickNanos; // null: none is planned
  private int wires;
  private int steps;

  long nowNanos = 1_000_000_000_000L;

  /** Whether a writer comes back at once; otherwise the test calls {@link #comeBack}. */
  boolean writersComeBack = true;

  @Nullable Batch underWay;
  private @Nullable Batch lateWriter;
  Wire wire = new TestWire(0);

  /** A connection, of which the machine only knows that it is one. */
  record TestWire(int number) implements Wire {
    @Override
    public void write(CommandArguments command, int bytes) {
      end(false);
    }

    @Override
    public void flush() {
      end(false);
    }

    @Override
    public void end(boolean isWhole) {
      throw new AssertionError("only the shell writes to a connection and ends it");
    }
  }

  private record Sent(Call call, List<String> command) {}

  /** A request and what was answered. */
  final class Asked implements LockNode.ReplyHandler {
    final String label;
    final NodeRequest request;
    final List<NodeReply> answers = new ArrayList<>();
    @Nullable Call call; // null if it was refused

    Asked(String label, NodeRequest request) {
      this.label = label;
      this.request = request;
    }

    @Override
    public void onReply(int slot, NodeReply reply) {
      assertEquals(7, slot);
      answers.add(reply);
      came.add(label + ": " + Replies.text(reply));
    }

    boolean withdraw() {
      return call != null && call.withdraw();
    }
  }

  LaneBed() {
    this(1, false);
  }

  LaneBed(int nodes, boolean guarded) {
    this.nodes = nodes;
    peers = new Peers(TestNode.names(nodes), Quorum.of(nodes), SKEW_MICROS);
    rules = Marks.rules(guarded);
    node.mark(nodes, guarded);
    RandomGenerator shortest =
        new RandomGenerator() {
          @Override
          public long nextLong() {
            throw new AssertionError("unbounded");
          }

          @Override
          public long nextLong(long origin, long bound) {
            assertEquals(2 * origin, bound);
            came.add("pause of " + origin / 1_000_000 + " to " + bound / 1_000_000 + " ms");
            return origin;
          }
        };
    machine =
        new LaneMachine(
            "n", settings, trust(0), clock, this, shortest, this, inOrder::add, nowNanos);
  }

  NodeTrust trust(int index) {
    return new NodeTrust(TestNode.name(index), index, peers, rules, 10_000);
  }

  // Time.

  @Override
  public long monotonicNanos() {
    return nowNanos;
  }

  @Override
  public long wallMicros() {
    return WALL_MICROS + nowNanos / 1_000;
  }

  /** Lets time pass, and ticks when it is due. */
  LaneBed pass(long millis) {
    long endNanos = nowNanos + millis * 1_000_000;
    while (tickNanos != null && tickNanos <= endNanos) {
      nowNanos = Math.max(nowNanos, tickNanos);
      tick();
    }
    nowNanos = endNanos;
    return this;
  }

  /** Lets time pass in which this process does nothing. */
  LaneBed hang(long millis) {
    nowNanos += millis * 1_000_000;
    return this;
  }

  /** How many milliseconds from now the next tick comes; −1 if none is planned. */
  long millisToTick() {
    return tickNanos == null ? -1 : (tickNanos - nowNanos) / 1_000_000;
  }

  void tick() {
    goOn();
    tickNanos = null;
    machine.tick(nowNanos);
    afterStep();
  }

  /** Fails a test that would never end. */
  private void goOn() {
    steps++;
    assertTrue(steps < 100_000, "it never ends");
  }

  private void afterStep() {
    perform();
    write(machine.nextBatch(Writer.ANYBODY, nowNanos), Writer.ANYBODY);
  }

  private void perform() {
    long dueNanos = machine.tickNanos();
    tickNanos = dueNanos == LaneTicks.NEVER ? null : Long.valueOf(dueNanos);
    machine.takeEffects().forEach(effect -> effect.perform(this));
  }

  @Override
  public void dial() {
    came.add("dial");
  }

  @Override
  public void end(Wire ended, boolean isWhole) {
    came.add((isWhole ? "end whole " : "end ") + ((TestWire) ended).number);
    if (ended == wire) {
      unanswered.clear();
    }
  }

  @Override
  public void doInOrder() {
    inOrder.run();
  }

  @Override
  public void answer(Call call) {
    call.deliver();
  }

  @Override
  public void listen() {
    came.add("listen");
  }

  @Override
  public void attempted() {
    came.add("attempted");
  }

  @Override
  public void closing() {
    came.add("closing");
  }

  @Override
  public void closed() {
    came.add("closed");
  }

  // The connection.

  LaneBed start() {
    machine.start(nowNanos);
    afterStep();
    return this;
  }

  LaneBed connect() {
    Wire fresh = new TestWire(++wires);
    Wire known = wire;
    wire = fresh;
    machine.connected(fresh, nowNanos);
    perform();
    wire = came.contains("end " + wires) ? known : fresh;
    write(machine.nextBatch(Writer.READER, nowNanos), Writer.READER);
    return this;
  }

  LaneBed fail(Throwable why) {
    machine.failed(why, nowNanos);
    afterStep();
    return this;
  }

  LaneBed lose(Throwable why) {
    Batch batch = underWay;
    lateWriter = batch == null ? lateWriter : batch;
    underWay = null;
    machine.lost(wire, why, nowNanos);
    afterStep();
    return this;
  }

  /** The writer of the connection that was lost is back. */
  LaneBed comeBackLate() {
    Batch batch = Objects.requireNonNull(lateWriter);
    batch.calls().forEach(call -> came.add("had " + label(call)));
    machine.writeFailed(batch.wire(), new IOException("reset"), nowNanos);
    machine.written(batch.wire());
    afterStep();
    return this;
  }

  /** The writer that is under way finds the connection broken. */
  LaneBed failToWrite() {
    underWay = null;
    writersComeBack = true;
    machine.writeFailed(wire, new IOException("broken pipe"), nowNanos);
    afterStep();
    return this;
  }

  /** Events of another connection arrive, and of none. */
  LaneBed strange() {
    for (Wire each : new Wire[] {new TestWire(99), null}) {
      machine.lost(each, new IOException("strange"), nowNanos);
      assertNull(machine.received(each, TestNode.bytes("RELEASED 1"), nowNanos));
    }
    machine.writeFailed(new TestWire(99), new IOException("strange"), nowNanos);
    afterStep();
    return this;
  }

  LaneBed close() {
    machine.close(nowNanos);
    afterStep();
    return this;
  }

  LaneBed end() {
    machine.end(nowNanos);
    afterStep();
    return this;
  }

  LaneBed breakDown(Throwable why) {
    machine.fail(why, nowNanos);
    afterStep();
    return this;
  }

  /** Makes the lane go through its introduction, and forgets what it did for that. */
  LaneBed up() {
    return start().introduce();
  }

  LaneBed introduce() {
    connect().answerAll();
    assertEquals(NodeStatus.State.UP, state());
    came();
    return this;
  }

  /** Other nodes are found fit, so many. */
  LaneBed others(int count) {
    for (int index = 1; index <= count; index++) {
      TestNode other = new TestNode();
      other.run = "run" + index;
      other.mark(nodes, rules.guarded());
      trust(index).judge(other.audit(wallMicros()), nowNanos, nowNanos, this, reason -> {});
    }
    return this;
  }

  LaneBed quorum() {
    machine.told(nowNanos);
    afterStep();
    return this;
  }

  // Requests.

  Asked grant(String name) {
    return send("grant " + name, new Grant(List.of(name), "owner", token(), TTL_MILLIS));
  }

  Asked large(String name, int bytes) {
    List<String> names = List.of("x".repeat(bytes) + name);
    return send("grant " + name, new Grant(names, "owner", token(), TTL_MILLIS));
  }

  /** Requests a grant that counts for so many bytes: a name is in two keys. */
  Asked filling(String name, int bytes) {
    Grant smallest = new Grant(List.of(name), "owner", token(), TTL_MILLIS);
    int missing = bytes - callOf(smallest, new Asked("", smallest)).bytes();
    List<String> names = List.of("x".repeat(missing / 2) + name);
    String owner = "owner" + "x".repeat(missing % 2);
    return send("grant " + name, new Grant(names, owner, token(), TTL_MILLIS));
  }

  private Call callOf(NodeRequest request, Asked asked) {
    return Call.request(encoder.encode(request), 7, asked, machine::withdraw);
  }

  Asked fairGrant(String name) {
    return send(
        "fair " + name, new Grant(List.of(name), "owner", token(), 0, TTL_MILLIS, ticket(), 0));
  }

  Asked extend(String name) {
    return send("extend " + name, new Extend(List.of(name), "owner", token(), TTL_MILLIS, token()));
  }

  Asked release(String name) {
    return send("release " + name, new Release(List.of(name), "owner", token()));
  }

  Asked giveUpTicket(String name) {
    return send("withdraw " + name, new RemoveTicket(List.of(name), ticket()));
  }

  private static Ticket ticket() {
    return new Ticket("client", 1, 1, 3_000);
  }

  private long token() {
    return wallMicros();
  }

  Asked send(String label, NodeRequest request) {
    Asked each = new Asked(label, request);
    NodeReply refusal = machine.refusal(request, nowNanos);
    if (refusal != null) {
      perform();
      each.onReply(7, refusal);
      return each;
    }
    Call call = callOf(request, each);
    each.call = call;
    asked.put(call, each);
    machine.enqueue(call, nowNanos);
    Batch batch = machine.nextBatch(Writer.ANYBODY, nowNanos);
    perform();
    write(batch, Writer.ANYBODY);
    return each;
  }

  // Writing.

  private void write(@Nullable Batch first, Writer writer) {
    for (Batch batch = first; batch != null; batch = machine.nextBatch(writer, nowNanos)) {
      goOn();
      List<String> labels = new ArrayList<>();
      for (Call call : batch.calls()) {
        List<String> command = TestNode.words(batch.command(call));
        unanswered.add(new Sent(call, command));
        String label = label(call) + (isText(call, command) ? " as text" : "");
        labels.add(label + (carriesMark(call, command) ? " with a mark" : ""));
      }
      came.add("write " + String.join(", ", Scenes.brief(labels)).replace(LOADS, "loads"));
      if (!writersComeBack) {
        assertEquals(null, underWay, "one writes at a time");
        underWay = batch;
        return;
      }
      machine.written(batch.wire());
    }
    perform();
  }

  private static boolean isText(Call call, List<String> command) {
    return command.get(1).length() > 40 && call.purpose != Call.Purpose.LOAD_SCRIPT;
  }

  private static boolean carriesMark(Call call, List<String> command) {
    return call.purpose == Call.Purpose.AUDIT && command.size() > 5;
  }

  private String label(Call call) {
    Asked known = asked.get(call);
    return switch (call.purpose) {
      case REQUEST -> known == null ? "unknown" : known.label;
      case AUDIT -> "audit";
      case LOAD_SCRIPT -> "load " + call.script;
    };
  }

  /** The writer that is under way has written. */
  LaneBed comeBack() {
    Batch batch = underWay;
    if (batch == null) {
      throw new IllegalStateException("nobody writes");
    }
    underWay = null;
    machine.written(batch.wire());
    write(machine.nextBatch(Writer.ANYBODY, nowNanos), Writer.ANYBODY);
    return this;
  }

  // Answers.

  /** The next answer that is due arrives: a yes, or what the node says of itself. */
  LaneBed answer() {
    Sent next = unanswered.remove();
    return deliver(natural(next.call, next.command));
  }

  LaneBed answerAll() {
    while (!unanswered.isEmpty()) {
      answer();
    }
    return this;
  }

  /** Answers everything, an audit that is to write the birth mark by this error. */
  LaneBed answerAllButMarks(String error) {
    while (!unanswered.isEmpty()) {
      Sent next = unanswered.getFirst();
      if (carriesMark(next.call, next.command)) {
        answerError(error);
      } else {
        answer();
      }
    }
    return this;
  }

  /** Answers the loads at the head of what is unanswered. */
  void answerLoads(Runnable answer) {
    while (!unanswered.isEmpty()
        && unanswered.getFirst().call.purpose == Call.Purpose.LOAD_SCRIPT) {
      answer.run();
    }
  }

  /** Each answer takes so long, until none is due. */
  LaneBed answerSlowly(long micros) {
    while (!unanswered.isEmpty()) {
      nowNanos += micros * 1_000;
      for (int due = unanswered.size(); due > 0; due--) {
        answer();
      }
    }
    return this;
  }

  /** The next answer that is due is this one. */
  LaneBed answer(Object reply) {
    unanswered.remove();
    return deliver(reply);
  }

  LaneBed answerError(String message) {
    return answer(new JedisDataException(message));
  }

  LaneBed answerNoScript() {
    return answer(new JedisNoScriptException("NOSCRIPT No matching script"));
  }

  /** The next answer that is due is this word, the token that the request carried, and the rest. */
  LaneBed answerWord(String text) {
    String[] words = text.split(" ", 2);
    String token = " " + asked.get(unanswered.getFirst().call).request.token();
    return answer(TestNode.bytes(words[0] + token + text.substring(words[0].length())));
  }

  private Object natural(Call call, List<String> command) {
    if (call.purpose == Call.Purpose.LOAD_SCRIPT) {
      return TestNode.bytes("0123");
    }
    if (call.purpose == Call.Purpose.AUDIT) {
      return node.audited(command, wallMicros());
    }
    long token = asked.get(call).request.token();
    return TestNode.bytes(
        switch (call.script) {
          case EXTEND -> "EXTENDED " + token;
          case RELEASE -> "RELEASED " + token;
          case LOOK -> "LOCKS " + token + " -2".repeat(call.invocation().names());
          default -> "GRANT " + token;
        });
  }

  /** Something arrives, whatever is due. */
  LaneBed deliver(Object reply) {
    Call decided = machine.received(wire, reply, nowNanos);
    boolean hasMore = machine.hasMore();
    if (decided != null) {
      decided.deliver();
    }
    perform();
    if (hasMore) {
      write(machine.nextBatch(Writer.READER, nowNanos), Writer.READER);
    }
    return this;
  }

  // What came out.

  NodeStatus status() {
    return machine.status(nowNanos);
  }

  NodeStatus.State state() {
    return status().state();
  }

  /** How many commands have no answer. */
  int due() {
    return unanswered.size();
  }

  /** The last command that was written, in words. */
  List<String> lastCommand() {
    return unanswered.getLast().command;
  }

  /** What came out since the last time, in its order. */
  List<String> came() {
    List<String> taken = List.copyOf(came);
    came.clear();
    return taken;
  }

  /** Of all that was written, keeps only how many audits there were. */
  void summarize() {
    long audits = came.stream().filter(each -> each.startsWith("write audit")).count();
    came.removeIf(each -> each.startsWith("write "));
    came.add("audits: " + audits);
  }

  @Override
  public void onStateChange(NodeStatus status) {
    came.add(status.state() + status.reason().map(reason -> ": " + reason).orElse(""));
  }

  @Override
  public void onReset(String reason) {
    came.add("past lost: " + reason);
  }
}
