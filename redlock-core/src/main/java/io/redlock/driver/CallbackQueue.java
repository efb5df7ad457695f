package io.redlock.driver;

import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * Callbacks that have not begun. The threads get leave to take one, not the callback itself, so
 * nothing is lost with a thread that could not start.
 */
final class CallbackQueue extends Agenda.Item {

  private final WorkerPool threads;
  private final Runnable leave = this::runNext;

  private @Nullable Task first; // guarded by this, as all that follows
  private @Nullable Task last;
  private int size;
  private int leaves; // at most as many as will be used

  CallbackQueue(WorkerPool threads, Agenda agenda) {
    super(agenda);
    this.threads = threads;
    threads.whenBroken(this::giveLeaveAgain);
    enter();
  }

  /** Links itself, so that it waits without memory. */
  abstract static class Task extends AtomicInteger implements Runnable {
    private static final long serialVersionUID = 1;

    private transient @Nullable Task next; // guarded by the queue
  }

  WorkerPool threads() {
    return threads;
  }

  /** Runs the task later, once, on one of the threads. Never throws. */
  void add(Task task) {
    synchronized (this) {
      if (last == null) {
        first = task;
      } else {
        last.next = task;
      }
      last = task;
      size++;
    }
    drain();
  }

  @Override
  boolean step(long nowNanos, long nowWallMicros) {
    synchronized (this) {
      if (leaves >= size) {
        return rests(nowNanos, Agenda.NEVER);
      }
      leaves++;
    }
    boolean isGiven = false;
    try {
      threads.execute(leave);
      isGiven = true;
    } finally {
      if (!isGiven) {
        giveLeaveAgain();
      }
    }
    return true;
  }

  private void giveLeaveAgain() {
    synchronized (this) {
      leaves = 0;
    }
    again();
  }

  private void runNext() {
    Task next = take();
    if (next != null) {
      next.run();
    }
  }

  private synchronized @Nullable Task take() {
    leaves = Math.max(0, leaves - 1);
    Task taken = first;
    if (taken != null) {
      first = taken.next;
      taken.next = null;
      last = first == null ? null : last;
      size--;
    }
    return taken;
  }

  @Override
  public String toString() {
    return "the threads for callbacks";
  }
}
