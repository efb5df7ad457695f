package io.redlock.simulation;

import io.redlock.spi.Scheduler;
import java.util.concurrent.Future;

/** A scheduler that leaves everything to another one, but plans tasks in its own way. */
abstract class ForwardingScheduler implements Scheduler {

  private final Scheduler scheduler;

  ForwardingScheduler(Scheduler scheduler) {
    this.scheduler = scheduler;
  }

  @Override
  public void await(Future<?> future) throws InterruptedException {
    scheduler.await(future);
  }

  @Override
  public void close() {
    scheduler.close();
  }
}
