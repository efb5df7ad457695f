package io.redlock.jedis.lane;

import static io.redlock.jedis.lane.LaneLog.LOG;

import io.redlock.spi.LockNode;
import io.redlock.spi.Scheduler;
import io.redlock.spi.Scheduler.Cancellable;
import io.redlock.spi.Ticker;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.ObjLongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * The receiver of wake-ups from one node for this client's fair waiters. It is the shell around a
 * {@link WakeMachine}, as {@link NodeLane} is the shell around a {@link LaneMachine}. If it fails,
 * waiters still ask, but less often.
 */
final class WakeListener {

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

  private void step(ObjLongConsumer<WakeMachine> step) {
    List<WakeEffect> effects;
    long nowNanos = ticker.monotonicNanos();
    lock.lock();
    try {
      step.accept(machine, nowNanos);
      effects = machine.takeEffects();
      for (WakeEffect effect : effects) {
        if (effect instanceof WakeEffect.Write write) {
          writes.add(write);
        }
      }
      planTick(nowNanos);
    } finally {
      lock.unlock();
    }
    effects.forEach(this::perform);
  }

  private void planTick(long nowNanos) {
    long due = machine.tickNanos();
    if (due == tickNanos) {
      return;
    }
    if (nextTick != null) {
      nextTick.cancel();
    }
    tickNanos = due;
    nextTick =
        due == WakeMachine.NEVER ? null : scheduler.schedule(() -> tick(due), due - nowNanos);
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
      try {
        dialer.dial(new Connected());
      } catch (RuntimeException | Error e) {
        step((each, nowNanos) -> each.failed(e, nowNanos));
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

  private final class Connected implements Dialer.Reader {
    private @Nullable Wire wire;

    @Override
    public void connected(Wire fresh) {
      wire = fresh;
      step((each, nowNanos) -> each.connected(fresh, nowNanos));
    }

    @Override
    public void failed(Throwable why) {
      step((each, nowNanos) -> each.failed(why, nowNanos));
    }

    @Override
    public void received(@Nullable Object reply) {
      step((each, nowNanos) -> each.received(wire, reply, nowNanos));
    }

    @Override
    public void lost(Throwable why) {
      step((each, nowNanos) -> each.lost(wire, why, nowNanos));
    }
  }
}
