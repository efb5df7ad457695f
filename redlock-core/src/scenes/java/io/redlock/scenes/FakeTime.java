package io.redlock.scenes;

import io.redlock.spi.Scheduler;
import io.redlock.spi.Ticker;
import java.time.Duration;
import java.util.Comparator;
import java.util.NavigableSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Virtual clocks and a scheduler, on one thread; others may only read, set and cancel timers, as
 * the work of a leader does when it ends. The monotonic clock starts below zero, so that every test
 * crosses zero: the origin of that clock is arbitrary.
 */
public class FakeTime implements Ticker, Scheduler {

  public static final long START_WALL_MICROS = 1_767_225_600_000_000L;

  private volatile long nanos = -1_000_000L;
  private volatile long wallNanos = START_WALL_MICROS * 1_000;
  private final AtomicLong sequence = new AtomicLong();
  private volatile boolean closed;
  private Runnable whenRead = () -> {};
  private Consumer<Future<?>> whenAwaited = future -> {};
  private @Nullable Runnable memory; // taken with each use of this
  private final NavigableSet<Task> tasks =
      new ConcurrentSkipListSet<>(
          Comparator.comparingLong(Task::dueNanos).thenComparingLong(Task::sequence));

  private record Task(FakeTimer timer, long dueNanos, long sequence) {}

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

  /** Runs an action, which may say that there is none, wherever memory may be taken. */
  public void whenMemoryIsTaken(@Nullable Runnable action) {
    memory = action;
  }

  private void takeMemory() {
    if (memory != null) {
      memory.run();
    }
  }

  private void run(Task task) {
    try {
      task.timer.body.run();
    } catch (RuntimeException | OutOfMemoryError e) {
      if (!mayThrow()) {
        throw e;
      }
      task.timer.again(task);
    }
  }

  /** Returns true if tasks may throw, as they do for want of memory. */
  protected boolean mayThrow() {
    return memory != null;
  }

  @Override
  public Timer timer(Runnable task) {
    takeMemory();
    return new FakeTimer(task);
  }

  private final class FakeTimer implements Timer {
    private final Runnable body;
    private @Nullable Task task; // guarded by this; the last one

    private FakeTimer(Runnable body) {
      this.body = body;
    }

    @Override
    public synchronized void set(long atNanos) {
      cancel();
      if (!closed) {
        task = new Task(this, atNanos, sequence.getAndIncrement());
        tasks.add(task);
      }
    }

    private synchronized void again(Task failed) {
      if (task == failed) { // else it was set meanwhile
        set(nanos + 50_000_000);
      }
    }

    @Override
    public synchronized void cancel() {
      if (task != null) {
        tasks.remove(task);
      }
    }
  }

  @Override
  public void close() {
    closed = true;
    tasks.clear();
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

  public int tasks() {
    return tasks.size();
  }

  /** Lets time pass; each task runs when it becomes due. */
  public void pass(Duration span) {
    long endNanos = nanos + span.toNanos();
    for (Task next = takeDue(endNanos); next != null; next = takeDue(endNanos)) {
      jump(Math.max(0, next.dueNanos - nanos));
      run(next);
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

  /** Moves the wall clock alone, as if it were set or the machine were suspended. */
  public void stepWall(Duration by) {
    wallNanos += by.toNanos();
  }

  private void jump(long byNanos) {
    nanos += byNanos;
    wallNanos += byNanos;
  }
}
