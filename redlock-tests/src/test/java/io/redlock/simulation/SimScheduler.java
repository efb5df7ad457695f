package io.redlock.simulation;

import io.redlock.spi.Scheduler;
import java.util.concurrent.CompletableFuture;

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
      public Cancellable schedule(Runnable task, long delayNanos) {
        Cancellable timer = SimScheduler.this.schedule(task, delayNanos);
        if (timer instanceof Timer real) {
          real.uncounted();
        }
        return timer;
      }

      @Override
      public void close() {
        throw new IllegalStateException("a lane closes the scheduler of others");
      }
    };
  }

  /** Tasks that have neither run nor been cancelled. */
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

  private final class Timer implements Cancellable, Runnable {
    private final Runnable task;
    private final long dueNanos;
    private SimWorld.Event event;
    private boolean over;
    private int weight = 1;

    Timer(Runnable task, long dueNanos) {
      this.task = task;
      this.dueNanos = dueNanos;
      pending++;
      event = plan();
    }

    void uncounted() {
      pending -= weight;
      weight = 0;
    }

    private SimWorld.Event plan() {
      long leftNanos = dueNanos - process.monotonic.nanos();
      long trueNanos = process.monotonic.trueDelayNanos(leftNanos);
      return process.world.after(trueNanos, () -> strand.run(this));
    }

    @Override
    public void run() {
      if (over || closed) {
        return;
      }
      if (process.monotonic.nanos() - dueNanos < 0) {
        event = plan(); // the clock was stopped, or runs slower now
        return;
      }
      over = true;
      pending -= weight;
      task.run();
    }

    @Override
    public void cancel() {
      if (!over) {
        over = true;
        pending -= weight;
        event.cancel();
      }
    }
  }

  @Override
  public Cancellable schedule(Runnable task, long delayNanos) {
    if (closed || process.isDead()) {
      return () -> {};
    }
    return new Timer(task, process.monotonic.nanos() + Math.max(0, delayNanos));
  }

  @Override
  public void close() {
    closed = true;
  }
}
