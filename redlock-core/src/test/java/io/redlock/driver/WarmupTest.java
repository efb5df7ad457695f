package io.redlock.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.AcquireResult;
import io.redlock.Lease;
import io.redlock.LeaseEnd;
import io.redlock.LeaseRequest;
import io.redlock.RedlockListener;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
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
      thread.join(TimeUnit.SECONDS.toMillis(20)); // it is about to end
      assertFalse(thread.isAlive(), thread::getName);
    }
  }

  /** Seen failing: the lease of the asynchronous call was lost when its service closed. */
  @Test
  void noLeaseIsLost() throws InterruptedException {
    AtomicInteger open = new AtomicInteger();
    Queue<LeaseEnd> losses = new ConcurrentLinkedQueue<>();
    RedlockListener counting =
        new RedlockListener() {
          @Override
          public void onAcquire(LeaseRequest request, AcquireResult result, Duration took) {
            open.incrementAndGet();
          }

          @Override
          public void onEnd(Lease lease, LeaseEnd end, Duration held) {
            if (end.lost()) {
              losses.add(end);
            }
            open.decrementAndGet();
          }
        };
    Warmup.run(nodes -> RedlockBuilder.over(nodes).listener(counting).start());
    long startNanos = System.nanoTime();
    while (open.get() != 0 && System.nanoTime() - startNanos < TimeUnit.SECONDS.toNanos(20)) {
      TimeUnit.MILLISECONDS.sleep(1); // callbacks are delivered after the end, too
    }
    assertEquals(0, open.get(), "each lease that began has ended");
    assertEquals(List.of(), List.copyOf(losses));
  }

  @Test
  void interruptStaysSet() {
    Thread.currentThread().interrupt();
    Warmup.run(RedlockBuilder::warm);
    assertTrue(Thread.interrupted());
  }
}
