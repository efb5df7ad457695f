package io.redlock.jedis.lane;

import static java.util.Collections.nCopies;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.NodeStatus;
import io.redlock.jedis.lane.LaneConnection.Batch;
import io.redlock.jedis.lane.Wakes.Subscription;
import io.redlock.jedis.membership.Marks;
import io.redlock.jedis.membership.NodeTrust;
import io.redlock.jedis.membership.Peers;
import io.redlock.jedis.membership.TrustRules;
import io.redlock.jedis.scripts.Replies;
import io.redlock.jedis.scripts.RequestEncoder;
import io.redlock.scenes.Scenes;
import io.redlock.spi.LockNode;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.NodeRequest.Extend;
import io.redlock.spi.NodeRequest.Grant;
import io.redlock.spi.NodeRequest.Inspect;
import io.redlock.spi.NodeRequest.Look;
import io.redlock.spi.NodeRequest.Release;
import io.redlock.spi.NodeRequest.RemoveTicket;
import io.redlock.spi.NodeRequest.Ticket;
import io.redlock.spi.Quorum;
import io.redlock.spi.Ticker;
import java.io.IOException;
import java.net.ConnectException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Queue;
import java.util.function.BiConsumer;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.exceptions.JedisNoScriptException;

/**
 * The life of a lane, as a scene tells it: its machine in a shell without threads. Time passes,
 * bytes are written and answers arrive when a command says so. What comes of a command is what
 * comes out of the machine.
 */
final class LaneLife implements Scenes.Actor, LockNode.Observer, Ticker, LaneShell {

  static final long NODE_TIMEOUT_MILLIS = 100;
  static final long WATCH_MILLIS = NODE_TIMEOUT_MILLIS / 4;

  private static final long TTL_MILLIS = 20_000;
  private static final long WALL_MICROS = 1_800_000_000_000_000L;
  private static final long SKEW_MICROS = Marks.SKEW_MICROS;
  private static final Ticket TICKET = new Ticket("client", 1, 1, 3_000, false);
  private static final JedisConnectionException REFUSAL =
      new JedisConnectionException(new ConnectException("Connection refused"));

  private final LaneSettings settings = FakeNet.settings(Duration.ofMillis(NODE_TIMEOUT_MILLIS));
  private final RequestEncoder encoder = settings.encoder();
  private final NodeClock clock = new NodeClock();
  private final TestNode node = new TestNode();
  private final Queue<Runnable> effects = new ArrayDeque<>();

  private int nodes;
  private Peers peers;
  private TrustRules rules;
  LaneMachine machine;

  /** The requests of the scene. */
  final List<Asked> asked = new ArrayList<>();

  private final Map<Call, Asked> calls = new IdentityHashMap<>();
  private final List<String> came = new ArrayList<>();
  private final Deque<Sent> unanswered = new ArrayDeque<>();
  private long nowNanos = 1_000_000_000_000L;
  private @Nullable Long tickNanos; // null: none is planned
  private int wires;
  private int steps;

  /** True if the lane has asked for a connection that it does not have. */
  boolean isDialled;

  /** Whether a writer comes back at once; otherwise a command says when. */
  private boolean writersComeBack = true;

  private @Nullable Batch underWay;
  private @Nullable Batch lateWriter;
  private boolean takesMessages = true;
  private Wire wire = new TestWire(0, true, this::ended);

  /** A connection, of which the machine only knows that it is one. */
  record TestWire(int number, boolean takesMessages, BiConsumer<Wire, String> ended)
      implements Wire {
    @Override
    public void write(CommandArguments command, int bytes) {
      flush();
    }

    @Override
    public void flush() {
      throw new AssertionError("only the shell writes to a connection");
    }

    @Override
    public boolean takesMessages() {
      return takesMessages;
    }

    @Override
    public void end() {
      ended.accept(this, "end " + number);
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
      return call != null && machine.calls.withdraw(call);
    }
  }

  LaneLife() {
    begin(1, false);
  }

  private void begin(int count, boolean guarded) {
    nodes = count;
    peers = new Peers(TestNode.names(nodes), Quorum.of(nodes));
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
    machine = new LaneMachine("n", settings, trust(0), clock, this, shortest, this, this, nowNanos);
  }

  private NodeTrust trust(int index) {
    return new NodeTrust(TestNode.name(index), index, peers, rules, 10_000);
  }

  /** Performs commands, and returns what comes of all of them. */
  List<String> play(String commands) {
    List<String> all = new ArrayList<>();
    for (String each : commands.split("; ")) {
      String[] words = each.split(" ", 2);
      all.addAll(act(words[0], words.length == 1 ? "" : words[1]));
    }
    return all;
  }

  @Override
  public List<String> act(String command, String rest) {
    if (command.endsWith("?")) {
      return List.of(tell(command, rest));
    }
    ask(command, rest);
    List<String> taken = List.copyOf(came);
    came.clear();
    return command.equals("far") || command.equals("warm") ? List.of() : taken;
  }

  private static int first(String rest) {
    return Integer.parseInt(rest.split(" ", 2)[0]);
  }

  private static String second(String rest) {
    return rest.split(" ", 2)[1];
  }

  // Requests.

  private void ask(String command, String name) {
    switch (command) {
      case "grant" -> asked.add(grant(name));
      case "large" -> asked.add(grant(second(name), "x".repeat(first(name)) + second(name)));
      case "fair" ->
          asked.add(
              send(
                  "fair " + name,
                  new Grant(List.of(name), "owner", wallMicros(), 0, TTL_MILLIS, TICKET, 0)));
      case "extend" ->
          asked.add(
              send(
                  "extend " + name,
                  new Extend(
                      List.of(name), "owner", wallMicros(), TTL_MILLIS, wallMicros(), false)));
      case "release" ->
          asked.add(
              send(
                  "release " + name,
                  new Release(List.of(name), "owner", wallMicros(), 0, false, null, 0)));
      case "withdraw" ->
          asked.add(send("withdraw " + name, new RemoveTicket(List.of(name), TICKET)));
      case "inspect" -> asked.add(send("inspect " + name, new Inspect(List.of(name), 17)));
      case "look" -> asked.add(send("look " + name, new Look(List.of(name.split(" ")), 17)));
      case "long-look" ->
          asked.add(send("look " + second(name), new Look(nCopies(first(name), second(name)), 17)));
      case "filling" -> asked.add(filling(second(name), first(name)));
      default -> answer(command, name);
    }
  }

  private Asked grant(String name) {
    return grant(name, name);
  }

  private Asked grant(String label, String name) {
    return send("grant " + label, new Grant(List.of(name), "owner", wallMicros(), TTL_MILLIS));
  }

  /** Requests a grant that counts for so many bytes: a name is in two keys. */
  private Asked filling(String name, int bytes) {
    Grant smallest = new Grant(List.of(name), "owner", wallMicros(), TTL_MILLIS);
    int missing = bytes - callOf(smallest, new Asked("", smallest)).bytes();
    List<String> names = List.of("x".repeat(missing / 2) + name);
    String owner = "owner" + "x".repeat(missing % 2);
    return send("grant " + name, new Grant(names, owner, wallMicros(), TTL_MILLIS));
  }

  private Call callOf(NodeRequest request, Asked asked) {
    return new Call(encoder.encode(request), 7, asked);
  }

  private Asked send(String label, NodeRequest request) {
    Asked each = new Asked(label, request);
    Call call = callOf(request, each);
    each.call = call;
    calls.put(call, each);
    boolean isQueued = machine.enqueue(call, nowNanos);
    Batch batch = isQueued ? machine.connection.nextBatch(false, nowNanos) : null;
    perform();
    write(batch, false);
    return each;
  }

  // Answers.

  private void answer(String command, String rest) {
    switch (command) {
      case "answer" -> answer();
      case "all" -> answerAll();
      case "noscript" -> answer(new JedisNoScriptException("NOSCRIPT No matching script"));
      case "word" -> answerWord(rest);
      case "error" -> answerError(rest);
      case "raw" -> answer(TestNode.bytes(rest));
      case "audit-of-another" ->
          answer(node.audited(List.of("EVAL", "", "1", "", "0"), wallMicros()));
      case "message" -> deliver(TestNode.texts("message", "redlock:wake:client", rest));
      case "push" -> deliver(TestNode.texts(rest.split(" ")));
      case "unasked" -> deliver(TestNode.bytes(rest));
      case "far" -> {
        connect();
        answerSlowly(Long.parseLong(rest));
      }
      case "prompt" -> last(Integer.parseInt(rest), this::answerAll);
      case "denied" -> last(first(rest), () -> answerAllButMarks(second(rest)));
      default -> liveThrough(command, rest);
    }
  }

  /** So many seconds go by, with an answer every 10 ms; of what is written, audits are counted. */
  private void last(int seconds, Runnable answer) {
    for (int i = 0; i < 100 * seconds; i++) {
      answer.run();
      pass(10);
    }
    summarize();
  }

  /** Of all that was written, keeps only how many audits there were. */
  private void summarize() {
    long audits = came.stream().filter(each -> each.startsWith("write audit")).count();
    came.removeIf(each -> each.startsWith("write "));
    came.add("audits: " + audits);
  }

  /** The next answer that is due arrives: a yes, or what the node says of itself. */
  private void answer() {
    deliver(node.reply(unanswered.remove().command, wallMicros()));
  }

  private void answerAll() {
    while (!unanswered.isEmpty()) {
      answer();
    }
  }

  /** Answers everything, an audit that is to write the birth mark by this error. */
  private void answerAllButMarks(String error) {
    while (!unanswered.isEmpty()) {
      Sent next = unanswered.getFirst();
      if (carriesMark(next.call, next.command)) {
        answerError(error);
      } else {
        answer();
      }
    }
  }

  /** Each answer takes so long, until none is due. */
  private void answerSlowly(long micros) {
    while (!unanswered.isEmpty()) {
      nowNanos += micros * 1_000;
      for (int due = unanswered.size(); due > 0; due--) {
        answer();
      }
    }
  }

  /** The next answer that is due is this one. */
  private void answer(Object reply) {
    unanswered.remove();
    deliver(reply);
  }

  private void answerError(String message) {
    answer(new JedisDataException(message));
  }

  /** The next answer that is due is this word, the token that the request carried, and the rest. */
  private void answerWord(String text) {
    String[] words = text.split(" ", 2);
    String token = " " + calls.get(unanswered.getFirst().call).request.token();
    answer(TestNode.bytes(words[0] + token + text.substring(words[0].length())));
  }

  /** Something arrives, whatever is due. */
  private void deliver(Object reply) {
    Call decided = machine.received(wire, reply, nowNanos);
    boolean hasMore = machine.calls.hasMore();
    if (decided != null) {
      decided.deliver();
    }
    perform();
    if (hasMore) {
      write(machine.connection.nextBatch(true, nowNanos), true);
    }
  }

  // The node, time and the connection.

  private void liveThrough(String command, String rest) {
    switch (command) {
      case "three" -> begin(3, true);
      case "others" -> others(Integer.parseInt(rest));
      case "unmarked", "birth" -> node.birth = rest;
      case "votes-in" ->
          node.mark(
              3, true, wallMicros() / 1_000 - TestNode.ABSTENTION_MILLIS + Long.parseLong(rest));
      case "role" -> node.role = rest;
      case "run" -> node.run = rest;
      case "takes-marks" -> node.takesMarks = rest.equals("yes");
      case "up" -> {
        step("start", "");
        handshake();
        machine.calls.untold.clear(); // it has called each script
      }
      case "warm" -> {
        play("up");
        grant("first");
        answer();
      }
      case "connect" -> connect();
      case "handshake" -> handshake();
      case "pass" -> pass(Long.parseLong(rest));
      case "hang" -> nowNanos += Long.parseLong(rest) * 1_000_000;
      case "nanos" -> nowNanos += Long.parseLong(rest);
      case "tick" -> tick();
      case "late" -> {
        pass(Long.parseLong(rest));
        nowNanos += 51_000_000;
        tick();
      }
      case "busy-audit" -> {
        pass(1_000);
        answerError("BUSY");
      }
      case "busy" -> {
        for (int i = 0; i < Integer.parseInt(rest); i++) {
          grant("c");
          pass(9);
          answer();
        }
        summarize();
      }
      case "resp2" -> takesMessages = false;
      case "hold-writers" -> writersComeBack = false;
      case "let-writers-go" -> writersComeBack = true;
      case "written" -> {
        taken(underWay).written();
        underWay = null;
        write(machine.connection.nextBatch(false, nowNanos), false);
      }
      default -> step(command, rest);
    }
  }

  private static Batch taken(@Nullable Batch batch) {
    return Objects.requireNonNull(batch, "nobody writes");
  }

  /** One step of the machine. */
  private void step(String command, String rest) {
    switch (command) {
      case "start" -> machine.start(nowNanos);
      case "quorum" -> machine.connection.told(nowNanos);
      case "fail" ->
          machine.lost(null, rest.isEmpty() ? REFUSAL : new JedisDataException(rest), nowNanos);
      case "lose" -> {
        lateWriter = underWay == null ? lateWriter : underWay;
        underWay = null;
        machine.lost(wire, rest.isEmpty() ? new IOException("reset") : REFUSAL, nowNanos);
      }
      case "written-late" -> {
        Batch batch = taken(lateWriter);
        batch.calls.forEach(call -> came.add("had " + label(call)));
        machine.lost(batch.wire, new IOException("reset"), nowNanos);
        batch.written();
      }
      case "write-fails" -> {
        underWay = null;
        writersComeBack = true;
        machine.lost(wire, new IOException("broken pipe"), nowNanos);
      }
      case "strange" -> { // of another connection, and of none
        for (Wire each : new Wire[] {new TestWire(99, true, this::ended), null}) {
          machine.lost(each, new IOException("strange"), nowNanos);
          assertNull(machine.received(each, TestNode.bytes("RELEASED 1"), nowNanos));
        }
      }
      case "broken" -> machine.fail(new OutOfMemoryError("heap"), nowNanos);
      case "close" -> machine.close(nowNanos);
      case "end" -> machine.end(nowNanos);
      default -> throw new IllegalArgumentException(command);
    }
    afterStep();
  }

  /** Makes the lane go through its handshake, and forgets what it did for that. */
  private void handshake() {
    connect();
    answerAll();
    assertEquals(NodeStatus.State.UP, status().state());
    came.clear();
  }

  private void connect() {
    isDialled = false;
    Wire fresh = new TestWire(++wires, takesMessages, this::ended);
    Wire known = wire;
    wire = fresh;
    machine.connected(fresh, nowNanos);
    perform();
    wire = came.contains("end " + wires) ? known : fresh;
    write(machine.connection.nextBatch(true, nowNanos), true);
  }

  /** Other nodes are found fit, so many. */
  private void others(int count) {
    for (int index = 1; index <= count; index++) {
      TestNode other = new TestNode();
      other.run = "run" + index;
      other.mark(nodes, rules.terms().guarded());
      trust(index).judge(other.audit(wallMicros()), nowNanos, nowNanos, this, reason -> {});
    }
  }

  @Override
  public long monotonicNanos() {
    return nowNanos;
  }

  @Override
  public long wallMicros() {
    return WALL_MICROS + nowNanos / 1_000;
  }

  /** Lets time pass, and ticks when it is due. */
  private void pass(long millis) {
    long endNanos = nowNanos + millis * 1_000_000;
    while (tickNanos != null && tickNanos <= endNanos) {
      nowNanos = Math.max(nowNanos, tickNanos);
      tick();
    }
    nowNanos = endNanos;
  }

  private void tick() {
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
    write(machine.connection.nextBatch(false, nowNanos), false);
  }

  private void perform() {
    long dueNanos = machine.tickNanos();
    tickNanos = dueNanos == LaneTicks.NEVER ? null : Long.valueOf(dueNanos);
    for (Runnable next = effects.poll(); next != null; next = effects.poll()) {
      next.run();
    }
  }

  @Override
  public void add(Runnable effect) {
    effects.add(effect);
  }

  @Override
  public void dial() {
    isDialled = true;
    came.add("dial");
  }

  private void ended(Wire ended, String what) {
    came.add(what);
    if (ended == wire) {
      unanswered.clear();
    }
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

  @Override
  public void onStateChange(NodeStatus status) {
    came.add(status.state() + status.reason().map(reason -> ": " + reason).orElse(""));
  }

  @Override
  public void onReset(String reason) {
    came.add("past lost: " + reason);
  }

  @Override
  public void onWake(long waiter) {
    came.add("wake " + waiter);
  }

  @Override
  public void onListening() {
    came.add("listening");
  }

  // Writing.

  private void write(@Nullable Batch first, boolean asReader) {
    for (Batch batch = first;
        batch != null;
        batch = machine.connection.nextBatch(asReader, nowNanos)) {
      goOn();
      List<String> labels = new ArrayList<>();
      for (Call call : batch.calls) {
        List<String> command = TestNode.words(batch.command(call));
        unanswered.add(new Sent(call, command));
        String label = label(call) + (call.byText ? " as text" : "");
        labels.add(label + (carriesMark(call, command) ? " with a mark" : ""));
      }
      came.add("write " + String.join(", ", Scenes.brief(labels)));
      if (!writersComeBack) {
        assertNull(underWay, "one writes at a time");
        underWay = batch;
        return;
      }
      batch.written();
    }
    perform();
  }

  private static boolean carriesMark(Call call, List<String> command) {
    return call.isAudit() && command.size() > 5;
  }

  private String label(Call call) {
    Asked known = calls.get(call);
    return call instanceof Subscription
        ? "subscribe"
        : call.isAudit() ? "audit" : known == null ? "unknown" : known.label;
  }

  // What can be seen.

  NodeStatus status() {
    return machine.status(nowNanos);
  }

  /** Returns true if a command has no answer yet. */
  boolean isAnswerDue() {
    return !unanswered.isEmpty();
  }

  private String tell(String command, String rest) {
    var status = status();
    return switch (command) {
      case "take?" -> asked(rest).withdraw() ? "taken back" : "too late";
      case "its-turn?" -> machine.awaitsItsTurn(asked(rest).call, nowNanos) ? "awaits it" : "no";
      case "turns?" -> turnsBefore(asked(rest).call) + " requests";
      case "kept?" -> isKept(asked(rest).call) ? "yes" : "no";
      case "state?" -> status.state() + status.reason().map(reason -> ": " + reason).orElse("");
      case "error?" -> status.lastError().orElse("none");
      case "since?" -> status.sinceAgo().toMillis() + " ms";
      case "trips?" -> status.roundTripMedian() + " " + status.roundTrip99();
      case "queued?" -> String.valueOf(status.queued());
      case "unanswered?" -> String.valueOf(unanswered.size());
      case "tick?" ->
          tickNanos == null ? "never" : "in " + (tickNanos - nowNanos) / 1_000_000 + " ms";
      case "idle?" -> machine.calls.isIdle() ? "yes" : "no";
      case "more?" -> machine.calls.hasMore() ? "yes" : "no";
      case "reader?" ->
          machine.connection.nextBatch(true, nowNanos) == null ? "nothing" : "a batch";
      case "clock?" -> clock.offsetMicros().toString();
      case "quorum?" -> trust(0).hasQuorum() ? "yes" : "no";
      case "birth?" -> node.birth;
      case "guard?" ->
          String.join(", ", lastCommand().subList(lastCommand().size() - 2, lastCommand().size()));
      case "number?" -> lastCommand().get(4);
      default -> throw new IllegalArgumentException(command);
    };
  }

  private List<String> lastCommand() {
    return unanswered.getLast().command;
  }

  /** How many requests go before a look on a lane that is never idle. */
  private int turnsBefore(Call look) {
    int turns = 0;
    while (look.state == Call.State.QUEUED && turns < 100) {
      grant("x", "x".repeat(1 << 19));
      answer();
      turns++;
    }
    came.clear();
    return turns;
  }

  /** Tells whether the call is still queued, although it may be over. */
  private boolean isKept(Call call) {
    List<Call> kept = new ArrayList<>();
    machine.calls.queue.forEach(kept::add);
    machine.calls.looks.forEach(kept::add);
    return kept.contains(call);
  }

  /** Returns the latest request of the scene with this label. */
  private Asked asked(String label) {
    return asked.stream()
        .filter(each -> each.label.equals(label))
        .reduce((a, b) -> b)
        .orElseThrow();
  }
}
