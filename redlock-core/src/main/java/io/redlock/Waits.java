package io.redlock;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;

/** How blocking calls wait for what is done without a thread. */
final class Waits {

  private Waits() {}

  /** Waits for the value; rethrows a runtime exception as itself. */
  static <T> T await(CompletableFuture<T> future) throws InterruptedException {
    try {
      return future.get();
    } catch (ExecutionException e) {
      if (e.getCause() instanceof RuntimeException cause) {
        throw cause;
      }
      throw new IllegalStateException(e.getCause());
    }
  }
}
