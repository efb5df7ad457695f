package io.redlock.simulation;

import io.redlock.NodeStatus;
import io.redlock.NodeStatus.State;
import io.redlock.simulation.LaneChecks.Letter;
import io.redlock.spi.LockNode;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.Scheduler;
import io.redlock.spi.Ticker;
import io.redlock.testkit.ForwardingNode;
import java.util.function.UnaryOperator;

/**
 * The production lane of one client to one node, on a simulated socket, with somebody who looks at
 * what goes in and what comes out.
 */
final class SimNode extends ForwardingNode {

  private static final long LOOK_NANOS = 250 * SimPlan.MILLI;

  /** For so long a node may be shown as up without an audit. */
  private static final long STALE_NANOS = 3_100 * SimPlan.MILLI; // and a tick

  private final LockNode lane;
  final SimSocket socket; // for its requests and wake-ups
  private final SimProcess process;
  private final SimWorld world;
  private final SimPlan plan;
  private final Checker checker;
  private final UnaryOperator<Scheduler> schedulers;
  final int index;
  private int open;
  private boolean isClosed;

  SimNode(LockNode lane, SimSocket socket, UnaryOperator<Scheduler> schedulers) {
    super(lane);
    this.lane = lane;
    this.socket = socket;
    this.schedulers = schedulers;
    process = socket.process;
    world = socket.world;
    plan = world.plan;
    checker = world.checker;
    index = socket.server.index;
  }

  /** Requests that have not been answered. */
  int open() {
    return open;
  }

  /** The process is gone. */
  void orphan() {
    socket.orphan();
  }

  @Override
  public void start(Ticker ticker, Scheduler scheduler, Observer observer) {
    lane.start(ticker, schedulers.apply(scheduler), new Heard(observer));
    world.after(LOOK_NANOS, this::look);
  }

  /** Looks at what the lock service is told. */
  private final class Heard implements Observer {
    private final Observer observer;

    Heard(Observer observer) {
      this.observer = observer;
    }

    @Override
    public void onStateChange(NodeStatus status) {
      observer.onStateChange(status);
    }

    @Override
    public void onReset(String reason) {
      checker.work.resets(process);
      observer.onReset(reason);
    }

    @Override
    public void onWake(long waiter) {
      observer.onWake(waiter);
    }

    @Override
    public void onListening() {
      observer.onListening();
    }
  }

  /** Whether what it says of the node rests on an audit. */
  private void look() {
    if (process.isDead() || isClosed) {
      return;
    }
    long successNanos = socket.sinceAuditNanos();
    long answerNanos = socket.sinceAuditAnswerNanos();
    boolean isLate = successNanos > STALE_NANOS || answerNanos > plan.auditGapNanos();
    if (isLate && !process.isHeldUp()) {
      checkAudits(process.observe(lane::status).state(), successNanos, answerNanos);
    }
    world.after(LOOK_NANOS, this::look);
  }

  private void checkAudits(State state, long successNanos, long answerNanos) {
    if (state == State.UP && successNanos > STALE_NANOS) {
      world.violated(
          SimInvariant.I18, () -> this + " is shown as up, last audited " + ago(successNanos));
    }
    SimConnection connection = socket.current();
    boolean serves = state == State.UP || state == State.ABSTAINING;
    if (serves
        && connection != null
        && answerNanos > plan.auditGapNanos()
        && !connection.isBeingAudited()) {
      world.violated(
          SimInvariant.I18,
          () -> this + " can be reached, but was last audited " + ago(answerNanos));
    }
  }

  private static String ago(long nanos) {
    return nanos == Long.MAX_VALUE ? "never" : nanos / SimPlan.MILLI + " ms ago";
  }

  @Override
  public Pending send(NodeRequest request, int slot, ReplyHandler handler) {
    if (process.isDead()) {
      return () -> false;
    }
    checker.holds.asked(process, request);
    checker.work.asked(process, request);
    process.maybeHoldUpThread();
    Call call = new Call(request, slot, handler);
    Pending pending = lane.send(request, slot, call);
    process.maybeHoldUpThread();
    return () -> call.withdraw(pending);
  }

  /** One request and where its answer goes. */
  private final class Call implements ReplyHandler {
    private final NodeRequest request;
    private final int slot;
    private final ReplyHandler handler;
    private final Letter letter;
    private boolean over;

    Call(NodeRequest request, int slot, ReplyHandler handler) {
      this.request = request;
      this.slot = slot;
      this.handler = handler;
      this.letter = checker.lanes.sent(index, request);
      open++;
    }

    @Override
    public void onReply(int node, NodeReply reply) {
      if (process.isDead()) {
        return;
      }
      if (over || node != slot) {
        checker.lanes.answeredTwice(index, request, reply);
        return;
      }
      over = true;
      open--;
      checker.lanes.answered(index, letter, reply);
      if (reply.kind() == NodeReply.Kind.CLOCK) {
        checker.calls.clockRefused(process, request.names());
      }
      world.note(
          slot,
          () -> process + " hears from " + name() + ": " + Names.of(reply) + " to " + request);
      handler.onReply(slot, reply);
    }

    boolean withdraw(Pending pending) {
      if (over || process.isDead() || !pending.withdraw()) {
        return false;
      }
      over = true;
      open--;
      checker.lanes.withdrawn(index, letter);
      return true;
    }
  }

  @Override
  public void close() {
    isClosed = true;
    lane.close();
  }

  @Override
  public String toString() {
    return process + "'s lane to " + name();
  }
}
