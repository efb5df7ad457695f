package io.redlock.bench;

import java.util.List;

/** Something that locks: this library, another one, or the least that the same work can cost. */
interface Peer extends AutoCloseable {

  /** One thread's way of locking and unlocking. */
  @FunctionalInterface
  interface Cycle {
    /**
     * Locks and unlocks a resource that nobody else wants.
     *
     * @return how often
     */
    int run() throws Exception;
  }

  String name();

  /** One cycle per thread; what locks batches by itself needs one thread only. */
  List<Cycle> cycles(int callers);

  @Override
  void close();
}
