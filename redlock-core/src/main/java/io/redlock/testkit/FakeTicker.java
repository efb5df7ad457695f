package io.redlock.testkit;

import io.redlock.spi.Ticker;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;

/** Both clocks by hand: time passes on both together, or steps on one alone. Thread-safe. */
public final class FakeTicker implements Ticker {

  /** Where the wall clock starts: 2026-01-01T00:00:00Z. */
  public static final long START_WALL_MICROS = 1_767_225_600_000_000L;

  private final AtomicLong monotonicNanos = new AtomicLong(1_000_000_000L);
  private final AtomicLong wallNanos = new AtomicLong(START_WALL_MICROS * 1_000);

  @Override
  public long monotonicNanos() {
    return monotonicNanos.get();
  }

  @Override
  public long wallMicros() {
    return Math.floorDiv(wallNanos.get(), 1_000L);
  }

  /** Time passes. */
  public void advance(Duration by) {
    advanceNanos(by.toNanos());
  }

  /** Somebody sets the wall clock, forward or back. */
  public void stepWall(Duration by) {
    wallNanos.addAndGet(by.toNanos());
  }

  /** The machine sleeps: the monotonic clock stands still while the world, and the wall, go on. */
  public void suspend(Duration by) {
    stepWall(by);
  }

  void advanceNanos(long nanos) {
    if (nanos < 0) {
      throw new IllegalArgumentException("time passes forward, not by " + nanos + " ns");
    }
    monotonicNanos.addAndGet(nanos);
    wallNanos.addAndGet(nanos);
  }
}
