package io.redlock.driver;

import io.redlock.spi.LibraryThread;
import io.redlock.spi.Scheduler;
import io.redlock.spi.Ticker;
import java.security.SecureRandom;
import java.util.HexFormat;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
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
    OneThread started = new OneThread();
    started.thread.start();
    return started;
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

  /** One thread for all timers. It takes no memory of its own, and only the close ends it. */
  static final class OneThread implements Scheduler {

    private static final long NEVER = Long.MAX_VALUE;
    private static final long PATIENCE_NANOS = 50_000_000;

    private final Ticker ticker = Ticker.system();
    private final long originNanos = ticker.monotonicNanos(); // times here count from it
    private final Thread thread = new LibraryThread(this::work, "redlock-scheduler");
    volatile @Nullable Alarm last; // that was made; written under this
    private volatile long wakesNanos = NEVER; // when the thread looks again; never while it looks
    private volatile boolean closed;

    private void work() {
      while (!closed) {
        try {
          look();
        } catch (Throwable e) {
          // no memory for a line, or for what runs for the first time: the next look goes on
        }
      }
    }

    /** Runs the first task that is due, or waits. A time that is set meanwhile ends the wait. */
    private void look() {
      wakesNanos = NEVER;
      Alarm first = null;
      long firstNanos = NEVER;
      for (Alarm each = last; each != null; each = each.before) {
        long dueNanos = each.dueNanos.get();
        if (dueNanos < firstNanos) {
          first = each;
          firstNanos = dueNanos;
        }
      }
      long leftNanos = firstNanos - elapsedNanos();
      if (first == null || leftNanos > 0) {
        wakesNanos = firstNanos;
        LockSupport.parkNanos(this, leftNanos);
      } else if (first.dueNanos.compareAndSet(firstNanos, NEVER)) { // else it was set anew
        first.run();
      }
    }

    private long elapsedNanos() {
      return ticker.monotonicNanos() - originNanos;
    }

    @Override
    public synchronized Timer timer(Runnable task) {
      Alarm made = new Alarm(task, last);
      last = made;
      return made;
    }

    @Override
    public synchronized void close() {
      if (!closed) {
        closed = true;
        OPEN.decrementAndGet();
        LockSupport.unpark(thread);
      }
    }

    /** A timer. */
    final class Alarm implements Timer {
      private final Runnable task;
      final @Nullable Alarm before; // the one that was made before
      final AtomicLong dueNanos = new AtomicLong(NEVER);

      Alarm(Runnable task, @Nullable Alarm before) {
        this.task = task;
        this.before = before;
      }

      @Override
      public void set(long atNanos) {
        long fromOriginNanos = atNanos - originNanos;
        dueNanos.set(fromOriginNanos);
        if (fromOriginNanos < wakesNanos) {
          LockSupport.unpark(thread);
        }
      }

      @Override
      public void cancel() {
        dueNanos.set(NEVER);
      }

      private void run() {
        try {
          task.run();
        } catch (Throwable e) { // the others matter as much
          dueNanos.compareAndSet(NEVER, elapsedNanos() + PATIENCE_NANOS);
          Log.failure("the scheduler", e);
        }
        Thread.interrupted(); // what a task left would end each wait at once
      }
    }
  }
}
