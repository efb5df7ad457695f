package io.redlock.testkit;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/** Threads that do the same at once. */
public final class Together {

  private static final int PATIENCE_MINUTES = 5;

  private Together() {}

  /** What each does. */
  public interface Work {
    void run(int number) throws Exception;
  }

  /** Waits until so many threads, numbered from 0, have done it; fails if one does. */
  public static void run(int count, Work work) throws Exception {
    run(Executors.newFixedThreadPool(count), count, work);
  }

  /** The same on these threads, which end with it. */
  public static void run(ExecutorService threads, int count, Work work) throws Exception {
    List<Future<?>> all = new ArrayList<>();
    try {
      for (int i = 0; i < count; i++) {
        int number = i;
        all.add(
            threads.submit(
                () -> {
                  work.run(number);
                  return null;
                }));
      }
      for (Future<?> each : all) {
        each.get(PATIENCE_MINUTES, TimeUnit.MINUTES);
      }
    } finally {
      threads.shutdownNow();
    }
  }
}
