package io.redlock.testbed;

import io.redlock.AcquireResult;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import io.redlock.RedlockListener;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;

/** A listener that blocks each thread that the lock service lends to listeners, until the end. */
public final class BlockingListener implements RedlockListener, AutoCloseable {

  private static final int THREADS = 4;

  private final CountDownLatch end = new CountDownLatch(1);
  private final CountDownLatch blocked = new CountDownLatch(THREADS);

  @Override
  public void onAcquire(LeaseRequest request, AcquireResult result, Duration took) {
    blocked.countDown();
    try {
      end.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Acquires until all threads are blocked. */
  public void blockAll(Redlock redlock, String prefix) throws InterruptedException {
    for (int i = 0; i < THREADS; i++) {
      redlock.acquire(prefix + i, Duration.ofSeconds(10), Duration.ofMinutes(5));
    }
    blocked.await();
  }

  @Override
  public void close() {
    end.countDown();
  }
}
