package io.redlock.simulation;

import io.redlock.spi.Scheduler;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** The one scheduler thread of a client, on its monotonic clock. */
final class SimScheduler implements Scheduler {

  private final SimProcess process;
  private final SimProcess.Strand strand;
  private int pending;
  private boolean closed;

  SimScheduler(SimProcess process) {
    this.process = process;
    this.strand = process.schedulerStrand();
  }

  /** The same thread for the lanes, whose timers do not count: they go on until they are closed. */
  Scheduler ofLanes() {
    return new ForwardingScheduler(this) {
      @Override
      public Timer timer(Runnable task) {
        return new SimTimer(task, 0);
      }

      @Override
      public void close() {
        throw new IllegalStateException("a lane closes the scheduler of others");
      }
    };
  }

  long nowNanos() {
    return process.monotonic.nanos();
  }

  /** Timers that are set. */
  int pending() {
    return pending;
  }

  /** A call may be decided by a timer, and then go on with requests for which nobody waits. */
  @Override
  public <T> T await(CompletableFuture<T> future) throws InterruptedException {
    process.world.runWhile(() -> !future.isDone() && !process.isDead(), Long.MAX_VALUE);
    if (!future.isDone()) {
      throw process.world.over();
    }
    return Scheduler.super.await(future);
  }

  private final class SimTimer implements Timer {
    private final Runnable task;
    private final int weight;
    private @Nullable Alarm alarm; // null unless it is set

    SimTimer(Runnable task, int weight) {
      this.task = task;
      this.weight = weight;
    }

    @Override
    public void set(long atNanos) {
      cancel();
      if (!closed && !process.isDead()) {
        pending += weight;
        alarm = new Alarm(this, Math.max(atNanos, process.monotonic.nanos()));
      }
    }

    @Override
    public void cancel() {
      if (alarm != null) {
        pending -= weight;
        alarm.event.cancel();
        alarm = null;
      }
    }
  }

  /** One time of a timer. */
  private final class Alarm implements Runnable {
    private final SimTimer timer;
    private final long dueNanos;
    private SimWorld.Event event;

    Alarm(SimTimer timer, long dueNanos) {
      this.timer = timer;
      this.dueNanos = dueNanos;
      event = plan();
    }

    private SimWorld.Event plan() {
      long leftNanos = dueNanos - process.monotonic.nanos();
      long trueNanos = process.monotonic.trueDelayNanos(leftNanos);
      return process.world.after(trueNanos, () -> strand.run(this));
    }

    @Override
    public void run() {
      if (timer.alarm != this || closed) {
        return;
      }
      if (process.monotonic.nanos() - dueNanos < 0) {
        event = plan(); // the clock was stopped, or runs slower now
        return;
      }
      timer.alarm = null;
      pending -= timer.weight;
      timer.task.run();
    }
  }

  @Override
  public Timer timer(Runnable task) {
    return new SimTimer(task, 1);
  }

  @Override
  public void close() {
    closed = true;
  }
}
