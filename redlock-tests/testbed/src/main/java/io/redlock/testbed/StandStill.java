package io.redlock.testbed;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/** Watches for how long this process, or all of its machine, stood still. */
public final class StandStill implements AutoCloseable {

  private static final long PAUSE_NANOS = 5_000_000;

  private final AtomicLong longestNanos = new AtomicLong();
  private final Thread watch = new Thread(this::watch, "stand-still");
  private volatile long ranNanos = System.nanoTime();
  private volatile boolean isOver;

  private StandStill() {
    watch.setDaemon(true);
    watch.start();
  }

  /** Begins to watch. */
  public static StandStill watching() {
    return new StandStill();
  }

  private void watch() {
    while (!isOver) {
      LockSupport.parkNanos(PAUSE_NANOS);
      long nowNanos = System.nanoTime();
      longestNanos.accumulateAndGet(nowNanos - ranNanos - PAUSE_NANOS, Math::max);
      ranNanos = nowNanos;
    }
  }

  /** The longest time until now for which no thread was run that wanted to. */
  public Duration longest() {
    long sinceNanos = System.nanoTime() - ranNanos; // the caller may run again before the watch
    return Duration.ofNanos(Math.max(longestNanos.get(), sinceNanos - PAUSE_NANOS));
  }

  @Override
  public void close() {
    isOver = true;
  }
}
