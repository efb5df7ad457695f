package io.redlock.jedis.lane;

import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Work that is done in the order in which it was added, by one thread at a time and under no lock.
 * Thread-safe.
 */
final class InOrder<T> {

  private final Consumer<T> worker;
  private final ReentrantLock lock = new ReentrantLock();
  private final Queue<T> work = new ArrayDeque<>(); // guarded by lock
  private boolean working; // guarded by lock

  /**
   * @param worker does the work; if it throws, {@link #run} does, and the next one goes on
   */
  InOrder(Consumer<T> worker) {
    this.worker = worker;
  }

  void add(T piece) {
    lock.lock();
    try {
      work.add(piece);
    } finally {
      lock.unlock();
    }
  }

  /** Does the work that there is, unless another thread does it. */
  void run() {
    for (T next = next(true); next != null; next = next(false)) {
      try {
        worker.accept(next);
      } catch (Throwable e) {
        stop();
        throw e;
      }
    }
  }

  private void stop() {
    lock.lock();
    try {
      working = false;
    } finally {
      lock.unlock();
    }
  }

  private @Nullable T next(boolean isFirst) {
    lock.lock();
    try {
      if (isFirst && working) {
        return null;
      }
      T next = work.poll();
      working = next != null;
      return next;
    } finally {
      lock.unlock();
    }
  }
}
