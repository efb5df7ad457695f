package io.redlock.spi;

import java.time.Duration;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A log that never holds up its caller. Appenders are user code: a full pipe or a hung disk may
 * block them for minutes, and a lease must not wait for that. One thread of the library writes the
 * lines, in their order, and is there only while there are some. If a thousand lines wait, further
 * ones are dropped and counted, which is said after the next one that is written.
 *
 * <p>No method blocks or throws, not even without memory. Thread-safe.
 */
public final class BackgroundLog {

  /** The largest number of lines that wait. */
  static final int MOST_WAITING = 1_000;

  private static final long DEBUG_ASKED_AGAIN_NANOS = TimeUnit.SECONDS.toNanos(1);
  private static final Ticker TICKER = Ticker.system();
  private static final BlockingQueue<Runnable> LINES = new LinkedBlockingQueue<>(MOST_WAITING);
  private static final AtomicLong DROPPED = new AtomicLong(); // since the last line that says so
  private static final Runnable NOTHING = () -> {};
  static final ThreadPoolExecutor WRITER =
      new ThreadPoolExecutor(
          0,
          1,
          10, // so that lines which come together start one thread
          TimeUnit.MILLISECONDS,
          LINES,
          LibraryThread.named("redlock-log"),
          (line, full) -> DROPPED.addAndGet(line == NOTHING ? 0 : 1));

  private final Logger logger;
  private final BiConsumer<String, @Nullable Object[]> errors;
  private volatile boolean isDebugOff; // as the logger said last
  private volatile long debugAskedNanos;

  private BackgroundLog(Logger logger) {
    this.logger = logger;
    this.errors = logger::error;
  }

  /** Returns the log of this name, which users configure. */
  public static BackgroundLog of(String name) {
    return new BackgroundLog(LoggerFactory.getLogger(name));
  }

  /** Logs for developers. Costs almost nothing if the logger has this level off. */
  public void debug(String format, @Nullable Object... arguments) {
    if (!isDebugOff || TICKER.monotonicNanos() - debugAskedNanos > DEBUG_ASKED_AGAIN_NANOS) {
      add(this::writeIfOn, format, arguments);
    }
  }

  private void writeIfOn(String format, @Nullable Object[] arguments) {
    debugAskedNanos = TICKER.monotonicNanos();
    isDebugOff = !logger.isDebugEnabled();
    logger.debug(format, arguments);
  }

  /** Logs a normal event. The text of the arguments is made later, and by another thread. */
  public void info(String format, @Nullable Object... arguments) {
    add(logger::info, format, arguments);
  }

  /**
   * Logs what an operator should look at. The text of the arguments is made later, and by another
   * thread.
   */
  public void warn(String format, @Nullable Object... arguments) {
    add(logger::warn, format, arguments);
  }

  /** Logs a failure. Its caller needs no memory, not even for an array. */
  public void error(String message, Throwable why) {
    error(message, null, why);
  }

  /** Logs a failure, likewise. The text of the argument is made later, and by another thread. */
  public void error(String format, @Nullable Object argument, Throwable why) {
    try {
      add(errors, format, argument == null ? new Object[] {why} : new Object[] {argument, why});
    } catch (RuntimeException | Error e) {
      DROPPED.incrementAndGet();
    }
  }

  private void add(
      BiConsumer<String, @Nullable Object[]> level, String format, @Nullable Object[] arguments) {
    Runnable line = null;
    try {
      line = () -> write(level, format, arguments);
      WRITER.execute(line);
    } catch (Error e) { // mostly no memory: a line is not worth a lease
      if (line == null || !LINES.contains(line)) { // else the next one starts a thread
        DROPPED.incrementAndGet();
      }
    }
  }

  private void write(
      BiConsumer<String, @Nullable Object[]> level, String format, @Nullable Object[] arguments) {
    try {
      level.accept(format, arguments);
      long dropped = DROPPED.getAndSet(0);
      if (dropped > 0) {
        logger.warn("{} log lines were dropped: the log was blocked, or memory was short", dropped);
      }
    } catch (RuntimeException | Error e) { // of an appender: there is no log to tell
      Thread current = Thread.currentThread();
      current.getUncaughtExceptionHandler().uncaughtException(current, e);
    }
  }

  /**
   * Waits until all lines until now are written, of all logs. An interrupt ends the wait and stays
   * set.
   *
   * @param most how long to wait: a log that is blocked writes nothing
   * @return true if they are written
   */
  public static boolean flush(Duration most) {
    long endNanos = TICKER.monotonicNanos() + most.toNanos();
    CountDownLatch written = new CountDownLatch(1);
    try {
      if (!LINES.offer(written::countDown, most.toNanos(), TimeUnit.NANOSECONDS)) {
        return false;
      }
      WRITER.execute(NOTHING); // starts a thread if there is none
      return written.await(endNanos - TICKER.monotonicNanos(), TimeUnit.NANOSECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    } catch (Error e) {
      return false; // no thread could be started
    }
  }
}
