package io.redlock.testbed;

import io.redlock.AcquireResult;
import io.redlock.ExtendResult;
import io.redlock.Lease;
import io.redlock.LeaseEnd;
import io.redlock.LeaseRequest;
import io.redlock.NodeStatus;
import io.redlock.Redlock;
import io.redlock.RedlockListener;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;

/** A listener that blocks every thread that the lock service lends to it, until the end. */
public class BlockingListener implements RedlockListener, AutoCloseable {

  private final CountDownLatch end = new CountDownLatch(1);
  private final AtomicInteger blocked = new AtomicInteger();

  /** Blocks the calling thread. */
  public final void block() {
    blocked.incrementAndGet();
    Unchecked.call(() -> end.await());
  }

  /** How many threads it has blocked. */
  public final int blocked() {
    return blocked.get();
  }

  @Override
  public void onAcquire(LeaseRequest request, AcquireResult result, Duration took) {
    block();
  }

  @Override
  public void onExtend(Lease lease, ExtendResult result, Duration took) {
    block();
  }

  @Override
  public void onEnd(Lease lease, LeaseEnd end, Duration held) {
    block();
  }

  @Override
  public void onNodeState(NodeStatus status) {
    block();
  }

  /** Acquires, and waits until a thread is blocked. */
  public final void blockAll(Redlock redlock, String prefix) throws InterruptedException {
    redlock.acquire(prefix, Duration.ofSeconds(10), Duration.ofMinutes(5));
    Await.until("it blocks", () -> blocked() > 0);
  }

  @Override
  public final void close() {
    end.countDown();
  }
}
