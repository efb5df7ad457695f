package io.redlock.driver;

import io.redlock.spi.Scheduler;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;

/** The waits of blocking calls. */
final class Blocking {

  private Blocking() {}

  /** Waits for the value; rethrows a runtime exception unchanged. */
  static <T> T await(CompletableFuture<T> future, Scheduler scheduler) throws InterruptedException {
    scheduler.await(future);
    try {
      return future.get();
    } catch (ExecutionException e) {
      if (e.getCause() instanceof RuntimeException cause) {
        throw cause;
      }
      throw new IllegalStateException(e.getCause());
    }
  }

  static <T> T uninterruptibly(CompletableFuture<T> future, Scheduler scheduler) {
    boolean interrupted = false;
    try {
      while (true) {
        try {
          return await(future, scheduler);
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  static void checkInterrupt() throws InterruptedException {
    if (Thread.interrupted()) {
      throw new InterruptedException();
    }
  }
}
