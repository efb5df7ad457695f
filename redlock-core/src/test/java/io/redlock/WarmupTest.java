package io.redlock;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class WarmupTest {

  private static Set<Thread> threads() {
    Set<Thread> threads = new HashSet<>(Thread.getAllStackTraces().keySet());
    threads.removeIf(thread -> !thread.getName().startsWith("redlock-"));
    return threads;
  }

  @Test
  void noThreadIsLeftBehind() throws InterruptedException {
    Set<Thread> before = threads();
    Warmup.run(RedlockBuilder::warm);
    Set<Thread> left = threads();
    left.removeAll(before);
    for (Thread thread : left) {
      thread.join(TimeUnit.SECONDS.toMillis(20)); // it is on its way out
      assertFalse(thread.isAlive(), thread::getName);
    }
  }

  @Test
  void interruptStaysSet() {
    Thread.currentThread().interrupt();
    Warmup.run(RedlockBuilder::warm);
    assertTrue(Thread.interrupted());
  }
}
