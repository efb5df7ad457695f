package io.redlock.jedis.lane;

import static io.redlock.jedis.lane.LaneSettings.LOG;

import io.redlock.NodeStatus;
import io.redlock.jedis.lane.LaneConnection.Batch;
import io.redlock.jedis.scripts.Invocation;
import io.redlock.jedis.scripts.RequestEncoder;
import io.redlock.spi.LockNode.Pending;
import io.redlock.spi.LockNode.ReplyHandler;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.Scheduler;
import io.redlock.spi.Ticker;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import java.util.function.ObjLongConsumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The shell of a {@link LaneMachine}, from the start of the lane on. Events come from callers, from
 * the thread that reads the connection, and from the scheduler. Each is one step of the machine
 * under a lock. Its effects follow after the lock is released: no thread holds it while it writes
 * to a socket, delivers an answer or calls an observer.
 *
 * <p>A step that throws ends the connection: the machine starts again with a new one. While memory
 * is short that may fail too; then the next step does it, at the latest a tick, which comes soon.
 */
final class LockedShell implements LaneShell {

  /** A step of the machine that has a result. */
  interface Step<R> {
    @Nullable R take(LaneMachine machine, long nowNanos);
  }

  /** The time until a tick after a step has left something undone. */
  private static final long PATIENCE_NANOS = 50_000_000;

  private static final Pending NOT_PENDING = () -> false;
  private static final NodeReply FAILED = NodeReply.unreachable("the lane failed");
  private static final Step<Batch> AS_READER =
      (machine, nowNanos) -> machine.connection.nextBatch(true, nowNanos);
  private static final Step<Batch> AS_ANYBODY =
      (machine, nowNanos) -> machine.connection.nextBatch(false, nowNanos);

  private final String node;
  private final Dialer dialer;
  private final RequestEncoder encoder;
  private final Ticker ticker;
  private final Scheduler scheduler;
  private final BooleanSupplier isStopping;
  private final CountDownLatch firstAttempt = new CountDownLatch(1);
  private final CompletableFuture<Void> hasEnded = new CompletableFuture<>();
  private final ReentrantLock lock = new ReentrantLock();
  private final LaneMachine machine; // guarded by lock
  private List<Runnable> effects = new ArrayList<>(4); // guarded by lock; of the last steps
  private final Scheduler.Timer timer; // of the next tick
  private long tickNanos = LaneTicks.NEVER; // guarded by lock; when that comes
  private @Nullable Throwable failure; // guarded by lock; until the machine has started again

  /**
   * @param isStopping true from when on the lane is to end
   * @param machine makes the machine of this shell
   */
  LockedShell(
      String node,
      Dialer dialer,
      RequestEncoder encoder,
      Ticker ticker,
      Scheduler scheduler,
      BooleanSupplier isStopping,
      Function<LockedShell, LaneMachine> machine) {
    this.node = node;
    this.dialer = dialer;
    this.encoder = encoder;
    this.ticker = ticker;
    this.scheduler = scheduler;
    this.isStopping = isStopping;
    this.machine = machine.apply(this);
    this.timer = scheduler.timer(this::tick);
  }

  // Steps.

  void event(ObjLongConsumer<LaneMachine> step) {
    step(step);
    write(false);
  }

  @Override
  public void add(Runnable effect) {
    effects.add(effect);
  }

  private void step(ObjLongConsumer<LaneMachine> step) {
    take(
        (each, nowNanos) -> {
          step.accept(each, nowNanos);
          return null;
        });
  }

  /** Runs one step. Returns its result; null if it failed. */
  private <R> @Nullable R take(Step<R> step) {
    long nowNanos = ticker.monotonicNanos();
    R result = null;
    List<Runnable> due;
    lock.lock();
    try {
      begin(nowNanos);
      R reached = step.take(machine, nowNanos);
      due = settle(nowNanos);
      result = reached;
    } catch (RuntimeException | Error e) {
      due = failed(e, nowNanos);
    } finally {
      lock.unlock();
    }
    perform(due);
    return result;
  }

  /** Begins a step under the lock: does what an earlier step that failed has left undone. */
  private void begin(long nowNanos) {
    Throwable why = failure;
    if (why != null) {
      machine.fail(why, nowNanos);
    }
    if (isStopping.getAsBoolean()) {
      machine.close(nowNanos);
    }
  }

  /**
   * Ends a step under the lock. Takes the effects last, because effects that are taken must not get
   * lost.
   */
  private List<Runnable> settle(long nowNanos) {
    planTick(machine.tickNanos(), nowNanos);
    List<Runnable> due = effects.isEmpty() ? List.of() : effects;
    effects = due.isEmpty() ? effects : new ArrayList<>(4);
    failure = null;
    return due;
  }

  /** Starts the machine again after a step failed; if that fails too, the next step does it. */
  private List<Runnable> failed(Throwable why, long nowNanos) {
    boolean isFirst = failure == null;
    failure = why; // first, because even a line takes memory
    if (isFirst) {
      LOG.error("node {}: its lane failed and starts again", node, why);
    }
    try {
      begin(nowNanos);
      return settle(nowNanos);
    } catch (RuntimeException | Error again) {
      planTick(nowNanos + PATIENCE_NANOS, nowNanos);
      return List.of();
    }
  }

  private void planTick(long dueNanos, long nowNanos) {
    if (dueNanos == LaneTicks.NEVER) {
      timer.cancel();
    } else if (dueNanos != tickNanos || nowNanos - dueNanos >= 0) { // it may have come, and failed
      timer.set(dueNanos);
    }
    tickNanos = dueNanos;
  }

  private void tick() {
    event(
        (each, nowNanos) -> {
          long dueNanos = each.tickNanos();
          if (dueNanos != LaneTicks.NEVER && nowNanos - dueNanos >= 0) { // else it was planned anew
            each.tick(nowNanos);
          }
        });
    dialer.check();
  }

  private void perform(List<Runnable> due) {
    for (int i = 0; i < due.size(); i++) { // mostly none, for which an iterator is too much
      try {
        due.get(i).run();
      } catch (RuntimeException | Error e) { // the others follow
        hasFailed(e);
      }
    }
  }

  private void hasFailed(Throwable why) {
    lock.lock();
    try {
      failure = why;
      long nowNanos = ticker.monotonicNanos();
      planTick(nowNanos + PATIENCE_NANOS, nowNanos);
    } finally {
      lock.unlock();
    }
    LOG.error("node {}: its lane failed to do what it decided", node, why);
  }

  /** Returns what the machine answers, which changes nothing. */
  <T> T ask(Supplier<T> question) {
    lock.lock();
    try {
      return question.get();
    } finally {
      lock.unlock();
    }
  }

  boolean isIdle() {
    return ask(machine.calls::isIdle);
  }

  NodeStatus status() {
    return ask(() -> machine.status(ticker.monotonicNanos()));
  }

  // Requests.

  Pending send(NodeRequest request, int slot, ReplyHandler handler) {
    Request call;
    try { // without the lock that all callers share
      call = new Request(encoder.encode(request), slot, handler);
    } catch (RuntimeException | Error e) { // a send never throws
      LOG.error("node {}: its lane failed to encode a request", node, e);
      return refuse(FAILED, slot, handler);
    }
    Batch batch = take(call);
    if (call.state == Call.State.NEW) { // the step failed, and nobody else knows the call
      return refuse(FAILED, slot, handler);
    }
    write(batch, AS_ANYBODY);
    return call;
  }

  /** Answers a request that is not sent. */
  static Pending refuse(NodeReply reply, int slot, ReplyHandler handler) {
    Call.deliver(handler, slot, reply);
    return NOT_PENDING;
  }

  /** A call that its caller may withdraw. */
  private final class Request extends Call implements Pending, Step<Batch> {

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

  /** Writes what a step has made due, as the thread that reads or as one that must not block. */
  private void write(boolean asReader) {
    Step<Batch> next = asReader ? AS_READER : AS_ANYBODY;
    write(take(next), next);
  }

  /** Writes batches until there is none or another thread writes. */
  private void write(@Nullable Batch first, Step<Batch> next) {
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

  // The connection.

  /**
   * The events of one connection, or of the attempt to make it. Called by the thread that reads it.
   */
  private final class Connected implements Dialer.Reader {
    private @Nullable Wire wire; // null while there is no connection
    private boolean isTaken; // the machine knows the connection

    @Override
    public void connected(Wire fresh) {
      wire = fresh;
      step(
          (each, nowNanos) -> {
            each.connected(fresh, nowNanos);
            isTaken = true;
          });
      if (isTaken) {
        write(true);
      } else { // the step failed
        fresh.end();
      }
    }

    @Override
    public void received(@Nullable Object reply) {
      long nowNanos = ticker.monotonicNanos();
      Call decided = null;
      boolean hasMore = false;
      List<Runnable> due;
      lock.lock();
      try {
        begin(nowNanos);
        decided = machine.received(wire, reply, nowNanos);
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
    public void lost(Throwable why) {
      step((each, nowNanos) -> each.lost(isTaken ? wire : null, why, nowNanos));
    }
  }

  @Override
  public void dial() {
    try {
      dialer.dial(new Connected());
    } catch (RuntimeException | Error e) { // of a thread: it is an attempt that failed
      step((each, nowNanos) -> each.lost(null, e, nowNanos));
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

  /** Waits for the first attempt to connect. Returns true if it has succeeded or failed. */
  boolean awaitFirstAttempt(long nanos) throws InterruptedException {
    return firstAttempt.await(nanos, TimeUnit.NANOSECONDS);
  }

  /**
   * Waits until every call is answered and no more are sent, whether interrupted or not: the wait
   * is short, and a release may not have been sent yet.
   */
  void awaitEnd() {
    scheduler.awaitUninterruptibly(hasEnded);
  }
}
