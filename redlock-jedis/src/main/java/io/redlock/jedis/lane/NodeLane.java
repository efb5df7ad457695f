package io.redlock.jedis.lane;

import static io.redlock.jedis.lane.LaneLog.LOG;

import io.redlock.NodeStatus;
import io.redlock.jedis.lane.LaneConnection.Batch;
import io.redlock.jedis.lane.LaneConnection.Writer;
import io.redlock.jedis.scripts.RequestEncoder;
import io.redlock.jedis.trust.NodeTrust;
import io.redlock.spi.LockNode;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.Scheduler;
import io.redlock.spi.Scheduler.Cancellable;
import io.redlock.spi.Ticker;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Connection;
import redis.clients.jedis.util.Pool;

/**
 * The only path to a master: requests go over one connection in the order in which they were given,
 * and their answers arrive in that order.
 *
 * <p>The shell around a {@link LaneMachine}, which decides everything. Events come from callers,
 * from the thread that reads the connection, and from the scheduler. Each event is one step of the
 * machine under the lane's lock. Its effects follow after the lock is released: no thread holds it
 * while it writes to a socket, delivers an answer or calls an observer.
 *
 * <p>A lane survives every failure of a step. It logs the failure, answers everything in flight
 * with <i>unknown</i>, and starts again with a new connection.
 */
public final class NodeLane implements LockNode {

  private static final Pending NOT_PENDING = () -> false;
  private static final String FAILED = "the lane failed";

  private final String name;
  private final Dialer dialer;
  private final Dialer wakeDialer;
  private final RequestEncoder encoder;
  private final LaneSettings settings;
  private final NodeTrust trust;
  private final RandomGenerator random;
  private final NodeClock clock = new NodeClock();
  private final CountDownLatch firstAttempt = new CountDownLatch(1);
  private final CompletableFuture<Void> ended = new CompletableFuture<>();
  private final Predicate<Call> withdrawal = this::withdraw;
  private final InOrder<Runnable> reports = new InOrder<>(this::report);
  private final Shell shell = new Shell();
  private final ReentrantLock lock = new ReentrantLock();

  private volatile @Nullable Parts parts; // null until start
  private boolean closed; // guarded by lock; true only if it was closed without a start
  private @Nullable Cancellable nextTick; // guarded by lock

  /** The parts that exist from the start on. */
  private record Parts(
      Ticker ticker, Scheduler scheduler, LaneMachine machine, WakeListener wakes) {}

  /**
   * @param dialer makes the connection for requests; closed with the lane
   * @param wakeDialer makes the connection for wake-ups; closed with the lane
   * @param trust judges the node's audits
   * @param random spreads the attempts to connect
   */
  public NodeLane(
      String name,
      Dialer dialer,
      Dialer wakeDialer,
      RequestEncoder encoder,
      LaneSettings settings,
      NodeTrust trust,
      RandomGenerator random) {
    this.name = name;
    this.dialer = dialer;
    this.wakeDialer = wakeDialer;
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
        new JedisDialer("redlock-wake-" + name, pool, ownsPool, settings),
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
    long nowNanos = ticker.monotonicNanos();
    LaneMachine machine =
        new LaneMachine(name, settings, trust, clock, ticker, random, observer, nowNanos);
    WakeListener wakes = new WakeListener(name, wakeDialer, settings, ticker, scheduler, observer);
    parts = new Parts(ticker, scheduler, machine, wakes);
    trust.whenTold(() -> scheduler.schedule(() -> step(LaneMachine::told), 0));
    step(LaneMachine::start);
  }

  @Override
  public Pending send(NodeRequest request, int slot, ReplyHandler handler) {
    Parts running = parts;
    if (running == null) {
      return refuse(NodeReply.unreachable(isClosed() ? "closed" : "not started"), slot, handler);
    }
    if (request instanceof NodeRequest.Grant grant && grant.ticket() != null) {
      running.wakes.expect(grant.ticket().client());
    }
    Call call = encode(request, slot, handler);
    if (call == null) {
      return refuse(NodeReply.unreachable(FAILED), slot, handler);
    }
    long nowNanos = running.ticker.monotonicNanos();
    NodeReply refusal = null;
    Batch batch = null;
    List<LaneEffect> effects;
    lock.lock();
    try {
      refusal = running.machine.refusal(request, nowNanos);
      if (refusal == null) {
        running.machine.enqueue(call, nowNanos);
        batch = running.machine.nextBatch(Writer.ANYBODY, nowNanos);
      }
      effects = settle(running, nowNanos);
    } catch (RuntimeException | Error e) {
      effects = failed(running, e, nowNanos);
      batch = null; // its connection is given up
      refusal = running.machine.knows(call) ? null : NodeReply.unreachable(FAILED);
    } finally {
      lock.unlock();
    }
    perform(effects);
    if (refusal != null) {
      return refuse(refusal, slot, handler);
    }
    if (batch != null) {
      write(running, batch, Writer.ANYBODY);
    }
    return call;
  }

  /** Returns the call, made without the lock that all callers share; null if that failed. */
  private @Nullable Call encode(NodeRequest request, int slot, ReplyHandler handler) {
    try {
      return Call.request(encoder.encode(request), slot, handler, withdrawal);
    } catch (RuntimeException | Error e) {
      LOG.error("node {}: its lane failed to encode a request", name, e);
      return null;
    }
  }

  private boolean isClosed() {
    lock.lock();
    try {
      return closed;
    } finally {
      lock.unlock();
    }
  }

  private static Pending refuse(NodeReply reply, int slot, ReplyHandler handler) {
    Call.deliver(handler, slot, reply);
    return NOT_PENDING;
  }

  private boolean withdraw(Call call) {
    lock.lock();
    try {
      Parts running = parts;
      return running != null && running.machine.withdraw(call);
    } finally {
      lock.unlock();
    }
  }

  // Steps.

  private interface Step {
    void run(LaneMachine machine, long nowNanos);
  }

  /** Runs one step, then writes, as a thread that must not block. */
  private void step(Step step) {
    Parts running = parts;
    if (running != null) {
      step(running, step);
      write(running, null, Writer.ANYBODY);
    }
  }

  private void step(Parts running, Step step) {
    long nowNanos = running.ticker.monotonicNanos();
    List<LaneEffect> effects;
    lock.lock();
    try {
      step.run(running.machine, nowNanos);
      effects = settle(running, nowNanos);
    } catch (RuntimeException | Error e) {
      effects = failed(running, e, nowNanos);
    } finally {
      lock.unlock();
    }
    perform(effects);
  }

  /**
   * Ends a step under the lock. Takes the effects last, because effects that are taken must not get
   * lost.
   */
  private List<LaneEffect> settle(Parts running, long nowNanos) {
    planTick(running, nowNanos);
    List<LaneEffect> effects = running.machine.takeEffects();
    for (int i = 0; i < effects.size(); i++) { // mostly none, for which an iterator is too much
      if (effects.get(i) instanceof LaneEffect.Report report) {
        reports.add(report.report());
      }
    }
    return effects;
  }

  /**
   * Restarts the lane after a step failed, by a defect or for lack of memory, which may still be
   * short.
   */
  private List<LaneEffect> failed(Parts running, Throwable failure, long nowNanos) {
    try {
      LOG.error("node {}: its lane failed and starts again", name, failure);
      running.machine.fail(failure, nowNanos);
      return settle(running, nowNanos);
    } catch (RuntimeException | Error again) {
      return List.of(); // the next step finds the rest
    }
  }

  private void planTick(Parts running, long nowNanos) {
    LaneTicks ticks = running.machine.ticks();
    if (ticks.isReplanned()) {
      if (nextTick != null) {
        nextTick.cancel();
      }
      nextTick =
          running.scheduler.schedule(() -> step(LaneMachine::tick), ticks.nextNanos() - nowNanos);
      ticks.planned();
    }
  }

  /** Writes batches until there is none or another thread writes. */
  private void write(Parts running, @Nullable Batch first, Writer writer) {
    Batch batch = first == null ? next(running, null, writer) : first;
    while (batch != null) {
      Wire wire = batch.wire();
      try {
        for (Call call : batch.calls()) {
          wire.write(batch.command(call), call.bytes());
        }
        wire.flush();
      } catch (RuntimeException | Error e) {
        step(running, (machine, nowNanos) -> machine.writeFailed(wire, e, nowNanos));
        return;
      }
      batch = next(running, wire, writer);
    }
  }

  /** Returns the next batch, after the last one was written. */
  private @Nullable Batch next(Parts running, @Nullable Wire written, Writer writer) {
    long nowNanos = running.ticker.monotonicNanos();
    List<LaneEffect> effects;
    lock.lock();
    try {
      running.machine.written(written);
      Batch batch = running.machine.nextBatch(writer, nowNanos);
      planTick(running, nowNanos);
      return batch;
    } catch (RuntimeException | Error e) {
      effects = failed(running, e, nowNanos);
    } finally {
      lock.unlock();
    }
    perform(effects);
    return null;
  }

  private void perform(List<LaneEffect> effects) {
    for (int i = 0; i < effects.size(); i++) {
      LaneEffect effect = effects.get(i);
      contain(effect, () -> effect.perform(shell));
    }
  }

  private void contain(Object what, Runnable action) {
    try {
      action.run();
    } catch (RuntimeException | Error e) {
      LOG.error("node {}: its lane failed to {}", name, what, e);
    }
  }

  private void closeDialers() {
    contain("close its dialer", dialer::close);
    contain("close its dialer", wakeDialer::close);
  }

  private void report(Runnable report) {
    try {
      report.run();
    } catch (RuntimeException | Error e) {
      LOG.error("node {}: an observer threw, which it must not", name, e);
    }
  }

  private Parts running() {
    return Objects.requireNonNull(parts);
  }

  private final class Shell implements LaneEffect.Shell {

    @Override
    public void dial() {
      Parts running = running();
      try {
        dialer.dial(new Connected(running));
      } catch (RuntimeException | Error e) {
        step(running, (machine, nowNanos) -> machine.failed(e, nowNanos));
      }
    }

    @Override
    public void end(Wire wire, boolean isWhole) {
      wire.end(isWhole);
    }

    @Override
    public void answer(Call call) {
      call.deliver();
    }

    @Override
    public void report() {
      reports.run();
    }

    @Override
    public void listen() {
      running().wakes.need();
    }

    @Override
    public void attempted() {
      firstAttempt.countDown();
    }

    @Override
    public void closed() {
      contain("close its wake-ups", running().wakes::close);
      closeDialers();
      ended.complete(null);
    }
  }

  /**
   * The events of one connection, or of the attempt to make it. Called by the thread that reads it.
   */
  private final class Connected implements Dialer.Reader {
    private final Parts running;
    private @Nullable Wire wire; // null while there is no connection

    Connected(Parts running) {
      this.running = running;
    }

    @Override
    public void connected(Wire fresh) {
      wire = fresh;
      step(running, (machine, nowNanos) -> machine.connected(fresh, nowNanos));
      write(running, null, Writer.READER);
    }

    @Override
    public void failed(Throwable why) {
      step(running, (machine, nowNanos) -> machine.failed(why, nowNanos));
    }

    @Override
    public void received(@Nullable Object reply) {
      long nowNanos = running.ticker.monotonicNanos();
      Call decided = null;
      boolean hasMore = false;
      List<LaneEffect> effects;
      lock.lock();
      try {
        decided = running.machine.received(wire, reply, nowNanos);
        hasMore = running.machine.hasMore();
        effects = settle(running, nowNanos);
      } catch (RuntimeException | Error e) {
        effects = NodeLane.this.failed(running, e, nowNanos);
      } finally {
        lock.unlock();
      }
      if (decided != null) {
        decided.deliver();
      }
      perform(effects);
      if (hasMore) {
        write(running, null, Writer.READER);
      }
    }

    @Override
    public void lost(Throwable why) {
      step(running, (machine, nowNanos) -> machine.lost(wire, why, nowNanos));
    }
  }

  // The other methods of a node.

  @Override
  public OptionalLong clockOffsetMicros() {
    return clock.offsetMicros();
  }

  @Override
  public NodeStatus status() {
    Parts running = parts;
    if (running == null) {
      return new NodeStatus(name, NodeStatus.State.CONNECTING, Duration.ZERO, "not started");
    }
    return ask(running, machine -> machine.status(running.ticker.monotonicNanos()));
  }

  private <T> T ask(Parts running, Function<LaneMachine, T> question) {
    lock.lock();
    try {
      return question.apply(running.machine);
    } finally {
      lock.unlock();
    }
  }

  /** Returns true if no call waits to be sent or to be answered. */
  boolean isIdle() {
    Parts running = parts;
    return running == null || ask(running, LaneMachine::isIdle);
  }

  /** Waits for the first attempt to connect. Returns true if it has succeeded or failed. */
  public boolean awaitFirstAttempt(long nanos) throws InterruptedException {
    return firstAttempt.await(nanos, TimeUnit.NANOSECONDS);
  }

  @Override
  public void stop() {
    step(LaneMachine::close);
  }

  @Override
  public void close() {
    Parts running = parts;
    if (running == null) {
      lock.lock();
      try {
        closed = true;
      } finally {
        lock.unlock();
      }
      closeDialers();
      return;
    }
    stop();
    boolean interrupted = false;
    while (!ended.isDone()) {
      try {
        running.scheduler.await(ended);
      } catch (InterruptedException e) {
        interrupted = true; // the wait is short, and a release may not have been sent yet
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
