package io.redlock.jedis.lane;

import static io.redlock.jedis.lane.LaneLog.LOG;

import io.redlock.spi.Scheduler;
import io.redlock.spi.Scheduler.Cancellable;
import io.redlock.spi.Ticker;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.ObjLongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * The shell of a state machine that has a connection. Events come from callers, from the thread
 * that reads the connection, and from the scheduler. Each is one step of the machine under a lock.
 * Its effects follow after the lock is released: no thread holds it while it writes to a socket,
 * delivers an answer or calls an observer.
 *
 * <p>A step that throws ends the connection: the machine starts again with a new one. While memory
 * is short that may fail too; then the next step does it, at the latest a check, which comes once a
 * second.
 */
abstract class MachineShell<M extends MachineShell.Machine> {

  /** A state machine: events in, effects out. */
  interface Machine {
    /** Returns the time of the next tick, or {@link LaneTicks#NEVER}. */
    long tickNanos();

    void tick(long nowNanos);

    /** Takes the new connection, or gives it up. */
    void connected(Wire fresh, long nowNanos);

    /** Takes note that the connection has ended, or that there is none, since it failed. */
    void lost(@Nullable Wire from, Throwable why, long nowNanos);

    /** Starts again with a new connection after a step failed. */
    void fail(Throwable why, long nowNanos);
  }

  /** A step of a machine that has a result. */
  interface Step<M, R> {
    @Nullable R take(M machine, long nowNanos);
  }

  /** A tick that is so late is planned again: its timer may be lost. */
  private static final long LATE_NANOS = 1_000_000_000;

  private final String name;
  final Ticker ticker;
  final Scheduler scheduler;
  private final Dialer dialer;
  final ReentrantLock lock = new ReentrantLock();
  private List<Runnable> effects = new ArrayList<>(4); // guarded by lock; of the last steps
  final InOrder inOrder;
  private @Nullable Cancellable nextTick; // guarded by lock
  private long tickNanos = LaneTicks.NEVER; // guarded by lock; when that comes
  private @Nullable Throwable failure; // guarded by lock; until the machine has started again

  /**
   * @param name of the node, and what this does, for the log
   */
  MachineShell(String name, Ticker ticker, Scheduler scheduler, Dialer dialer) {
    this.name = name;
    this.ticker = ticker;
    this.scheduler = scheduler;
    this.dialer = dialer;
    this.inOrder = new InOrder(name, this::add);
  }

  /** Returns the machine, which the lock guards. */
  abstract M machine();

  /** Takes the next answer that was read. */
  abstract void received(@Nullable Wire from, @Nullable Object reply);

  /** Writes what a step has made due, as the thread that reads or as one that must not block. */
  void write(boolean asReader) {}

  /** Runs one step, then writes. */
  final void event(ObjLongConsumer<M> step) {
    step(step);
    write(false);
  }

  /** Adds an effect of a step. Called under the lock. */
  final void add(Runnable effect) {
    effects.add(effect);
  }

  final void step(ObjLongConsumer<M> step) {
    take(
        (each, nowNanos) -> {
          step.accept(each, nowNanos);
          return null;
        });
  }

  /** Runs one step. Returns its result; null if it failed. */
  final <R> @Nullable R take(Step<M, R> step) {
    long nowNanos = ticker.monotonicNanos();
    R result = null;
    List<Runnable> due;
    lock.lock();
    try {
      begin(nowNanos);
      R reached = step.take(machine(), nowNanos);
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

  /** Begins a step under the lock: starts the machine again if an earlier step failed. */
  void begin(long nowNanos) {
    Throwable why = failure;
    if (why != null) {
      machine().fail(why, nowNanos);
    }
  }

  /**
   * Ends a step under the lock. Takes the effects last, because effects that are taken must not get
   * lost.
   */
  final List<Runnable> settle(long nowNanos) {
    planTick(nowNanos);
    List<Runnable> due = effects.isEmpty() ? List.of() : effects;
    effects = due.isEmpty() ? effects : new ArrayList<>(4);
    failure = null;
    return due;
  }

  /** Starts the machine again after a step failed; if that fails too, the next step does it. */
  final List<Runnable> failed(Throwable why, long nowNanos) {
    boolean isFirst = failure == null;
    failure = why; // first, because even a line takes memory
    if (isFirst) {
      LOG.error("node {} failed and starts again", name, why);
    }
    try {
      begin(nowNanos);
      return settle(nowNanos);
    } catch (RuntimeException | Error again) {
      return List.of();
    }
  }

  private void planTick(long nowNanos) {
    long dueNanos = machine().tickNanos();
    boolean isLate = tickNanos != LaneTicks.NEVER && nowNanos - tickNanos > LATE_NANOS;
    if (dueNanos == tickNanos && !isLate) {
      return;
    }
    if (nextTick != null) {
      nextTick.cancel();
    }
    tickNanos = LaneTicks.NEVER; // if it cannot be scheduled
    nextTick =
        dueNanos == LaneTicks.NEVER
            ? null
            : scheduler.schedule(() -> tick(dueNanos), dueNanos - nowNanos);
    tickNanos = dueNanos;
  }

  private void tick(long dueNanos) {
    event(
        (each, nowNanos) -> {
          if (dueNanos == tickNanos) { // else it was planned anew
            tickNanos = LaneTicks.NEVER;
            each.tick(nowNanos);
          }
        });
  }

  /** Does what was left undone. Called about once a second. */
  final void check() {
    event((each, nowNanos) -> {});
    dialer.check();
  }

  final void perform(List<Runnable> due) {
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
    } finally {
      lock.unlock();
    }
    LOG.error("node {} failed to do what it decided", name, why);
  }

  public final void dial() {
    try {
      dialer.dial(new Connected());
    } catch (RuntimeException | Error e) { // of a thread: it is an attempt that failed
      step((each, nowNanos) -> each.lost(null, e, nowNanos));
    }
  }

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
      MachineShell.this.received(wire, reply);
    }

    @Override
    public void lost(Throwable why) {
      step((each, nowNanos) -> each.lost(isTaken ? wire : null, why, nowNanos));
    }
  }
}
