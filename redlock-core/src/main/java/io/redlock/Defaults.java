package io.redlock;

import io.redlock.spi.Scheduler;
import io.redlock.spi.Ticker;
import java.security.SecureRandom;
import java.util.HexFormat;
import java.util.concurrent.Callable;
import java.util.concurrent.Executor;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.ThreadPoolExecutor.DiscardPolicy;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Real time, real randomness, real threads: the only place in this module that names them. */
final class Defaults {

  private Defaults() {}

  static Ticker ticker() {
    return Ticker.system();
  }

  static Scheduler scheduler() {
    return new SingleThread();
  }

  static Executor callbackExecutor() {
    return ForkJoinPool.commonPool();
  }

  /** Not for secrets: spreads retries. */
  static RandomGenerator random() {
    return new RandomGenerator() {
      @Override
      public long nextLong() {
        return ThreadLocalRandom.current().nextLong();
      }
    };
  }

  /** 128 random bits from a secure source, in hexadecimal. */
  static Supplier<String> ownerIds() {
    SecureRandom secure = new SecureRandom();
    HexFormat hex = HexFormat.of();
    return () -> {
      byte[] bits = new byte[16];
      secure.nextBytes(bits);
      return hex.formatHex(bits);
    };
  }

  private static final class SingleThread implements Scheduler {

    private static final Logger LOG = LoggerFactory.getLogger(Redlock.class);

    private final ScheduledThreadPoolExecutor executor;

    SingleThread() {
      executor =
          new ScheduledThreadPoolExecutor(
              1,
              task -> {
                Thread thread = new Thread(task, "redlock-scheduler");
                thread.setDaemon(true);
                return thread;
              },
              new DiscardPolicy());
      executor.setRemoveOnCancelPolicy(true);
      executor.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
    }

    @Override
    public Cancellable schedule(Runnable task, long delayNanos) {
      Task scheduled = new Task(task);
      scheduled.future = executor.schedule(scheduled, delayNanos, TimeUnit.NANOSECONDS);
      return scheduled;
    }

    @Override
    public void close() {
      executor.shutdownNow();
    }

    /** One object for all that a timer needs: every lease has one or two. */
    private static final class Task implements Callable<@Nullable Void>, Cancellable {
      private final Runnable body;
      private @Nullable Future<?> future; // set before the task is handed out

      Task(Runnable body) {
        this.body = body;
      }

      @Override
      public @Nullable Void call() {
        try {
          body.run();
          return null;
        } catch (RuntimeException | Error e) {
          LOG.error("A scheduled task failed; this is a defect of the lock library", e);
          throw e;
        }
      }

      @Override
      public void cancel() {
        if (future != null) {
          future.cancel(false);
        }
      }
    }
  }
}
