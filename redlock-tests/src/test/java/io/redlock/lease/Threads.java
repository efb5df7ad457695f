package io.redlock.lease;

import java.util.Set;
import java.util.stream.Collectors;

/** The threads of lock services. */
final class Threads {

  private Threads() {}

  /** All live threads of all lock services in this JVM. */
  static Set<Thread> ofLockServices() {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(thread -> thread.getName().startsWith("redlock-"))
        .collect(Collectors.toSet());
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
