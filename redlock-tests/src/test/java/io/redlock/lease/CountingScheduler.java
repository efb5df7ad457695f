package io.redlock.lease;

import io.redlock.driver.RealTime;
import io.redlock.spi.Scheduler;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

/** The scheduler that is used by default, with a count of what it still has to do. */
final class CountingScheduler implements Scheduler {

  private final Scheduler real = RealTime.scheduler();
  private final AtomicInteger pending = new AtomicInteger();

  @Override
  public Cancellable schedule(Runnable task, long delayNanos) {
    AtomicBoolean over = new AtomicBoolean();
    pending.incrementAndGet();
    Cancellable scheduled =
        real.schedule(
            () -> {
              count(over);
              task.run();
            },
            delayNanos);
    return () -> {
      scheduled.cancel();
      count(over);
    };
  }

  private void count(AtomicBoolean over) {
    if (!over.getAndSet(true)) {
      pending.decrementAndGet();
    }
  }

  /** How many tasks are neither begun nor cancelled. */
  int pending() {
    return pending.get();
  }

  @Override
  public void close() {
    real.close();
  }
}
