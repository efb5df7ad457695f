package io.redlock.jedis.lane;

import static io.redlock.jedis.lane.LaneSettings.LOG;

import java.util.LinkedList;
import java.util.Queue;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Work that is done in the order in which it was added, by one thread at a time and under no lock:
 * the reports of a machine, which may block nobody but each other. Thread-safe.
 */
final class InOrder {

  private final String node;
  private final Consumer<Runnable> effects;
  private final ReentrantLock lock = new ReentrantLock();

  /** Guarded by lock. An {@code ArrayDeque} would lose work that it has no memory to grow for. */
  private final Queue<Runnable> work = new LinkedList<>();

  private boolean working; // guarded by lock

  /**
   * @param effects takes the doing of what was added
   */
  InOrder(String node, Consumer<Runnable> effects) {
    this.node = node;
    this.effects = effects;
  }

  void add(Runnable piece) {
    lock.lock();
    try {
      work.add(piece);
    } finally {
      lock.unlock();
    }
    effects.accept(this::run);
  }

  /** Does the work that there is, unless another thread does it. */
  void run() {
    for (Runnable next = next(true); next != null; next = next(false)) {
      try {
        next.run();
      } catch (Throwable e) { // the next piece goes on
        LOG.error("node {}: an observer threw, which it must not", node, e);
      }
    }
  }

  private @Nullable Runnable next(boolean isFirst) {
    lock.lock();
    try {
      if (isFirst && working) {
        return null;
      }
      Runnable next = work.poll();
      working = next != null;
      return next;
    } finally {
      lock.unlock();
    }
  }
}
