package io.redlock.simulation;

import io.redlock.jedis.trust.LaneGuard;
import io.redlock.jedis.trust.LaneGuard.Identity;
import io.redlock.jedis.trust.LaneGuard.Question;
import io.redlock.simulation.SimConnection.Flight;
import io.redlock.spi.LockNode;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.NodeStatus;
import io.redlock.spi.NodeStatus.State;
import io.redlock.spi.Scheduler;
import io.redlock.spi.Ticker;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * One client's way to one node, with the habits of a real lane: one connection, audited first; what
 * is slow is still read; after a long silence the connection is given up and its requests are
 * unknown; releases wait for the next one and go out first; a silent or absent node is refused at
 * once.
 */
final class SimLane implements LockNode {

  private static final long PING_NANOS = 1_000_000_000L;
  private static final int MAX_RENEWALS = 4;
  private static final long LONGEST_BACKOFF_NANOS = 500_000_000L;

  /** One request and where its answer goes. */
  final class Call implements Pending {
    private final NodeRequest request;
    private final int slot;
    private final ReplyHandler handler;
    private boolean sent;
    private boolean over;

    private Call(NodeRequest request, int slot, ReplyHandler handler) {
      this.request = request;
      this.slot = slot;
      this.handler = handler;
      open++;
    }

    NodeRequest request() {
      return request;
    }

    boolean isRelease() {
      return request instanceof NodeRequest.Release;
    }

    boolean isWithdrawal() {
      return request instanceof NodeRequest.Withdraw;
    }

    boolean takesBack() {
      return isRelease() || isWithdrawal();
    }

    void answer(NodeReply reply) {
      if (!over) {
        over = true;
        open--;
        handler.onReply(slot, reply);
      }
    }

    @Override
    public boolean withdraw() {
      if (over || sent || process.isDead()) {
        return false;
      }
      over = true;
      open--;
      queue.remove(this);
      return true;
    }
  }

  private final String name;
  private final SimServer server;
  private final Link link;
  private final SimProcess process;
  private final SimProcess.Strand reader;
  private final World world;
  private final Plan plan;
  private final SimRandom random;
  private final FaultCount faults;
  private final HoldChecks checks;
  private final Adversary adversary;
  private final ArrayDeque<Call> queue = new ArrayDeque<>();

  private final Link.Wire wakes;
  private String client = ""; // whose wake-ups it hears; empty before the first refusal

  private final LaneGuard guard;
  private @Nullable Observer observer;
  private @Nullable SimConnection connection; // ready to be written to
  private @Nullable SimConnection opening;
  private boolean closed;
  private boolean stalled;
  private boolean watched;
  private int failures;
  private int open;
  private @Nullable NodeReply refusal; // while there is no connection, and none is waited for

  private boolean clockKnown;
  private long offsetMicros;
  private @Nullable Ticker ticker;
  private boolean auditing;
  private int renewals; // of the mark, on the connection that is being opened
  private boolean early; // no quorum of nodes was known when it began to be opened

  private State state = State.CONNECTING;
  private long stateSinceNanos;
  private String stateReason = "";

  SimLane(
      SimServer server,
      Link link,
      SimProcess process,
      Plan plan,
      SimRandom random,
      FaultCount faults,
      HoldChecks checks,
      LaneGuard.Shared shared) {
    this.name = "n" + server.index;
    this.guard = new LaneGuard(name, server.index, shared);
    this.server = server;
    this.link = link;
    this.wakes = link.replies();
    this.process = process;
    this.reader = process.strand();
    this.world = process.world;
    this.plan = plan;
    this.random = random;
    this.faults = faults;
    this.checks = checks;
    this.adversary = new Adversary(world, plan, random, faults, server);
  }

  SimServer server() {
    return server;
  }

  /** Requests that have not been answered. */
  int open() {
    return open;
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public void start(Ticker ticker, Scheduler scheduler, Observer observer) {
    this.ticker = ticker;
    this.observer = observer;
    guard.whenQuorum(() -> world.after(0, () -> reader.run(this::auditNow)));
    stateSinceNanos = process.monotonic.nanos();
    connect();
  }

  // Requests.

  @Override
  public Pending send(NodeRequest request, int slot, ReplyHandler handler) {
    Call call = new Call(request, slot, handler);
    if (process.isDead()) {
      return call;
    }
    checks.asked(process, request);
    process.maybeHoldUpThread();
    NodeReply refused = refusal(call);
    if (refused != null) {
      call.answer(refused);
      return call;
    }
    if (connection != null && !stalled && queue.isEmpty()) {
      write(call);
    } else {
      queue.add(call);
    }
    process.maybeHoldUpThread();
    process.awaitIfBlocked(() -> call.over, plan.nodeTimeoutNanos + Plan.MILLI);
    return call;
  }

  private @Nullable NodeReply refusal(Call call) {
    if (closed || observer == null) {
      return NodeReply.unreachable(closed ? "closed" : "not started");
    }
    if (call.isRelease()) {
      return null;
    }
    if (connection == null) {
      return refusal;
    }
    if (isSilent()) {
      enter(State.SILENT, "silent");
      return call.isWithdrawal() ? null : NodeReply.unreachable("silent");
    }
    if (call.isWithdrawal()) {
      return null;
    }
    return call.request instanceof NodeRequest.Grant ? guard.toGrant() : guard.toExtend();
  }

  private boolean isSilent() {
    SimConnection current = connection;
    Flight oldest = current == null ? null : current.inFlight().peek();
    return oldest != null
        && reader.isIdle()
        && process.monotonic.nanos() - oldest.sentNanos() > plan.nodeTimeoutNanos;
  }

  private void write(Call call) {
    SimConnection target = connection;
    if (target == null || call.over) {
      return;
    }
    call.sent = true;
    String birth = guard.birth();
    target.send(
        call,
        process.monotonic.nanos(),
        () -> {
          NodeReply reply = server.execute(call.request, birth);
          adversary.maybeRepeat(call.request, reply, birth);
          return reply;
        });
    adversary.maybeHold(target, call.request);
    watch();
  }

  // Wake-ups.

  /** A fair waiter is refused: from now on wake-ups of its client are listened to. */
  private void listen(NodeRequest request, NodeReply reply) {
    Observer told = observer;
    boolean refused = reply.kind() == NodeReply.Kind.TAKEN || reply.kind() == NodeReply.Kind.WAIT;
    if (refused
        && client.isEmpty()
        && told != null
        && request instanceof NodeRequest.Grant grant
        && grant.ticket() != null
        && grant.ticket().lifeMillis() > 0) {
      client = grant.ticket().client();
      link.requests().send(() -> server.listens(this));
      wakes.send(() -> reader.run(told::onListening));
    }
  }

  /** The node wakes somebody, perhaps a waiter of this client. */
  void wake(String waiter) {
    Observer told = observer;
    if (told == null || closed || process.isDead() || !waiter.startsWith(client + ":")) {
      return;
    }
    long number = Long.parseLong(waiter.substring(client.length() + 1));
    boolean calm = world.nowNanos() >= plan.calmFromNanos();
    if (!calm && plan.has(Fault.WAKE_LOST) && random.percent(50)) {
      faults.count(Fault.WAKE_LOST);
      return;
    }
    wakes.send(() -> reader.run(() -> told.onWake(number)));
    if (!calm && plan.has(Fault.WAKE_TWICE) && random.percent(50)) {
      faults.count(Fault.WAKE_TWICE);
      wakes.send(() -> reader.run(() -> told.onWake(number)));
    }
  }

  /** Writes what waits, in order; on a new connection the releases first. */
  private void flush(boolean releasesFirst) {
    List<Call> waiting = new ArrayList<>(queue);
    queue.clear();
    if (releasesFirst) {
      waiting.stream().filter(Call::takesBack).forEach(this::write);
      waiting.removeIf(Call::takesBack);
    }
    waiting.forEach(this::write);
  }

  /** The lane cannot write for a while. */
  void stall(long nanos) {
    if (!stalled) {
      stalled = true;
      after(
          nanos,
          () -> {
            stalled = false;
            if (connection != null) {
              flush(false);
            }
          });
    }
  }

  // Replies.

  /** A reply has come in. */
  void received(SimConnection from, Object reply) {
    reader.run(() -> take(from, reply));
  }

  private void take(SimConnection from, Object reply) {
    if (from != connection && from != opening) {
      return; // nobody listens to it any more
    }
    Flight flight = from.inFlight().remove();
    SimLane.Call call = flight.call();
    if (call == null) {
      audited(from, flight, reply);
      return;
    }
    NodeReply answer = (NodeReply) reply;
    if (answer.kind() == NodeReply.Kind.ABSTAIN && guard.toGrant() == null) {
      auditNow(); // the node lost its past after the last audit
    }
    if (state == State.SILENT) {
      enter(State.UP, "");
    }
    listen(call.request, answer);
    world.trace.note(
        world.nowNanos(),
        call.slot,
        () -> process + " hears from " + name + ": " + Names.of(answer) + " to " + call.request);
    call.answer(answer);
  }

  // The connection.

  private void connect() {
    if (closed || process.isDead()) {
      return;
    }
    SimConnection fresh = new SimConnection(this, server, link);
    opening = fresh;
    renewals = 0;
    early = !guard.hasQuorum();
    audit(fresh);
    after(plan.nodeTimeoutNanos, () -> tooLong(fresh, false));
    after(plan.laneTimeoutNanos, () -> tooLong(fresh, true));
  }

  private void tooLong(SimConnection fresh, boolean hopeless) {
    if (opening == fresh) {
      refuseQueued(NodeReply.unreachable("not yet connected"));
      if (hopeless) {
        leave(fresh, 0);
        opening = null;
        reconnect("no connection in time");
      }
    }
  }

  private void audit(SimConnection target) {
    Question question = guard.ask();
    auditing = true;
    target.send(null, process.monotonic.nanos(), () -> server.audit(question));
    watch();
  }

  private void auditNow() {
    SimConnection current = connection;
    if (current != null && !auditing && !closed) {
      audit(current);
    }
  }

  private void audited(SimConnection from, Flight flight, Object reply) {
    auditing = false;
    Ticker clocks = ticker;
    Observer told = observer;
    if (clocks == null || told == null) {
      return;
    }
    if (reply instanceof Identity identity) {
      long nowNanos = process.monotonic.nanos();
      long middleNanos = flight.sentNanos() + (nowNanos - flight.sentNanos()) / 2;
      clockKnown = true;
      offsetMicros = identity.nowMicros() - Math.floorDiv(middleNanos, 1_000L);
      guard.answered(identity, flight.sentNanos(), nowNanos, clocks, told);
    } else if (!guard.failed((NodeReply) reply)) {
      if (from == opening) {
        hopeless(from, (NodeReply) reply);
      }
      return;
    }
    if (from == opening) {
      introduced(from);
    } else if (guard.wantsToWrite()) {
      audit(from);
    } else {
      auditWhenItMayVote();
    }
  }

  private void hopeless(SimConnection fresh, NodeReply error) {
    leave(fresh, 0);
    opening = null;
    refuseQueued(error);
    reconnect(error.detail());
  }

  /** The audit of a new connection may take several steps; then it carries what waits for it. */
  private void introduced(SimConnection fresh) {
    if (guard.wantsToWrite() && renewals++ < MAX_RENEWALS) {
      audit(fresh);
    } else if (early && guard.hasQuorum()) {
      early = false;
      audit(fresh);
    } else if (early) {
      early = false;
      after(plan.nodeTimeoutNanos, () -> proceed(fresh));
    } else {
      proceed(fresh);
    }
  }

  private void proceed(SimConnection fresh) {
    if (fresh != opening) {
      return;
    }
    opening = null;
    connection = fresh;
    failures = 0;
    refusal = null;
    enter(State.UP, "");
    if (!stalled) {
      flush(true);
    }
    auditWhenItMayVote();
    after(PING_NANOS, () -> ping(fresh));
  }

  private void auditWhenItMayVote() {
    long millis = guard.abstainsForMillis();
    if (millis >= 0 && millis * Plan.MILLI < PING_NANOS) {
      after(millis * Plan.MILLI, this::auditNow);
    }
  }

  private void ping(SimConnection target) {
    if (target == connection && !closed) {
      auditNow();
      after(PING_NANOS, () -> ping(target));
    }
  }

  /** Sees to it that a connection on which nothing comes is given up. */
  private void watch() {
    if (!watched && connection != null) {
      watched = true;
      after(plan.laneTimeoutNanos, this::look);
    }
  }

  private void look() {
    watched = false;
    SimConnection current = connection;
    Flight oldest = current == null ? null : current.inFlight().peek();
    if (current == null || oldest == null) {
      return;
    }
    long waitedNanos = process.monotonic.nanos() - oldest.sentNanos();
    if (waitedNanos >= plan.laneTimeoutNanos) {
      lose(current, "no answer for too long", current.requests().onTheWay());
    } else {
      watched = true;
      after(plan.laneTimeoutNanos - waitedNanos, this::look);
    }
  }

  /** The connection is broken, as the server's machine tells. */
  void lost(SimConnection broken, String why) {
    reader.run(
        () -> {
          if (broken == opening) {
            hopeless(broken, NodeReply.unreachable(why));
          } else {
            lose(broken, why, 0);
          }
        });
  }

  /** The connection breaks, if there is one; what it carries may arrive in part, or altogether. */
  void cut() {
    SimConnection current = connection;
    if (current != null) {
      faults.count(Fault.CUT);
      int onTheWay = current.requests().onTheWay();
      int arriving = random.percent(50) ? onTheWay : random.nextInt(onTheWay + 1);
      reader.run(() -> lose(current, "connection lost", arriving));
    }
  }

  private void lose(SimConnection broken, String why, int arriving) {
    if (broken != connection) {
      return;
    }
    world.trace.note(world.nowNanos(), 4, () -> process + " loses " + name + ": " + why);
    connection = null;
    leave(broken, arriving);
    List<Flight> unknown = new ArrayList<>(broken.inFlight());
    broken.inFlight().clear();
    if (!plan.patientLanes) {
      refuseQueued(NodeReply.unreachable(why));
    }
    enter(State.DOWN, why);
    reconnect(why);
    unknown.forEach(flight -> SimConnection.answer(flight, NodeReply.unknown(why)));
  }

  private void leave(SimConnection old, int arriving) {
    auditing = false;
    guard.left();
    old.abandon(arriving);
  }

  private void reconnect(String why) {
    enter(State.DOWN, why);
    long backoffNanos =
        Math.min(LONGEST_BACKOFF_NANOS, plan.nodeTimeoutNanos << Math.min(failures++, 10));
    after(failures == 1 ? 0 : backoffNanos / 2 + random.nextLong(backoffNanos), this::connect);
  }

  private void refuseQueued(NodeReply reply) {
    refusal = reply;
    List<Call> refused = new ArrayList<>();
    queue.removeIf(
        call -> {
          boolean goes = closed || !call.takesBack();
          if (goes) {
            refused.add(call);
          }
          return goes;
        });
    refused.forEach(call -> call.answer(reply));
  }

  /** The process is gone, its machine closes what it had open. */
  void orphan() {
    SimConnection current = connection == null ? opening : connection;
    connection = null;
    opening = null;
    closed = true;
    server.listensNoMore(this);
    if (current != null) {
      int onTheWay = current.requests().onTheWay();
      leave(current, random.percent(50) ? onTheWay : random.nextInt(onTheWay + 1));
    }
  }

  private void after(long nanos, Runnable task) {
    long trueNanos = process.monotonic.trueDelayNanos(nanos);
    world.after(trueNanos, () -> reader.run(task));
  }

  // What it is.

  @Override
  public OptionalLong clockOffsetMicros() {
    return clockKnown ? OptionalLong.of(offsetMicros) : OptionalLong.empty();
  }

  private void enter(State next, String why) {
    if (state != next && !closed) {
      state = next;
      stateReason = why;
      stateSinceNanos = process.monotonic.nanos();
      Observer told = observer;
      if (told != null) {
        told.onStateChange(status());
      }
    }
  }

  @Override
  public NodeStatus status() {
    long sinceNanos = process.monotonic.nanos() - stateSinceNanos;
    return new NodeStatus(name, state, Duration.ofNanos(sinceNanos), stateReason);
  }

  @Override
  public void close() {
    if (closed) {
      return;
    }
    enter(State.CLOSED, "closed");
    closed = true;
    SimConnection current = connection;
    if (current != null) {
      flush(false);
    }
    after(
        plan.nodeTimeoutNanos,
        () -> {
          refuseQueued(NodeReply.unreachable("closed"));
          if (current != null && current == connection) {
            List<Flight> unknown = new ArrayList<>(current.inFlight());
            current.inFlight().clear();
            connection = null;
            leave(current, current.requests().onTheWay());
            unknown.forEach(flight -> SimConnection.answer(flight, NodeReply.unknown("closed")));
          }
        });
  }
}
