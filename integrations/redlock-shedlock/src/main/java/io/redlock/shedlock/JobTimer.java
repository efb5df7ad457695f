package io.redlock.shedlock;

import io.redlock.spi.LibraryThread;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Releases holds whose time has come. One thread, which ends when there has been no hold for a
 * second. While memory is short it tries again; once a hold was added, nothing else takes memory.
 */
final class JobTimer {

  private static final long IDLE_NANOS = 1_000_000_000;
  private static final long PATIENCE_NANOS = 50_000_000;

  private final ThreadFactory threads = LibraryThread.named("redlock-shedlock");
  private final Set<JobHold> holds = new HashSet<>(); // guarded by this
  private boolean runs; // guarded by this
  private long idleSinceNanos; // guarded by this

  /** Adds a hold, or throws and does not. */
  synchronized void add(JobHold hold) {
    if (!runs) {
      threads.newThread(this::work).start();
      runs = true;
      idleSinceNanos = System.nanoTime();
    }
    holds.add(hold);
    notify();
  }

  private synchronized void remove(JobHold hold) {
    holds.remove(hold);
    idleSinceNanos = System.nanoTime();
  }

  /** Has the thread look at the times of holds again. */
  synchronized void moved() {
    notify();
  }

  private void work() {
    boolean goesOn = true;
    while (goesOn) {
      try {
        JobHold due = next();
        goesOn = due != null;
        if (due != null && due.releaseIfOver()) {
          remove(due);
        }
      } catch (InterruptedException | RuntimeException | Error e) { // memory is short
        LockSupport.parkNanos(PATIENCE_NANOS);
      }
    }
  }

  /** Waits for the hold whose time came first; null if there has been no hold for long. */
  private synchronized @Nullable JobHold next() throws InterruptedException {
    while (true) {
      long nowNanos = System.nanoTime();
      JobHold first = null;
      long leftNanos = holds.isEmpty() ? IDLE_NANOS - (nowNanos - idleSinceNanos) : Long.MAX_VALUE;
      for (JobHold hold : holds) {
        long ofHold = hold.leftNanos(nowNanos);
        if (ofHold < leftNanos) {
          first = hold;
          leftNanos = ofHold;
        }
      }
      if (leftNanos <= 0) {
        runs = first != null;
        return first;
      }
      TimeUnit.NANOSECONDS.timedWait(this, leftNanos);
    }
  }
}
