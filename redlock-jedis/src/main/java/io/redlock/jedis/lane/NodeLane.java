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
import io.redlock.spi.StatusOfNode;
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
 * with <i>unknown</i>, and starts again with a new connection. While memory is short that may fail
 * too, and nothing can be scheduled. So what must not be forgotten is kept in fields that need no
 * memory (a failure, the end of a connection, the close), and a check that comes once a second does
 * it.
 */
public final class NodeLane implements LockNode {

  private static final Pending NOT_PENDING = () -> false;
  private static final NodeReply FAILED = NodeReply.unreachable("the lane failed");

  private final String name;
  private final Dialer dialer;
  private final Dialer wakeDialer;
  private final RequestEncoder encoder;
  private final LaneSettings settings;
  private final NodeTrust trust;
  private final RandomGenerator random;
  private final NodeClock clock = new NodeClock();
  private final CountDownLatch firstAttempt = new CountDownLatch(1);
  private final CompletableFuture<Void> hasEnded = new CompletableFuture<>();
  private final Call.Lane turns = new Turns();
  private final InOrder<Runnable> reports = new InOrder<>(this::report);
  private final Shell shell = new Shell();
  private final Connected noLine = new Connected(); // ends in place of one that cannot be made
  private final Step undone = this::undone;
  private final Runnable tick = () -> step(LaneMachine::tick);
  private final ReentrantLock lock = new ReentrantLock();

  private volatile @Nullable Parts parts; // null until start
  private boolean closed; // guarded by lock; true only if it was closed without a start
  private @Nullable Cancellable nextTick; // guarded by lock
  private @Nullable Throwable failure; // guarded by lock; until the machine has started again
  private volatile @Nullable Connected line; // of the last dial
  private volatile @Nullable Connected ended; // until the machine knows
  private volatile boolean stopping;

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
    scheduler.watch(
        () -> {
          step(undone);
          wakes.check();
          dialer.check();
        });
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
      return refuse(FAILED, slot, handler);
    }
    long nowNanos = running.ticker.monotonicNanos();
    NodeReply refusal = null;
    Batch batch = null;
    List<LaneEffect> effects;
    lock.lock();
    try {
      begin(running, nowNanos);
      refusal = running.machine.refusal(request, nowNanos);
      if (refusal == null) {
        running.machine.enqueue(call, nowNanos);
        batch = running.machine.nextBatch(Writer.ANYBODY, nowNanos);
      }
      effects = settle(running, nowNanos);
    } catch (RuntimeException | Error e) {
      effects = failed(running, e, nowNanos);
      batch = null; // its connection is given up
      refusal = running.machine.knows(call) ? null : FAILED;
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
      return Call.request(encoder.encode(request), slot, handler, turns);
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

  private final class Turns implements Call.Lane {

    @Override
    public boolean withdraw(Call call) {
      return ask(running(), machine -> machine.withdraw(call));
    }

    @Override
    public boolean awaitsItsTurn(Call call) {
      Parts running = running();
      long nowNanos = running.ticker.monotonicNanos();
      return ask(running, machine -> machine.awaitsItsTurn(call, nowNanos));
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
      begin(running, nowNanos);
      step.run(running.machine, nowNanos);
      effects = settle(running, nowNanos);
    } catch (RuntimeException | Error e) {
      effects = failed(running, e, nowNanos);
    } finally {
      lock.unlock();
    }
    perform(effects);
  }

  /** Begins a step under the lock: starts the machine again if an earlier step failed. */
  private void begin(Parts running, long nowNanos) {
    Throwable why = failure;
    if (why != null) {
      running.machine.fail(why, nowNanos);
    }
  }

  /** Does what was left undone. Called about once a second. */
  private void undone(LaneMachine machine, long nowNanos) {
    Connected over = ended;
    if (over != null) {
      over.end(machine, nowNanos);
    }
    if (stopping) {
      machine.close(nowNanos);
    }
    if (machine.ticks().isOverdue(nowNanos)) {
      machine.tick(nowNanos);
    }
  }

  /**
   * Ends a step under the lock. Takes the effects last, because effects that are taken must not get
   * lost.
   */
  private List<LaneEffect> settle(Parts running, long nowNanos) {
    planTick(running, nowNanos);
    List<LaneEffect> effects = running.machine.takeEffects();
    failure = null;
    for (int i = 0; i < effects.size(); i++) { // mostly none, for which an iterator is too much
      if (effects.get(i) instanceof LaneEffect.Report report) {
        queue(report.report());
      }
    }
    return effects;
  }

  private void queue(Runnable report) {
    try {
      reports.add(report);
    } catch (OutOfMemoryError e) { // the other effects matter more
      LOG.error("node {}: a report of its lane is lost", name, e);
    }
  }

  /**
   * Restarts the lane after a step failed, by a defect or for lack of memory. If memory is still
   * short, the next step tries again.
   */
  private List<LaneEffect> failed(Parts running, Throwable why, long nowNanos) {
    boolean isFirst = failure == null;
    failure = why; // first, because even a line takes memory
    try {
      if (isFirst) {
        LOG.error("node {}: its lane failed and starts again", name, why);
      }
      begin(running, nowNanos);
      return settle(running, nowNanos);
    } catch (RuntimeException | Error again) {
      return List.of();
    }
  }

  private void planTick(Parts running, long nowNanos) {
    LaneTicks ticks = running.machine.ticks();
    if (ticks.isReplanned()) {
      if (nextTick != null) {
        nextTick.cancel();
      }
      nextTick = running.scheduler.schedule(tick, ticks.nextNanos() - nowNanos);
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
      begin(running, nowNanos);
      running.machine.written(written);
      Batch batch = running.machine.nextBatch(writer, nowNanos);
      planTick(running, nowNanos);
      if (failure == null) {
        return batch;
      }
      effects = settle(running, nowNanos);
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
      try {
        effects.get(i).perform(shell);
      } catch (RuntimeException | Error e) {
        LOG.error("node {}: its lane failed to {}", name, effects.get(i), e);
      }
    }
  }

  private void closeDialers() {
    close(dialer);
    close(wakeDialer);
  }

  private void close(Dialer each) {
    try {
      each.close();
    } catch (RuntimeException | Error e) {
      LOG.error("node {}: its lane failed to close its dialer", name, e);
    }
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
      Connected fresh = noLine;
      line = fresh;
      try {
        fresh = new Connected();
        line = fresh;
        dialer.dial(fresh);
      } catch (RuntimeException | Error e) {
        fresh.failed(e);
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
    public void closing() {
      closeDialers();
    }

    @Override
    public void closed() {
      try {
        running().wakes.close();
      } finally {
        hasEnded.complete(null);
      }
    }
  }

  /**
   * The events of one connection, or of the attempt to make it. Called by the thread that reads it.
   */
  private final class Connected implements Dialer.Reader, Step {
    private @Nullable Wire wire; // null while there is no connection
    private boolean isTaken; // guarded by lock; the machine knows the connection
    private volatile @Nullable Throwable end;

    @Override
    public void connected(Wire fresh) {
      wire = fresh;
      Parts running = running();
      step(
          running,
          (machine, nowNanos) -> {
            machine.connected(fresh, nowNanos);
            isTaken = true;
          });
      throwIfFailing();
      write(running, null, Writer.READER);
    }

    /** Ends the thread that reads: while the lane is failing, it can keep no event. */
    private void throwIfFailing() {
      lock.lock();
      try {
        if (failure instanceof Error error) {
          throw error;
        }
      } finally {
        lock.unlock();
      }
    }

    @Override
    public void failed(Throwable why) {
      over(why);
    }

    @Override
    public void received(@Nullable Object reply) {
      Parts running = running();
      long nowNanos = running.ticker.monotonicNanos();
      Call decided = null;
      boolean hasMore = false;
      List<LaneEffect> effects;
      boolean hasFailed = false;
      lock.lock();
      try {
        begin(running, nowNanos);
        decided = running.machine.received(wire, reply, nowNanos);
        hasMore = running.machine.hasMore();
        effects = settle(running, nowNanos);
      } catch (RuntimeException | Error e) {
        effects = NodeLane.this.failed(running, e, nowNanos);
        hasFailed = true;
      } finally {
        lock.unlock();
      }
      if (decided != null) {
        decided.deliver();
      }
      perform(effects);
      if (hasFailed) {
        throwIfFailing();
      }
      if (hasMore) {
        write(running, null, Writer.READER);
      }
    }

    @Override
    public void lost(Throwable why) {
      over(why);
    }

    private void over(Throwable why) {
      end = why;
      if (line == this) {
        ended = this;
      }
      step(running(), this);
    }

    @Override
    public void run(LaneMachine machine, long nowNanos) {
      end(machine, nowNanos);
    }

    /** Tells the machine that this has ended. */
    void end(LaneMachine machine, long nowNanos) {
      Throwable why = Objects.requireNonNull(end);
      if (isTaken) {
        machine.lost(wire, why, nowNanos);
      } else {
        machine.failed(why, nowNanos);
      }
      if (ended == this) {
        ended = null;
      }
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
      return new StatusOfNode(name, NodeStatus.State.CONNECTING, Duration.ZERO, "not started");
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
    stopping = true;
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
    while (!hasEnded.isDone()) {
      try {
        running.scheduler.await(hasEnded);
      } catch (InterruptedException e) {
        interrupted = true; // the wait is short, and a release may not have been sent yet
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
