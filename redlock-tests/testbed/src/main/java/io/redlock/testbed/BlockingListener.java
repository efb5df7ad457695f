package io.redlock.testbed;

import io.redlock.AcquireResult;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import io.redlock.RedlockListener;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;

/** A listener that blocks the thread that the lock service lends to it, until the end. */
public final class BlockingListener implements RedlockListener, AutoCloseable {

  private final CountDownLatch end = new CountDownLatch(1);
  private final CountDownLatch blocked = new CountDownLatch(1);

  @Override
  public void onAcquire(LeaseRequest request, AcquireResult result, Duration took) {
    blocked.countDown();
    try {
      end.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Acquires, and waits until the thread is blocked. */
  public void blockAll(Redlock redlock, String prefix) throws InterruptedException {
    redlock.acquire(prefix, Duration.ofSeconds(10), Duration.ofMinutes(5));
    blocked.await();
  }

  @Override
  public void close() {
    end.countDown();
  }
}
