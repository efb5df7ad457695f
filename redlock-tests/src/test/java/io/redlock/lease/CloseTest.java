package io.redlock.lease;

import static io.redlock.testbed.Results.assertLost;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.AcquireResult;
import io.redlock.Lease;
import io.redlock.LeaseEnd;
import io.redlock.LeaseLock;
import io.redlock.LeaseLostException;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import io.redlock.testbed.Await;
import io.redlock.testbed.RedisServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Closing a lock service with leases held and calls under way. */
class CloseTest {

  private static final Duration TTL = Duration.ofSeconds(30);
  private static final Duration LONG = Duration.ofMinutes(1);

  @RegisterExtension static final LeaseMasters masters = new LeaseMasters();

  @Test
  void everyPendingCallEndsAndEveryLeaseEndsAsClosed() throws Exception {
    Redlock other = masters.connect();
    other.acquire(LeaseRequest.of("busy", TTL).renewFor(LONG));
    masters.awaitHolders(5, "busy");
    Set<Thread> threadsBefore = Threads.ofLockServices();
    List<Long> connectionsBefore = connections();

    LeaseEvents events = new LeaseEvents();
    Redlock redlock = masters.connect(settings -> settings.listener(events));
    LeaseRequest busy = LeaseRequest.of("busy", TTL).waitUpTo(LONG).renewFor(LONG);
    Lease held = redlock.acquire("held", TTL, TTL);
    Lease renewed = redlock.acquire(LeaseRequest.of("renewed", TTL).renewFor(LONG));
    LeaseLock lock = redlock.asLock(LeaseRequest.of("locked", TTL).renewFor(LONG));
    lock.lock();
    masters.awaitHolders(5, "locked");

    ExecutorService callers = Executors.newCachedThreadPool();
    try {
      List<Future<?>> calls = new ArrayList<>();
      for (Callable<?> call :
          List.<Callable<?>>of(
              () -> redlock.acquire(busy),
              () -> redlock.tryAcquire(busy),
              () -> redlock.callLeased(busy, lease -> "never"),
              () -> {
                redlock.asLock(busy).lock();
                return "never";
              },
              () -> redlock.asLock(busy).tryLock(1, TimeUnit.MINUTES))) {
        calls.add(callers.submit(call));
      }
      CompletableFuture<AcquireResult> async = redlock.acquireAsync(busy);
      Thread.sleep(50); // some wait in line, one asks the nodes
      calls.forEach(call -> assertFalse(call.isDone()));
      redlock.close();

      for (Future<?> call : calls) {
        Throwable cause =
            assertThrows(Exception.class, () -> call.get(60, TimeUnit.SECONDS)).getCause();
        assertInstanceOf(IllegalStateException.class, cause);
        assertEquals("this Redlock is closed", cause.getMessage());
      }
      Throwable cause = assertThrows(CompletionException.class, async::join).getCause();
      assertInstanceOf(IllegalStateException.class, cause);
    } finally {
      callers.shutdownNow();
    }

    for (Lease lease : List.of(held, renewed, lock.lease())) {
      assertFalse(lease.isValid());
      LeaseEnd end = Await.value("the end", lease.ended().toCompletableFuture());
      assertEquals(LeaseEnd.Cause.CLOSED, end.cause());
      assertLost(lease.extend(TTL));
    }
    assertThrows(LeaseLostException.class, lock::unlock);
    assertThrows(IllegalStateException.class, () -> redlock.tryAcquire("more", TTL));
    assertThrows(CompletionException.class, () -> redlock.acquireAsync(busy).join());
    Await.until("all ends are told", () -> events.ended.size() >= 3);
    assertEquals(3, events.ended.size());

    Await.until("its threads end", () -> threadsBefore.containsAll(Threads.ofLockServices()));
    for (int node = 0; node < LeaseMasters.NODES; node++) {
      int each = node;
      Await.until(
          "its connections are closed", () -> connections(each) <= connectionsBefore.get(each));
    }
    // Nothing that was held was released, and nobody is left to renew it.
    for (String resource : List.of("held", "renewed", "locked")) {
      assertEquals(5, masters.holders(resource));
      assertRunsOut(resource);
    }
    assertEquals(5, masters.holders("busy"), "the other's lease is untouched");
    redlock.close(); // again: nothing happens
  }

  private static void assertRunsOut(String resource) {
    for (int node = 0; node < LeaseMasters.NODES; node++) {
      long lifeMillis = masters.pttl(node, resource);
      assertTrue(lifeMillis != -1 && lifeMillis <= TTL.toMillis(), resource + ": " + lifeMillis);
    }
  }

  private static List<Long> connections() {
    return IntStream.range(0, LeaseMasters.NODES).mapToObj(CloseTest::connections).toList();
  }

  private static long connections(int node) {
    RedisServer server = masters.get(node);
    return server.command("CLIENT", "LIST").toString().lines().count();
  }
}
