package io.redlock.simulation;

import io.redlock.spi.Scheduler;
import java.util.concurrent.CompletableFuture;

/** A scheduler that leaves everything to another one, but plans tasks in its own way. */
abstract class ForwardingScheduler implements Scheduler {

  private final Scheduler scheduler;

  ForwardingScheduler(Scheduler scheduler) {
    this.scheduler = scheduler;
  }

  @Override
  public <T> T await(CompletableFuture<T> future) throws InterruptedException {
    return scheduler.await(future);
  }

  @Override
  public void close() {
    scheduler.close();
  }
}
