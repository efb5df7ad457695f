package io.redlock.driver;

import io.redlock.spi.Ticker;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * Callbacks that have not begun, and threads which run them. A thread takes a callback when it runs
 * it, so nothing is lost with one that could not start. One starts when all others are busy, and
 * ends when it is idle for a while; one that waits is replaced meanwhile.
 */
final class CallbackThreads extends Agenda.Item {

  static final int MOST = 4; // threads, without those that are replaced and those of listeners
  private static final int MOST_REPLACED = 256;
  private static final long PATIENCE_NANOS = 10_000_000;
  private static final Ticker TICKER = Ticker.system();

  private final ThreadFactory factory; // of threads that inherit nothing from the caller
  private final int most;
  private final long idleMillis; // how long a thread waits for a task
  private volatile long longNanos = Agenda.NEVER; // for a task

  private @Nullable Task first; // guarded by this, as all that follows
  private @Nullable Task last;
  private int size;
  private final List<Worker> workers = new ArrayList<>();
  private int free; // of the workers: they will take a task, or end

  /** Creates threads that are so many at most, besides those that are replaced. */
  CallbackThreads(ThreadFactory factory, int most, long idleMillis, Agenda agenda) {
    super(agenda);
    this.factory = factory;
    this.most = most;
    this.idleMillis = idleMillis;
    enter();
  }

  /** Links itself, so that it waits without memory. */
  abstract static class Task extends AtomicInteger implements Runnable {
    private static final long serialVersionUID = 1;

    private transient @Nullable Task next; // guarded by the threads
  }

  /** Takes notice that no task should run for so long. */
  void expect(long nanos) {
    longNanos = nanos;
  }

  /** Runs the task later, once. Never throws. */
  void add(Task task) {
    synchronized (this) {
      if (last == null) {
        first = task;
      } else {
        last.next = task;
      }
      last = task;
      size++;
      notify();
    }
    drain();
  }

  @Override
  boolean step(long nowNanos, long nowWallMicros) {
    Worker next;
    synchronized (this) {
      boolean isWatching = warnOfSlow();
      if (size <= free) {
        return rests(nowNanos, isWatching ? longNanos : Agenda.NEVER);
      }
      if (workers.size() - replaced() >= most) {
        return rests(nowNanos, PATIENCE_NANOS);
      }
      next = new Worker();
      workers.add(next);
      free++;
    }
    boolean isStarted = false;
    try {
      factory.newThread(next).start();
      isStarted = true;
    } finally {
      if (!isStarted) {
        end(next);
      }
    }
    return true;
  }

  private int replaced() {
    assert Thread.holdsLock(this);
    int waiting = 0;
    for (Worker each : workers) {
      waiting += each.hasRunFor(PATIENCE_NANOS) && each.waits() ? 1 : 0;
    }
    return Math.min(waiting, MOST_REPLACED);
  }

  private synchronized void end(Worker worker) {
    free -= worker.task == null ? 1 : 0;
    workers.remove(worker);
  }

  /** Takes the next task; returns null if the worker is to end. */
  private synchronized @Nullable Task take(Worker worker) {
    free += worker.task == null ? 0 : 1;
    worker.task = null;
    awaitTask();
    Task taken = first;
    if (taken != null) {
      first = taken.next;
      taken.next = null;
      last = first == null ? null : last;
      size--;
      free--;
      worker.task = taken;
      worker.sinceNanos = TICKER.monotonicNanos();
    }
    return taken;
  }

  private void awaitTask() {
    assert Thread.holdsLock(this);
    long startNanos = TICKER.monotonicNanos();
    long leftMillis = idleMillis;
    while (first == null && leftMillis > 0) {
      try {
        wait(leftMillis);
      } catch (InterruptedException e) {
        Log.LOG.debug("{} was interrupted while it had nothing to do", Thread.currentThread());
      }
      leftMillis = idleMillis - (TICKER.monotonicNanos() - startNanos) / 1_000_000;
    }
  }

  /** Warns of each task that runs for too long, once. Returns true if there may be others soon. */
  private boolean warnOfSlow() {
    assert Thread.holdsLock(this);
    boolean isWatching = size > 0;
    for (Worker each : workers) {
      Thread thread = each.thread;
      if (thread != null && each.task != each.told && each.hasRunFor(longNanos)) {
        each.told = each.task;
        Log.LOG.warn(
            "A callback on {} runs for longer than a ttl, and delays others: {}",
            thread.getName(),
            List.of(thread.getStackTrace()));
      }
      isWatching |= each.task != null && each.task != each.told;
    }
    return isWatching;
  }

  /** Takes one task after the other, on a thread. Guarded by the threads. */
  private final class Worker implements Runnable {
    private @Nullable Thread thread; // null until it runs
    private @Nullable Task task; // null while it is free
    private @Nullable Task told; // of which a line of the log tells
    private long sinceNanos;

    @Override
    public void run() {
      synchronized (CallbackThreads.this) {
        thread = Thread.currentThread();
      }
      try {
        for (Task next = take(this); next != null; next = take(this)) {
          next.run();
          Thread.interrupted(); // an interrupt that user code left must not reach other user code
        }
      } finally {
        end(this);
        drain();
      }
    }

    private boolean hasRunFor(long nanos) {
      return task != null && TICKER.monotonicNanos() - sinceNanos > nanos;
    }

    private boolean waits() {
      Thread.State state = thread == null ? Thread.State.NEW : thread.getState();
      return state == Thread.State.WAITING
          || state == Thread.State.TIMED_WAITING
          || state == Thread.State.BLOCKED;
    }
  }

  @Override
  public String toString() {
    return "the threads for callbacks";
  }
}
