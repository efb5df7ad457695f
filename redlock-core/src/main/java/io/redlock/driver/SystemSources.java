package io.redlock.driver;

import io.redlock.spi.LibraryThread;
import io.redlock.spi.Scheduler;
import io.redlock.spi.Ticker;
import java.security.SecureRandom;
import java.util.ArrayDeque;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.ThreadPoolExecutor.DiscardPolicy;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/** Real time, randomness and threads: their only source in the driver. */
final class SystemSources {

  private SystemSources() {}

  static Ticker ticker() {
    return Ticker.system();
  }

  static Scheduler scheduler() {
    return new SingleThread(LibraryThread.named("redlock-scheduler"));
  }

  /** Returns the source that spreads retries; not for secrets. */
  static RandomGenerator random() {
    return new RandomGenerator() {
      @Override
      public long nextLong() {
        return ThreadLocalRandom.current().nextLong();
      }
    };
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
   * A few threads for code that may block. A thread starts when all others are busy, and ends after
   * an idle second. Accepts tasks also after {@link #close()}.
   */
  static final class Threads {

    static final int MOST = 4;

    private static final long IDLE_MILLIS = 1_000;

    private final ThreadFactory factory;
    private final ArrayDeque<Runnable> tasks = new ArrayDeque<>(); // guarded by this
    private int alive; // guarded by this; threads
    private int idle; // guarded by this; threads that wait for a task
    private boolean closed; // guarded by this

    Threads(ThreadFactory factory) {
      this.factory = factory;
    }

    /** Runs the task later. Throws, and drops it, if it needs a thread and none can be started. */
    void execute(Runnable task) {
      synchronized (this) {
        tasks.add(task);
        if (idle >= tasks.size()) {
          notify();
          return;
        }
        if (alive == MOST) {
          return;
        }
        alive++;
      }
      try {
        factory.newThread(this::work).start();
      } catch (Throwable e) {
        synchronized (this) {
          alive--;
          tasks.remove(task);
        }
        throw e;
      }
    }

    /** Lets every thread end as soon as it is idle. */
    synchronized void close() {
      closed = true;
      notifyAll();
    }

    private void work() {
      for (Runnable task = next(); task != null; task = next()) {
        run(task);
        Thread.interrupted(); // an interrupt that user code left must not reach other user code
      }
    }

    private static void run(Runnable task) {
      try {
        task.run();
      } catch (Throwable e) { // only if an exception of user code could not be logged
        report(e);
      }
    }

    private static void report(Throwable why) {
      try {
        Thread current = Thread.currentThread();
        current.getUncaughtExceptionHandler().uncaughtException(current, why);
      } catch (OutOfMemoryError e) { // the other tasks matter more
        return;
      }
    }

    private synchronized @Nullable Runnable next() {
      long idleSince = System.nanoTime();
      idle++;
      try {
        long leftMillis = IDLE_MILLIS;
        while (tasks.isEmpty() && !closed && leftMillis > 0) {
          wait(leftMillis);
          long waitedNanos = System.nanoTime() - idleSince;
          leftMillis = IDLE_MILLIS - TimeUnit.NANOSECONDS.toMillis(waitedNanos);
        }
      } catch (InterruptedException e) {
        Log.LOG.debug("An idle thread was interrupted, and ends", e);
      } finally {
        idle--;
      }
      Runnable task = tasks.poll();
      if (task == null) {
        alive--;
      }
      return task;
    }
  }

  /**
   * One thread. If it ends for lack of memory, it starts the next one as soon as there is some, and
   * that one goes on with the tasks.
   */
  static final class SingleThread implements Scheduler {

    private static final long CHECK_MILLIS = 1_000;
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
    }

    private void work(Runnable worker) {
      Throwable why = null;
      try {
        worker.run(); // until the close, if nothing fails
      } catch (Throwable e) {
        why = e;
      }
      boolean goesOn = false;
      while (!goesOn && !executor.isShutdown()) {
        try {
          restart();
          goesOn = true;
        } catch (Throwable e) { // memory is still short
          LockSupport.parkNanos(PATIENCE_NANOS);
        }
      }
      if (why != null) { // last, because even a line takes memory
        Log.LOG.error("The scheduler's thread ended; the next one has started", why);
      }
    }

    private void restart() {
      Future<?> planned = checking;
      if (planned instanceof Runnable && !executor.getQueue().contains(planned)) {
        planned.cancel(false);
        planChecks();
      }
      executor.prestartCoreThread();
    }

    private void planChecks() {
      checking =
          executor.scheduleWithFixedDelay(
              this::check, CHECK_MILLIS, CHECK_MILLIS, TimeUnit.MILLISECONDS);
    }

    @Override
    public void watch(Runnable check) {
      synchronized (checks) {
        checks.add(check);
        if (checks.size() == 1) {
          planChecks();
        }
      }
    }

    private void check() {
      try {
        Throwable why = null;
        for (Runnable check : checks) {
          try {
            check.run();
          } catch (Throwable e) { // the others matter as much
            why = e;
          }
        }
        if (why != null) {
          Log.LOG.error("A check failed; it is repeated in a second", why);
        }
      } catch (OutOfMemoryError e) { // an exception would end the checks; the next ones follow
        return;
      }
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

    /** A timer in one object, to save memory: every lease has one or two. */
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
        } catch (Throwable e) {
          Log.LOG.error("A scheduled task failed; this is a defect of the lock library", e);
        }
        return null;
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
