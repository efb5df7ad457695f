package io.redlock.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.AcquireResult;
import io.redlock.ExtendResult;
import io.redlock.Lease;
import io.redlock.LeaseEnd;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import io.redlock.RedlockListener;
import io.redlock.spi.LockNode;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/**
 * What the first service of a JVM does, seen through a listener of the service that it warms up.
 */
class WarmupTest {

  private final AtomicInteger built = new AtomicInteger();
  private final AtomicInteger acquired = new AtomicInteger();
  private final AtomicInteger extended = new AtomicInteger();
  private final AtomicInteger ended = new AtomicInteger();
  private final Queue<LeaseEnd> losses = new ConcurrentLinkedQueue<>();

  private Redlock observed(List<LockNode> nodes) {
    built.incrementAndGet();
    return new RedlockBuilder()
        .over(nodes)
        .nodeTimeout(Duration.ofSeconds(4)) // for a busy machine
        .listener(new Observer())
        .start();
  }

  private final class Observer implements RedlockListener {
    @Override
    public void onAcquire(LeaseRequest request, AcquireResult result, Duration took) {
      if (result.outcome() == AcquireResult.Outcome.ACQUIRED) {
        acquired.incrementAndGet();
      }
    }

    @Override
    public void onExtend(Lease lease, ExtendResult result, Duration took) {
      if (result.outcome() == ExtendResult.Outcome.EXTENDED) {
        extended.incrementAndGet();
      }
    }

    @Override
    public void onEnd(Lease lease, LeaseEnd end, Duration held) {
      if (end.lost()) {
        losses.add(end);
      }
      ended.incrementAndGet();
    }
  }

  @Test
  void twoLeasesAreAcquiredAndReleasedOneIsExtended() throws InterruptedException {
    new Warmup().once(this::observed);
    long startNanos = System.nanoTime();
    while (acquired.get() + extended.get() + ended.get() < 5
        && System.nanoTime() - startNanos < TimeUnit.SECONDS.toNanos(60)) {
      TimeUnit.MILLISECONDS.sleep(1); // callbacks are delivered after the end, too
    }
    assertEquals(2, acquired.get(), "acquired");
    assertEquals(1, extended.get(), "extended");
    assertEquals(2, ended.get(), "each lease that began has ended");
    // Seen failing: the lease of the asynchronous call was lost when its service closed.
    assertEquals(List.of(), List.copyOf(losses));
  }

  @Test
  void secondServiceIsNotWarmedUp() {
    Warmup warmup = new Warmup();
    warmup.once(this::observed);
    warmup.once(this::observed);
    assertEquals(1, built.get());
  }

  private static Set<Thread> threads() {
    Set<Thread> threads = new HashSet<>(Thread.getAllStackTraces().keySet());
    threads.removeIf(thread -> !thread.getName().startsWith("redlock-"));
    return threads;
  }

  @Test
  void noThreadIsLeftBehind() throws InterruptedException {
    Set<Thread> before = threads();
    new Warmup().once(RedlockBuilder::warm);
    Set<Thread> left = threads();
    left.removeAll(before);
    for (Thread thread : left) {
      thread.join(TimeUnit.SECONDS.toMillis(60)); // it is about to end
      assertFalse(thread.isAlive(), thread::getName);
    }
  }

  @Test
  void interruptStaysSet() {
    Thread.currentThread().interrupt();
    new Warmup().once(RedlockBuilder::warm);
    assertTrue(Thread.interrupted());
  }
}
