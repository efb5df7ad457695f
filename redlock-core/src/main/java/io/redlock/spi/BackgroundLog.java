package io.redlock.spi;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;

/**
 * A log that never holds up its caller. Appenders are user code: a full pipe or a hung disk may
 * block them for minutes, and a lease must not wait for that. One thread of the library writes the
 * lines, in their order, and is there only while there are some. If a thousand lines wait, further
 * ones are dropped and counted; the next line says how many.
 *
 * <p>No method blocks or throws, not even without memory. Thread-safe.
 */
public final class BackgroundLog {

  /** The largest number of lines that wait. */
  static final int MOST_WAITING = 1_000;

  private static final long IDLE_MILLIS = 1_000;
  private static final long DEBUG_ASKED_AGAIN_NANOS = TimeUnit.SECONDS.toNanos(1);
  private static final long LATE_NANOS = TimeUnit.SECONDS.toNanos(1);
  private static final Ticker TICKER = Ticker.system();
  private static final Writer WRITER = new Writer();

  private final Logger logger;
  private volatile boolean isDebugOff; // as the logger said last
  private volatile long debugAskedNanos;

  private BackgroundLog(Logger logger) {
    this.logger = logger;
  }

  /**
   * Returns the log of this name.
   *
   * @param name the name that users configure
   */
  public static BackgroundLog of(String name) {
    return new BackgroundLog(LoggerFactory.getLogger(name));
  }

  /** Logs for developers. Costs almost nothing if the logger has this level off. */
  public void debug(
      String format, @Nullable Object first, @Nullable Object second, @Nullable Object third) {
    if (!isDebugOff || TICKER.monotonicNanos() - debugAskedNanos > DEBUG_ASKED_AGAIN_NANOS) {
      WRITER.add(this, Level.DEBUG, format, first, second, third);
    }
  }

  /** As {@link #debug(String, Object, Object, Object)}. */
  public void debug(String format, @Nullable Object first, @Nullable Object second) {
    debug(format, first, second, null);
  }

  /** As {@link #debug(String, Object, Object, Object)}. */
  public void debug(String format, @Nullable Object first) {
    debug(format, first, null, null);
  }

  /** Logs a normal event. The text of the arguments is made later, and by another thread. */
  public void info(
      String format, @Nullable Object first, @Nullable Object second, @Nullable Object third) {
    WRITER.add(this, Level.INFO, format, first, second, third);
  }

  /** As {@link #info(String, Object, Object, Object)}. */
  public void info(String format, @Nullable Object first, @Nullable Object second) {
    info(format, first, second, null);
  }

  /** As {@link #info(String, Object, Object, Object)}. */
  public void info(String format, @Nullable Object first) {
    info(format, first, null, null);
  }

  /**
   * Logs what an operator should look at. The text of the arguments is made later, and by another
   * thread.
   */
  public void warn(
      String format, @Nullable Object first, @Nullable Object second, @Nullable Object third) {
    WRITER.add(this, Level.WARN, format, first, second, third);
  }

  /** As {@link #warn(String, Object, Object, Object)}. */
  public void warn(String format, @Nullable Object first, @Nullable Object second) {
    warn(format, first, second, null);
  }

  /** As {@link #warn(String, Object, Object, Object)}. */
  public void warn(String format, @Nullable Object first) {
    warn(format, first, null, null);
  }

  /** As {@link #warn(String, Object, Object, Object)}. */
  public void warn(String text) {
    warn(text, null, null, null);
  }

  /** Logs a failure. The text of the arguments is made later, and by another thread. */
  public void error(
      String format, @Nullable Object first, @Nullable Object second, @Nullable Object third) {
    WRITER.add(this, Level.ERROR, format, first, second, third);
  }

  /** As {@link #error(String, Object, Object, Object)}. */
  public void error(String format, @Nullable Object first, @Nullable Object second) {
    error(format, first, second, null);
  }

  /** As {@link #error(String, Object, Object, Object)}. */
  public void error(String format, @Nullable Object first) {
    error(format, first, null, null);
  }

  /**
   * Waits until all lines until now are written, of all logs. An interrupt ends the wait and stays
   * set.
   *
   * @param most how long to wait: a log that is blocked writes nothing
   * @return true if they are written
   */
  public static boolean flush(Duration most) {
    return WRITER.flush(most.toNanos());
  }

  private record Line(
      BackgroundLog log,
      Level level,
      String format,
      long atNanos,
      @Nullable Object first,
      @Nullable Object second,
      @Nullable Object third) {

    void write() {
      Logger logger = log.logger;
      if (level == Level.DEBUG && !logger.isDebugEnabled()) {
        log.debugAskedNanos = TICKER.monotonicNanos();
        log.isDebugOff = true;
        return;
      }
      log.isDebugOff &= level != Level.DEBUG;
      long lateNanos = TICKER.monotonicNanos() - atNanos;
      String text =
          lateNanos < LATE_NANOS
              ? format
              : format + " (" + TimeUnit.NANOSECONDS.toSeconds(lateNanos) + "s ago)";
      Object[] arguments = {first, second, third};
      switch (level) {
        case ERROR -> logger.error(text, arguments(arguments));
        case WARN -> logger.warn(text, arguments(arguments));
        case INFO -> logger.info(text, arguments(arguments));
        default -> logger.debug(text, arguments(arguments));
      }
    }

    /** Returns the arguments without the missing ones: the logger looks for an exception last. */
    private static @Nullable Object[] arguments(@Nullable Object[] all) {
      int count = all.length;
      while (count > 0 && all[count - 1] == null) {
        count--;
      }
      return Arrays.copyOf(all, count);
    }
  }

  /** The lines that wait, and the thread that writes them. */
  private static final class Writer implements Runnable {
    private final ArrayDeque<Line> lines = new ArrayDeque<>(MOST_WAITING); // guarded by this
    private long added; // guarded by this
    private long done; // guarded by this
    private long dropped; // guarded by this; since the last line that says so
    private boolean running; // guarded by this

    void add(
        BackgroundLog log,
        Level level,
        String format,
        @Nullable Object first,
        @Nullable Object second,
        @Nullable Object third) {
      boolean starts = false;
      try {
        Line line = new Line(log, level, format, TICKER.monotonicNanos(), first, second, third);
        synchronized (this) {
          if (lines.size() >= MOST_WAITING) {
            dropped++;
            return;
          }
          sayDropped(log);
          lines.add(line);
          added++;
          starts = !running;
          running = true;
          notifyAll();
        }
        if (starts) {
          new LibraryThread(this, "redlock-log").start();
          starts = false;
        }
      } catch (VirtualMachineError e) { // mostly no memory: a line is not worth a lease
        synchronized (this) {
          dropped++;
        }
      } finally {
        if (starts) {
          ended();
        }
      }
    }

    private void sayDropped(BackgroundLog log) {
      if (dropped > 0) {
        String text = "{} log lines were dropped: the log was blocked, or memory was short";
        lines.add(new Line(log, Level.WARN, text, TICKER.monotonicNanos(), dropped, null, null));
        added++;
        dropped = 0;
      }
    }

    @Override
    public void run() {
      boolean isIdle = false;
      try {
        for (Line line = next(null); line != null; line = next(line)) {
          write(line);
        }
        isIdle = true;
      } finally {
        if (!isIdle) {
          ended(); // the next line starts another thread
        }
      }
    }

    private static void write(Line line) {
      try {
        line.write();
      } catch (RuntimeException | Error e) { // of an appender: there is no log to tell
        Thread current = Thread.currentThread();
        current.getUncaughtExceptionHandler().uncaughtException(current, e);
      }
    }

    private synchronized void ended() {
      running = false;
    }

    private synchronized @Nullable Line next(@Nullable Line written) {
      if (written != null) {
        done++;
        notifyAll();
        if (lines.isEmpty()) {
          sayDropped(written.log);
        }
      }
      long idleSinceNanos = TICKER.monotonicNanos();
      long leftMillis = IDLE_MILLIS;
      while (lines.isEmpty() && leftMillis > 0) {
        try {
          wait(leftMillis);
        } catch (InterruptedException e) {
          leftMillis = 0; // whatever asked for it: the next line starts another thread
          continue;
        }
        long idleNanos = TICKER.monotonicNanos() - idleSinceNanos;
        leftMillis = IDLE_MILLIS - TimeUnit.NANOSECONDS.toMillis(idleNanos);
      }
      Line next = lines.poll();
      running = next != null;
      return next;
    }

    synchronized boolean flush(long mostNanos) {
      long awaited = added + (dropped > 0 ? 1 : 0); // with the line that says so
      long startNanos = TICKER.monotonicNanos();
      long leftNanos = mostNanos;
      while (done < awaited && leftNanos > 0) {
        try {
          wait(TimeUnit.NANOSECONDS.toMillis(leftNanos) + 1);
        } catch (InterruptedException e) {
          Thread.currentThread().interrupt();
          return false;
        }
        leftNanos = mostNanos - (TICKER.monotonicNanos() - startNanos);
      }
      return done >= awaited;
    }
  }
}
