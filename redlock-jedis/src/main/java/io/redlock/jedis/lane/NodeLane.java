package io.redlock.jedis.lane;

import static io.redlock.jedis.lane.LaneLog.LOG;

import io.redlock.NodeStatus;
import io.redlock.jedis.lane.LaneConnection.Batch;
import io.redlock.jedis.membership.NodeTrust;
import io.redlock.jedis.scripts.Invocation;
import io.redlock.jedis.scripts.RequestEncoder;
import io.redlock.spi.LockNode;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.Scheduler;
import io.redlock.spi.StatusOfNode;
import io.redlock.spi.Ticker;
import java.time.Duration;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Connection;
import redis.clients.jedis.util.Pool;

/**
 * The only path to a master: requests go over one connection in the order in which they were given,
 * and their answers arrive in that order.
 *
 * <p>The {@link MachineShell} around a {@link LaneMachine}, which decides everything. A lane
 * survives every failure of a step: it answers everything in flight with <i>unknown</i>, and starts
 * again with a new connection.
 */
public final class NodeLane implements LockNode {

  private static final Pending NOT_PENDING = () -> false;
  private static final NodeReply FAILED = NodeReply.unreachable("the lane failed");
  private static final MachineShell.Step<LaneMachine, Batch> AS_READER =
      (each, nowNanos) -> each.connection.nextBatch(true, nowNanos);
  private static final MachineShell.Step<LaneMachine, Batch> AS_ANYBODY =
      (each, nowNanos) -> each.connection.nextBatch(false, nowNanos);

  private final String name;
  private final Dialer dialer;
  private final RequestEncoder encoder;
  private final LaneSettings settings;
  private final NodeTrust trust;
  private final RandomGenerator random;
  private final NodeClock clock = new NodeClock();
  private final CountDownLatch firstAttempt = new CountDownLatch(1);
  private final CompletableFuture<Void> hasEnded = new CompletableFuture<>();

  private volatile @Nullable Shell shell; // null until start
  private volatile boolean stopping;

  /**
   * @param dialer makes the connection; closed with the lane
   * @param trust judges the node's audits
   * @param random spreads the attempts to connect
   */
  public NodeLane(
      String name,
      Dialer dialer,
      RequestEncoder encoder,
      LaneSettings settings,
      NodeTrust trust,
      RandomGenerator random) {
    this.name = name;
    this.dialer = dialer;
    this.encoder = encoder;
    this.settings = settings;
    this.trust = trust;
    this.random = random;
  }

  /**
   * Returns a lane whose connections come from a pool.
   *
   * @param ownsPool true if the pool is closed with the lane
   */
  public static NodeLane of(
      String name,
      Pool<Connection> pool,
      boolean ownsPool,
      RequestEncoder encoder,
      LaneSettings settings,
      NodeTrust trust) {
    return new NodeLane(
        name,
        new JedisDialer("redlock-lane-" + name, pool, ownsPool, settings),
        encoder,
        settings,
        trust,
        () -> ThreadLocalRandom.current().nextLong());
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public void start(Ticker ticker, Scheduler scheduler, Observer observer) {
    Shell started = new Shell(ticker, scheduler, observer);
    shell = started;
    trust.whenTold(
        () ->
            scheduler.schedule(
                () -> started.event((each, nowNanos) -> each.connection.told(nowNanos)), 0));
    scheduler.watch(started::check);
    started.event(LaneMachine::start);
  }

  @Override
  public Pending send(NodeRequest request, int slot, ReplyHandler handler) {
    Shell started = shell;
    return started == null
        ? refuse(NodeReply.unreachable(stopping ? "closed" : "not started"), slot, handler)
        : started.send(request, slot, handler);
  }

  private static Pending refuse(NodeReply reply, int slot, ReplyHandler handler) {
    Call.deliver(handler, slot, reply);
    return NOT_PENDING;
  }

  /** The parts that a lane has from its start on. */
  private final class Shell extends MachineShell<LaneMachine> implements LaneShell {
    private final LaneMachine machine;

    Shell(Ticker ticker, Scheduler scheduler, Observer observer) {
      super(name + ": its lane", ticker, scheduler, dialer);
      long nowNanos = ticker.monotonicNanos();
      machine =
          new LaneMachine(
              name,
              settings,
              trust,
              clock,
              ticker,
              random,
              observer,
              this,
              this::add,
              inOrder::add,
              nowNanos);
    }

    @Override
    LaneMachine machine() {
      return machine;
    }

    @Override
    void begin(long nowNanos) {
      super.begin(nowNanos);
      if (stopping) {
        machine.close(nowNanos);
      }
    }

    Pending send(NodeRequest request, int slot, ReplyHandler handler) {
      Request call;
      try { // without the lock that all callers share
        call = new Request(encoder.encode(request), slot, handler);
      } catch (RuntimeException | Error e) { // a send never throws
        LOG.error("node {}: its lane failed to encode a request", name, e);
        return refuse(FAILED, slot, handler);
      }
      Batch batch = take(call);
      if (call.state == Call.State.NEW) { // the step failed, and nobody else knows the call
        return refuse(FAILED, slot, handler);
      }
      write(batch, AS_ANYBODY);
      return call;
    }

    /** A call that its caller may withdraw. */
    private final class Request extends Call implements Pending, Step<LaneMachine, Batch> {

      Request(Invocation invocation, int slot, ReplyHandler handler) {
        super(invocation, slot, handler);
      }

      @Override
      public @Nullable Batch take(LaneMachine each, long nowNanos) {
        return each.enqueue(this, nowNanos) ? each.connection.nextBatch(false, nowNanos) : null;
      }

      @Override
      public boolean withdraw() {
        return ask(() -> machine.calls.withdraw(this));
      }

      @Override
      public boolean awaitsItsTurn() {
        long nowNanos = ticker.monotonicNanos();
        return ask(() -> machine.awaitsItsTurn(this, nowNanos));
      }
    }

    NodeStatus status() {
      return ask(() -> machine.status(ticker.monotonicNanos()));
    }

    <T> T ask(Supplier<T> question) {
      lock.lock();
      try {
        return question.get();
      } finally {
        lock.unlock();
      }
    }

    @Override
    void write(boolean asReader) {
      Step<LaneMachine, Batch> next = asReader ? AS_READER : AS_ANYBODY;
      write(take(next), next);
    }

    /** Writes batches until there is none or another thread writes. */
    private void write(@Nullable Batch first, Step<LaneMachine, Batch> next) {
      for (Batch batch = first; batch != null; batch = take(next)) {
        Wire wire = batch.wire;
        try {
          for (Call call : batch.calls) {
            wire.write(batch.command(call), call.bytes());
          }
          wire.flush();
        } catch (RuntimeException | Error e) { // ends this connection only
          step((each, nowNanos) -> each.lost(wire, e, nowNanos));
          return;
        }
        batch.written();
      }
    }

    @Override
    void received(@Nullable Wire from, @Nullable Object reply) {
      long nowNanos = ticker.monotonicNanos();
      Call decided = null;
      boolean hasMore = false;
      List<Runnable> due;
      lock.lock();
      try {
        begin(nowNanos);
        decided = machine.received(from, reply, nowNanos);
        hasMore = machine.calls.hasMore();
        due = settle(nowNanos);
      } catch (RuntimeException | Error e) {
        due = failed(e, nowNanos);
      } finally {
        lock.unlock();
      }
      if (decided != null) {
        decided.deliver();
      }
      perform(due);
      if (hasMore) {
        write(true);
      }
    }

    @Override
    public void attempted() {
      firstAttempt.countDown();
    }

    @Override
    public void closing() {
      dialer.close();
    }

    @Override
    public void closed() {
      hasEnded.complete(null);
    }
  }

  // The other methods of a node.

  @Override
  public OptionalLong clockOffsetMicros() {
    return clock.offsetMicros();
  }

  @Override
  public NodeStatus status() {
    Shell started = shell;
    return started == null
        ? new StatusOfNode(name, NodeStatus.State.CONNECTING, Duration.ZERO, "not started")
        : started.status();
  }

  /** Returns true if no call waits to be sent or to be answered. */
  boolean isIdle() {
    Shell started = shell;
    return started == null || started.ask(started.machine.calls::isIdle);
  }

  /** Waits for the first attempt to connect. Returns true if it has succeeded or failed. */
  public boolean awaitFirstAttempt(long nanos) throws InterruptedException {
    return firstAttempt.await(nanos, TimeUnit.NANOSECONDS);
  }

  @Override
  public void stop() {
    stopping = true;
    Shell started = shell;
    if (started != null) {
      started.event(LaneMachine::close);
    }
  }

  @Override
  public void close() {
    stop();
    Shell started = shell;
    if (started == null) {
      dialer.close();
      return;
    }
    boolean interrupted = false;
    while (!hasEnded.isDone()) {
      try {
        started.scheduler.await(hasEnded);
      } catch (InterruptedException e) {
        interrupted = true; // the wait is short, and a release may not have been sent yet
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
