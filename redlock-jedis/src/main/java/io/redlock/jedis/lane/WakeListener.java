package io.redlock.jedis.lane;

import static io.redlock.jedis.lane.LaneLog.LOG;

import io.redlock.spi.LockNode;
import io.redlock.spi.Scheduler;
import io.redlock.spi.Scheduler.Cancellable;
import io.redlock.spi.Ticker;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.ObjLongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * The receiver of wake-ups from one node for this client's fair waiters. It is the shell around a
 * {@link WakeMachine}, as {@link NodeLane} is the shell around a {@link LaneMachine}. If it fails,
 * waiters still ask, but less often. What fails while memory is short is done by a check that comes
 * once a second, as in a lane.
 */
final class WakeListener {

  private static final IllegalStateException FAILING = new IllegalStateException("it failed");

  private final String node;
  private final Dialer dialer;
  private final Ticker ticker;
  private final Scheduler scheduler;
  private final ReentrantLock lock = new ReentrantLock();
  private final WakeMachine machine; // guarded by lock
  private @Nullable Cancellable nextTick; // guarded by lock
  private long tickNanos = WakeMachine.NEVER; // guarded by lock
  private final InOrder<WakeEffect.Write> writes = new InOrder<>(this::write);
  private final Shell shell = new Shell();
  private final Connected noLine = new Connected(); // ends in place of one that cannot be made
  private final ObjLongConsumer<WakeMachine> undone = this::undone;
  private boolean hasFailed; // guarded by lock; until the machine has started again
  private volatile @Nullable Connected line; // of the last dial
  private volatile @Nullable Connected ended; // until the machine knows
  private volatile @Nullable String client;

  WakeListener(
      String node,
      Dialer dialer,
      LaneSettings settings,
      Ticker ticker,
      Scheduler scheduler,
      LockNode.Observer observer) {
    this.node = node;
    this.dialer = dialer;
    this.ticker = ticker;
    this.scheduler = scheduler;
    this.machine = new WakeMachine(node, settings, observer);
  }

  /** Sets the name of the client that owns the waiters. */
  void expect(String theClient) {
    if (client == null) {
      client = theClient;
    }
  }

  /** Takes note that a fair waiter was refused and waits for a wake-up. */
  void need() {
    String whose = client;
    if (whose != null) {
      step((each, nowNanos) -> each.need(whose, nowNanos));
    }
  }

  void close() {
    step((each, nowNanos) -> each.close());
  }

  /** Does what was left undone. Called about once a second. */
  void check() {
    step(undone);
    dialer.check();
  }

  private void undone(WakeMachine each, long nowNanos) {
    Connected over = ended;
    if (over != null) {
      over.end(each, nowNanos);
    }
  }

  private void step(ObjLongConsumer<WakeMachine> step) {
    List<WakeEffect> effects;
    long nowNanos = ticker.monotonicNanos();
    lock.lock();
    try {
      if (hasFailed) {
        machine.fail(nowNanos);
      }
      step.accept(machine, nowNanos);
      planTick(nowNanos);
      effects = machine.takeEffects();
      hasFailed = false;
      for (int i = 0; i < effects.size(); i++) {
        if (effects.get(i) instanceof WakeEffect.Write write) {
          writes.add(write);
        }
      }
    } catch (RuntimeException | Error e) {
      boolean isFirst = !hasFailed;
      hasFailed = true; // first, because even a line takes memory
      if (isFirst) {
        LOG.error("node {}: its wake-ups failed and start again", node, e);
      }
      return;
    } finally {
      lock.unlock();
    }
    for (int i = 0; i < effects.size(); i++) {
      perform(effects.get(i));
    }
  }

  private void planTick(long nowNanos) {
    long due = machine.tickNanos();
    if (due == tickNanos) {
      return;
    }
    if (nextTick != null) {
      nextTick.cancel();
    }
    tickNanos = WakeMachine.NEVER; // if it cannot be scheduled
    nextTick =
        due == WakeMachine.NEVER ? null : scheduler.schedule(() -> tick(due), due - nowNanos);
    tickNanos = due;
  }

  private void tick(long due) {
    step(
        (each, nowNanos) -> {
          if (due == tickNanos) {
            tickNanos = WakeMachine.NEVER;
            each.tick(nowNanos);
          }
        });
  }

  private void perform(WakeEffect effect) {
    try {
      effect.perform(shell);
    } catch (RuntimeException | Error e) {
      LOG.error("node {}: an observer of wake-ups threw, which it must not", node, e);
    }
  }

  private final class Shell implements WakeEffect.Shell {

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
    public void write() {
      writes.run();
    }

    @Override
    public void report(Runnable report) {
      report.run();
    }
  }

  private void write(WakeEffect.Write write) {
    try {
      write.wire().write(write.command(), 64);
      write.wire().flush();
    } catch (RuntimeException | Error e) {
      step((each, nowNanos) -> each.lost(write.wire(), e, nowNanos));
    }
  }

  private final class Connected implements Dialer.Reader, ObjLongConsumer<WakeMachine> {
    private @Nullable Wire wire;
    private boolean isTaken; // guarded by lock; the machine knows the connection
    private volatile @Nullable Throwable end;

    @Override
    public void connected(Wire fresh) {
      wire = fresh;
      step(
          (each, nowNanos) -> {
            each.connected(fresh, nowNanos);
            isTaken = true;
          });
      throwIfFailing();
    }

    @Override
    public void failed(Throwable why) {
      over(why);
    }

    @Override
    public void received(@Nullable Object reply) {
      step((each, nowNanos) -> each.received(wire, reply, nowNanos));
      throwIfFailing();
    }

    /** Ends the thread that reads: while the machine is failing, it can keep no event. */
    private void throwIfFailing() {
      lock.lock();
      try {
        if (hasFailed) {
          throw FAILING;
        }
      } finally {
        lock.unlock();
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
      step(this);
    }

    @Override
    public void accept(WakeMachine each, long nowNanos) {
      end(each, nowNanos);
    }

    /** Tells the machine that this has ended. */
    void end(WakeMachine each, long nowNanos) {
      Throwable why = Objects.requireNonNull(end);
      if (isTaken) {
        each.lost(wire, why, nowNanos);
      } else {
        each.failed(why, nowNanos);
      }
      if (ended == this) {
        ended = null;
      }
    }
  }
}
