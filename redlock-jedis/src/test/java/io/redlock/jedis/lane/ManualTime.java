package io.redlock.jedis.lane;

import io.redlock.spi.Scheduler;
import io.redlock.spi.Ticker;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** Time that passes when the test says so. The fakes of the core are not exported to here. */
final class ManualTime implements Ticker, Scheduler {

  private static final long WALL_MICROS = 1_800_000_000_000_000L;

  private record Task(Runnable body, long dueNanos, long number) {}

  private final TreeSet<Task> tasks =
      new TreeSet<>(
          Comparator.comparingLong(Task::dueNanos)
              .thenComparingLong(Task::number)); // guarded by this
  private long numbers; // guarded by this
  private long nowNanos = 1_000_000_000_000L; // guarded by this

  /** What the next call of {@link #schedule} throws. */
  final AtomicReference<@Nullable Throwable> scheduleThrows = new AtomicReference<>();

  /** What the next call of {@link #wallMicros} throws. */
  final AtomicReference<@Nullable Throwable> wallThrows = new AtomicReference<>();

  /** What every call that needs memory throws, while it is set. */
  volatile @Nullable Throwable shortage;

  /** Called whenever a task is scheduled. */
  Runnable onSchedule = () -> {};

  private final List<Runnable> watches = new ArrayList<>();

  @Override
  public synchronized long monotonicNanos() {
    return nowNanos;
  }

  @Override
  public synchronized long wallMicros() {
    FakeNet.raise(wallThrows.getAndSet(null));
    FakeNet.raise(shortage);
    return WALL_MICROS + nowNanos / 1_000;
  }

  @Override
  public synchronized Cancellable schedule(Runnable task, long delayNanos) {
    FakeNet.raise(scheduleThrows.getAndSet(null));
    FakeNet.raise(shortage);
    Task entry = new Task(task, nowNanos + Math.max(0, delayNanos), numbers++);
    tasks.add(entry);
    onSchedule.run();
    return () -> cancel(entry);
  }

  @Override
  public void watch(Runnable check) {
    watches.add(check);
  }

  /** Lets seconds pass, with the checks that come about once a second. */
  void passSeconds(int seconds) {
    for (int i = 0; i < seconds; i++) {
      passMillis(1_000);
      watches.forEach(Runnable::run);
    }
  }

  private synchronized void cancel(Task task) {
    tasks.remove(task);
  }

  synchronized int pending() {
    return tasks.size();
  }

  @Override
  public synchronized void close() {
    tasks.clear();
  }

  void passMillis(long millis) {
    long endNanos = monotonicNanos() + millis * 1_000_000;
    for (Task next = takeBefore(endNanos); next != null; next = takeBefore(endNanos)) {
      next.body.run();
    }
    synchronized (this) {
      nowNanos = endNanos;
    }
  }

  private synchronized @Nullable Task takeBefore(long endNanos) {
    if (tasks.isEmpty() || tasks.first().dueNanos > endNanos) {
      return null;
    }
    Task next = tasks.first();
    tasks.remove(next);
    nowNanos = Math.max(nowNanos, next.dueNanos);
    return next;
  }
}
