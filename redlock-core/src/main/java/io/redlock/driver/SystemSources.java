package io.redlock.driver;

import io.redlock.spi.LibraryThread;
import io.redlock.spi.Scheduler;
import java.security.SecureRandom;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.ThreadPoolExecutor.DiscardPolicy;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * Real randomness and a scheduler of real time: with {@link CallbackThreads}, their only source.
 */
final class SystemSources {

  private static final AtomicInteger OPEN = new AtomicInteger(); // lock services in real time
  private static final int MANY = 32;

  private SystemSources() {}

  static Scheduler scheduler() {
    int open = OPEN.incrementAndGet();
    if (open % MANY == 0) {
      Log.LOG.warn(
          "{} lock services are open in this process: one serves all threads and resources", open);
    }
    return new SingleThread(LibraryThread.named("redlock-scheduler"));
  }

  /** Returns the source that spreads retries; not for secrets. */
  static RandomGenerator random() {
    return () -> ThreadLocalRandom.current().nextLong();
  }

  /** Returns a source of ids: 128 bits from a secure generator, in hexadecimal. */
  static Supplier<String> ownerIds() {
    SecureRandom secure = new SecureRandom();
    HexFormat hex = HexFormat.of();
    return () -> {
      byte[] bits = new byte[16];
      secure.nextBytes(bits);
      return hex.formatHex(bits);
    };
  }

  /**
   * One thread. If it ends for lack of memory, it starts the next one as soon as there is some, and
   * that one goes on with the tasks.
   */
  static final class SingleThread implements Scheduler {

    private static final long CHECK_MILLIS = 50;
    private static final long PATIENCE_NANOS = 50_000_000;

    final ScheduledThreadPoolExecutor executor;
    private final List<Runnable> checks = new CopyOnWriteArrayList<>();
    private volatile @Nullable Future<?> checking;

    SingleThread(ThreadFactory threads) {
      executor =
          new ScheduledThreadPoolExecutor(
              1, worker -> threads.newThread(() -> work(worker)), new DiscardPolicy());
      executor.setRemoveOnCancelPolicy(true);
      executor.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
      planChecks();
    }

    private void work(Runnable worker) {
      try {
        worker.run(); // until the close, if nothing fails
      } catch (Throwable e) {
        while (!executor.isShutdown() && !isRestarted()) {
          LockSupport.parkNanos(PATIENCE_NANOS);
        }
        Log.failure("the scheduler", e); // last, because even a line takes memory
      }
    }

    private boolean isRestarted() {
      try {
        executor.prestartCoreThread();
        planChecks();
        return true;
      } catch (Throwable e) { // memory is still short
        return false;
      }
    }

    /** Plans the checks anew, which may have been lost. */
    private void planChecks() {
      Future<?> before = checking;
      if (before != null) {
        before.cancel(false);
      }
      Runnable check = () -> checks.forEach(SingleThread::run); // takes no memory
      checking =
          executor.scheduleWithFixedDelay(check, CHECK_MILLIS, CHECK_MILLIS, TimeUnit.MILLISECONDS);
    }

    @Override
    public void watch(Runnable check) {
      checks.add(check);
    }

    private static void run(Runnable body) {
      try {
        body.run();
      } catch (Throwable e) { // the others matter as much
        Log.failure("the scheduler", e);
      }
    }

    @Override
    public Cancellable schedule(Runnable task, long delayNanos) {
      Future<?> scheduled = executor.schedule(() -> run(task), delayNanos, TimeUnit.NANOSECONDS);
      return () -> scheduled.cancel(false);
    }

    @Override
    public void close() {
      if (!executor.isShutdown()) {
        OPEN.decrementAndGet();
        executor.shutdownNow();
      }
    }
  }
}
