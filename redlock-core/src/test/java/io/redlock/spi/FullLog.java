package io.redlock.spi;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionHandler;

/** A log that takes no line for a while. */
public final class FullLog {

  private FullLog() {}

  /** Runs the second action. Meanwhile the first one, which may throw, runs in place of a line. */
  public static void during(Runnable inPlaceOfLine, Runnable action) {
    assertTrue(BackgroundLog.flush(Duration.ofSeconds(60)));
    RejectedExecutionHandler usual = BackgroundLog.WRITER.getRejectedExecutionHandler();
    CompletableFuture<?> isBusy = new CompletableFuture<>();
    CompletableFuture<?> end = new CompletableFuture<>();
    BackgroundLog.WRITER.execute(
        () -> {
          isBusy.complete(null);
          end.join();
        });
    isBusy.join();
    while (BackgroundLog.WRITER.getQueue().offer(() -> {})) {}
    BackgroundLog.WRITER.setRejectedExecutionHandler((line, full) -> inPlaceOfLine.run());
    try {
      action.run();
    } finally {
      BackgroundLog.WRITER.setRejectedExecutionHandler(usual);
      end.complete(null);
      assertTrue(BackgroundLog.flush(Duration.ofSeconds(60))); // else the next line finds no place
    }
  }
}
