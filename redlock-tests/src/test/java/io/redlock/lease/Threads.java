package io.redlock.lease;

import java.util.List;

/** The threads of lock services. */
final class Threads {

  private Threads() {}

  /** The names of all live threads of all lock services in this JVM, sorted. */
  static List<String> ofLockServices() {
    return Thread.getAllStackTraces().keySet().stream()
        .map(Thread::getName)
        .filter(name -> name.startsWith("redlock-"))
        .sorted()
        .toList();
  }

  /** How many threads there are, but for those that the JDK keeps for later use. */
  static long count() {
    return Thread.getAllStackTraces().keySet().stream()
        .map(Thread::getName)
        .filter(name -> !name.startsWith("ForkJoinPool.commonPool"))
        .filter(name -> !name.startsWith("CompletableFutureDelayScheduler"))
        .filter(name -> !name.startsWith("process reaper"))
        .count();
  }
}
