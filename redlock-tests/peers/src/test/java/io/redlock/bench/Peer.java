package io.redlock.bench;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;

/** Something that locks: this library, another one, or the least that the same work can cost. */
abstract class Peer implements AutoCloseable {

  /** One thread's way of locking and unlocking. */
  @FunctionalInterface
  interface Cycle {

    /** Locks and unlocks; returns how often, or 0 if the resource was not acquired. */
    int run() throws Exception;
  }

  private static final AtomicLong RESOURCES = new AtomicLong();

  final String name;
  private final String folder;

  /**
   * @param folder the beginning of the names of its resources
   */
  Peer(String name, String folder) {
    this.name = name;
    this.folder = folder;
  }

  /**
   * Returns a cycle per thread, each of a resource that nobody else wants. A peer that locks
   * batches by itself needs one thread only.
   */
  List<Cycle> cycles(int callers) {
    return IntStream.range(0, callers)
        .mapToObj(caller -> cycle(folder + RESOURCES.incrementAndGet(), Duration.ZERO))
        .map(Peer::certain)
        .toList();
  }

  private static Cycle certain(Cycle cycle) {
    return () -> {
      if (cycle.run() == 0) {
        throw new IllegalStateException("not locked, though nobody else wants it");
      }
      return 1;
    };
  }

  /** Returns a cycle of a resource, which it waits for so long at most. */
  abstract Cycle cycle(String resource, Duration wait);

  @Override
  public abstract void close();
}
