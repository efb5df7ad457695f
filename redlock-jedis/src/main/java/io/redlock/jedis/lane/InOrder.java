package io.redlock.jedis.lane;

import static io.redlock.jedis.lane.LaneSettings.LOG;

import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;

/**
 * Work that is done in the order in which it was added, by one thread at a time and under no lock:
 * the reports of a machine, which may block nobody but each other. Thread-safe.
 */
final class InOrder {

  private final String node;
  private final Consumer<Runnable> effects;
  private final Queue<Runnable> work = new ConcurrentLinkedQueue<>();
  private final AtomicBoolean working = new AtomicBoolean();

  /**
   * @param effects takes the doing of what was added
   */
  InOrder(String node, Consumer<Runnable> effects) {
    this.node = node;
    this.effects = effects;
  }

  void add(Runnable piece) {
    work.add(piece);
    effects.accept(this::run);
  }

  /** Does the work that there is, unless another thread does it. */
  void run() {
    while (!work.isEmpty() && working.compareAndSet(false, true)) {
      for (Runnable next = work.poll(); next != null; next = work.poll()) {
        try {
          next.run();
        } catch (Throwable e) { // the next piece goes on
          LOG.error("node {}: an observer threw, which it must not", node, e);
        }
      }
      working.set(false);
    }
  }
}
