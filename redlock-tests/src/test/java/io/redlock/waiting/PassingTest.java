package io.redlock.waiting;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.Lease;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import io.redlock.driver.RedlockBuilder;
import io.redlock.spi.LockNode;
import io.redlock.testbed.Await;
import io.redlock.testbed.BlockingListener;
import io.redlock.testkit.FakeTicker;
import io.redlock.testkit.InMemoryNode;
import io.redlock.testkit.InMemoryServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Threads in one queue whose lease is passed on. The clock stands, so that no run ends by time. */
@Timeout(300)
class PassingTest {

  private static final LeaseRequest REQUEST =
      LeaseRequest.of("orders/42", Duration.ofSeconds(10)).waitUpTo(Duration.ofSeconds(9));

  private final FakeTicker ticker = new FakeTicker();
  @AutoClose private final BlockingListener blocking = new BlockingListener();
  @AutoClose private final Redlock redlock = connect();

  private Redlock connect() {
    List<LockNode> nodes = new ArrayList<>();
    for (String name : List.of("a", "b", "c")) {
      nodes.add(new InMemoryNode(name, new InMemoryServer(ticker)));
    }
    return new RedlockBuilder().over(nodes).ticker(ticker).listener(blocking).build();
  }

  /** A thread that waits for the lease, and holds it until it is told to release it. */
  private final class Waiter {
    final CompletableFuture<Lease> lease = new CompletableFuture<>();
    final CountDownLatch mayRelease = new CountDownLatch(1);
    final Thread thread = new Thread(this::run);

    private void run() {
      try {
        Lease held = redlock.acquire(REQUEST);
        lease.complete(held);
        mayRelease.await();
        held.release();
      } catch (InterruptedException e) {
        lease.completeExceptionally(e);
      }
    }
  }

  private List<Waiter> line(int length) {
    List<Waiter> line = new ArrayList<>();
    for (int place = 1; place <= length; place++) {
      int waiting = place;
      Waiter next = new Waiter();
      next.thread.start();
      line.add(next);
      Await.until(
          "it waits",
          () -> redlock.operations().waits().stream().anyMatch(wait -> wait.calls() == waiting));
    }
    return line;
  }

  @Test
  void waiterThatIsInterruptedAndListenerThatBlocksHoldNobodyUp() throws Exception {
    redlock.acquire(REQUEST).release(); // from now on, masters know a counter
    Lease first = redlock.acquire(REQUEST);
    List<Waiter> line = line(4);
    ticker.advance(Duration.ofMillis(1));
    first.release();
    Lease granted = Await.value("it is granted", line.get(0).lease);
    line.get(1).thread.interrupt();
    line.get(1).thread.join();
    assertInstanceOf(
        InterruptedException.class, line.get(1).lease.handle((lease, why) -> why).join());
    line.get(0).mayRelease.countDown();
    Lease passed = Await.value("it is passed on", line.get(2).lease);
    line.get(2).mayRelease.countDown();
    Lease last = Await.value("it is passed on again", line.get(3).lease);
    assertEquals(granted.fencingToken() + 1, passed.fencingToken());
    assertEquals(granted.fencingToken() + 2, last.fencingToken());
    assertTrue(last.isValid());
    line.get(3).mayRelease.countDown();
    line.get(3).thread.join();
    assertEquals(List.of(), redlock.operations().leases());
  }
}
