package io.redlock.scenes;

import io.redlock.spi.Scheduler;
import io.redlock.spi.Ticker;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.NavigableSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Virtual clocks and a scheduler, on one thread; others may only read, schedule and cancel, as the
 * work of a leader does when it ends. The monotonic clock starts below zero, so that every test
 * crosses zero: the origin of that clock is arbitrary.
 */
public class FakeTime implements Ticker, Scheduler {

  public static final long START_WALL_MICROS = 1_767_225_600_000_000L;

  private volatile long nanos = -1_000_000L;
  private volatile long wallNanos = START_WALL_MICROS * 1_000;
  private final AtomicLong sequence = new AtomicLong();
  private volatile boolean closed;
  private long shortUntilNanos = nanos;
  private Duration nextHoldUp = Duration.ZERO;
  private Runnable duringNextSchedule = () -> {};
  private Runnable whenRead = () -> {};
  private Consumer<Future<?>> whenAwaited = future -> {};
  private @Nullable Runnable memory; // taken with each use of this
  private final List<Runnable> checks = new ArrayList<>();
  private final NavigableSet<Task> tasks =
      new ConcurrentSkipListSet<>(
          Comparator.comparingLong(Task::dueNanos).thenComparingLong(Task::sequence));

  private record Task(Runnable body, long dueNanos, long sequence) {}

  @Override
  public long monotonicNanos() {
    whenRead.run();
    return nanos;
  }

  @Override
  public long wallMicros() {
    takeMemory();
    return wallNanos / 1_000;
  }

  /** Lets nothing be scheduled until so much time has passed. */
  public void shortOfMemory(Duration span) {
    shortUntilNanos = nanos + span.toNanos();
  }

  /** Runs an action, which may say that there is none, wherever memory may be taken. */
  public void whenMemoryIsTaken(@Nullable Runnable action) {
    memory = action;
  }

  private void takeMemory() {
    if (memory != null) {
      memory.run();
    }
  }

  @Override
  public void watch(Runnable check) {
    checks.add(check);
  }

  /** Lets time pass second by second; each ends with the checks. */
  public void passWithChecks(Duration span) {
    for (long second = 0; second < span.toSeconds(); second++) {
      pass(Duration.ofSeconds(1));
      checks.forEach(this::run);
    }
  }

  /** Runs a task or check as a scheduler does, which survives what it throws for want of memory. */
  protected void run(Runnable task) {
    try {
      task.run();
    } catch (RuntimeException | OutOfMemoryError e) {
      if (memory == null && nanos - shortUntilNanos >= 0) {
        throw e;
      }
    }
  }

  @Override
  public Cancellable schedule(Runnable body, long delayNanos) {
    takeMemory();
    if (nanos - shortUntilNanos < 0) {
      throw new OutOfMemoryError("memory is short");
    }
    if (closed) {
      return () -> {};
    }
    pause(nextHoldUp);
    nextHoldUp = Duration.ZERO;
    Runnable meanwhile = duringNextSchedule;
    duringNextSchedule = () -> {};
    meanwhile.run();
    Task task = new Task(body, nanos + Math.max(0, delayNanos), sequence.getAndIncrement());
    tasks.add(task);
    return () -> tasks.remove(task);
  }

  @Override
  public void close() {
    closed = true;
    tasks.clear();
  }

  /** Runs an action of another thread while the next task is being scheduled. */
  public void duringNextSchedule(Runnable meanwhile) {
    duringNextSchedule = meanwhile;
  }

  /** Runs an action of another thread whenever the clock is read. */
  public void whenRead(Runnable meanwhile) {
    whenRead = meanwhile;
  }

  /** Runs an action of the machine when a thread is about to wake up with its result. */
  public void whenAwaited(Consumer<Future<?>> meanwhile) {
    whenAwaited = meanwhile;
  }

  @Override
  public <T> T await(CompletableFuture<T> future) throws InterruptedException {
    whenAwaited.accept(future);
    return Scheduler.super.await(future);
  }

  /** Loses all tasks, as a thread does that ends before it runs what it took. */
  public void loseTasks() {
    tasks.clear();
  }

  public int tasks() {
    return tasks.size();
  }

  /** Lets time pass; each task runs when it becomes due. */
  public void pass(Duration span) {
    long endNanos = nanos + span.toNanos();
    for (Task next = takeDue(endNanos); next != null; next = takeDue(endNanos)) {
      jump(Math.max(0, next.dueNanos - nanos));
      run(next.body);
    }
    jump(Math.max(0, endNanos - nanos)); // a task may have let time pass itself
  }

  /** Takes the first task that is due by then; others may cancel it meanwhile. */
  private @Nullable Task takeDue(long endNanos) {
    for (Task first : tasks) {
      if (first.dueNanos > endNanos) {
        return null;
      }
      if (tasks.remove(first)) {
        return first;
      }
    }
    return null;
  }

  public void passMillis(long millis) {
    pass(Duration.ofMillis(millis));
  }

  /** Lets time pass without running tasks, as if the process were paused. */
  public void pause(Duration span) {
    jump(span.toNanos());
  }

  /** Pauses the process just before it schedules its next task. */
  public void pauseBeforeScheduling(Duration span) {
    nextHoldUp = span;
  }

  /** Moves the wall clock alone, as if it were set or the machine were suspended. */
  public void stepWall(Duration by) {
    wallNanos += by.toNanos();
  }

  private void jump(long byNanos) {
    nanos += byNanos;
    wallNanos += byNanos;
  }
}
