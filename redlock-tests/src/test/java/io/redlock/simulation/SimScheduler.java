package io.redlock.simulation;

import io.redlock.spi.Scheduler;
import java.util.concurrent.Future;

/** The one scheduler thread of a client, on its monotonic clock. */
final class SimScheduler implements Scheduler {

  private final SimProcess process;
  private final SimProcess.Strand strand;
  private int pending;
  private boolean closed;

  SimScheduler(SimProcess process) {
    this.process = process;
    this.strand = process.strand();
  }

  /** Tasks that have neither run nor been cancelled. */
  int pending() {
    return pending;
  }

  /** A call may be decided by a timer, and then go on with requests for which nobody waits. */
  @Override
  public void await(Future<?> future) {
    process.world.runWhile(() -> !future.isDone(), Long.MAX_VALUE);
    if (!future.isDone()) {
      process.world.throwIfOver();
    }
  }

  private final class Timer implements Cancellable {
    private final Runnable task;
    private final long dueNanos;
    private World.Event event;
    private boolean over;

    Timer(Runnable task, long dueNanos) {
      this.task = task;
      this.dueNanos = dueNanos;
      pending++;
      event = plan();
    }

    private World.Event plan() {
      long leftNanos = dueNanos - process.monotonic.nanos();
      long trueNanos = process.monotonic.trueDelayNanos(leftNanos);
      return process.world.after(trueNanos, () -> strand.run(this::due));
    }

    private void due() {
      if (over || closed) {
        return;
      }
      if (process.monotonic.nanos() - dueNanos < 0) {
        event = plan(); // the clock was stopped, or runs slower now
        return;
      }
      over = true;
      pending--;
      task.run();
    }

    @Override
    public void cancel() {
      if (!over) {
        over = true;
        pending--;
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

  boolean isIdle() {
    return strand.isIdle();
  }
}
