package io.redlock.testkit;

import io.redlock.spi.Ticker;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;

/** Clocks that a test moves: both together, or the wall clock alone. Thread-safe. */
public final class FakeTicker implements Ticker {

  /** The first time of the wall clock: 2026-01-01T00:00:00Z. */
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

  /** Lets time pass on both clocks. */
  public void advance(Duration by) {
    advanceNanos(by.toNanos());
  }

  /** Sets the wall clock forward or back, or suspends the machine: then only that one goes on. */
  public void stepWall(Duration by) {
    wallNanos.addAndGet(by.toNanos());
  }

  void advanceNanos(long nanos) {
    if (nanos < 0) {
      throw new IllegalArgumentException("time passes forward, not by " + nanos + " ns");
    }
    monotonicNanos.addAndGet(nanos);
    wallNanos.addAndGet(nanos);
  }
}
