package io.redlock.lease;

import static io.redlock.testbed.Results.assertLost;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.ExtendResult;
import io.redlock.Lease;
import io.redlock.LeaseEnd;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import io.redlock.testbed.Await;
import io.redlock.testkit.GateProxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** A loss is told once, in time, to whom it concerns, whatever the nodes and the callbacks do. */
class LossTest {

  private static final Duration TTL = Duration.ofSeconds(14);
  private static final Duration MARGIN = Duration.ofSeconds(8);

  /** For a busy machine: nobody else wants these resources. */
  private static final Duration WAIT = Duration.ofMinutes(1);

  private static final int[] ALL = {0, 1, 2, 3, 4};

  @RegisterExtension static final LeaseMasters masters = new LeaseMasters();

  private final LeaseEvents events = new LeaseEvents();

  @AutoClose("shutdownNow")
  private final ExecutorService callbacks =
      Executors.newCachedThreadPool(task -> new Thread(task, "users-callbacks"));

  @Test
  void lossIsToldOnceBeforeTheDeadlineWhileEveryLaneHangsUnderLoad() throws Exception {
    Redlock redlock =
        masters.connect(
            settings -> settings.lossMargin(MARGIN).listener(events).callbackExecutor(callbacks));
    int count = 100;
    List<Lease> leases = new ArrayList<>();
    List<Long> lossNanos = new ArrayList<>();
    List<CompletableFuture<Long>> signals = new ArrayList<>();
    AtomicInteger stillValid = new AtomicInteger();
    Set<String> threads = ConcurrentHashMap.newKeySet();
    for (int i = 0; i < count; i++) {
      Lease lease = redlock.acquire("hung-" + i, TTL, WAIT);
      long remaining = lease.remaining().toNanos();
      lossNanos.add(System.nanoTime() + remaining);
      leases.add(lease);
      CompletableFuture<Long> signal = new CompletableFuture<>();
      signals.add(signal);
      lease
          .ended()
          .thenRun(
              () -> {
                long toldNanos = System.nanoTime();
                stillValid.addAndGet(lease.isValid() ? 1 : 0);
                threads.add(Thread.currentThread().getName());
                signal.complete(toldNanos);
              });
    }
    for (int node : ALL) { // a lease does not wait for slower nodes
      Await.until(
          "node " + node + " holds all", () -> masters.get(node).keys("hung-*").size() == count);
    }
    long[] keyEndsNanos = keyEndsNanos(count);
    AtomicBoolean stop = new AtomicBoolean();
    Thread load = new Thread(() -> flood(redlock, stop));
    masters.pause(ALL);
    load.start();

    long latest = 0;
    long least = Long.MAX_VALUE;
    for (int i = 0; i < count; i++) {
      long told = Await.value("loss " + i, signals.get(i));
      latest = Math.max(latest, told - lossNanos.get(i));
      least = Math.min(least, keyEndsNanos[i] - told);
    }
    stop.set(true);
    masters.resume(ALL);
    assertTrue(latest < MARGIN.toNanos(), "told " + latest + " ns after the margin began");
    assertTrue(least > 0, "a node let go " + -least + " ns before the holder was told");
    assertEquals(0, stillValid.get());
    assertEquals(Set.of("users-callbacks"), threads);

    load.join();
    for (Lease lease : leases) {
      assertLost(lease.extend(TTL));
      lease.release();
    }
    Await.until("each is told of", () -> endsOf(leases).size() >= count);
    List<LeaseEvents.End> ends = endsOf(leases);
    assertEquals(count, ends.stream().map(LeaseEvents.End::lease).distinct().count());
    assertEquals(count, ends.size(), "no lease ended twice");
    assertTrue(ends.stream().allMatch(end -> end.how().cause() == LeaseEnd.Cause.EXPIRED));
  }

  /** The flood may have been granted leases of its own when the nodes came back. */
  private List<LeaseEvents.End> endsOf(List<Lease> leases) {
    return events.ended.stream().filter(end -> leases.contains(end.lease())).toList();
  }

  /** For each lease the earliest time at which a node's key runs out. */
  private static long[] keyEndsNanos(int count) {
    long[] ends = new long[count];
    Arrays.fill(ends, Long.MAX_VALUE);
    String pttls =
        "local r = {} for i = 1, ARGV[1] do r[i] = redis.call('PTTL', 'hung-' .. (i - 1)) end"
            + " return r";
    for (int node : ALL) {
      long askedNanos = System.nanoTime();
      List<?> lives =
          (List<?>) masters.get(node).command("EVAL", pttls, "0", Integer.toString(count));
      for (int i = 0; i < count; i++) {
        long lifeMillis = (Long) lives.get(i);
        assertTrue(lifeMillis > 0, "node " + node + " holds lease " + i);
        ends[i] = Math.min(ends[i], askedNanos + lifeMillis * 1_000_000);
      }
    }
    return ends;
  }

  /** Fills every lane and every socket buffer. */
  private static void flood(Redlock redlock, AtomicBoolean stop) {
    String name = "x".repeat(400);
    for (int i = 0; !stop.get(); i++) {
      redlock.acquireAsync(LeaseRequest.of(name + i, TTL));
      if (i % 50 == 0) {
        LockSupport.parkNanos(1_000_000);
      }
    }
  }

  @Test
  void answerThatComesAfterTheLossRevivesNothing() throws Exception {
    Redlock redlock =
        masters.open(
            masters
                .settingsThroughProxies()
                .nodeTimeout(Duration.ofMillis(5_900)) // longer than the lease is good for
                .lossMargin(Duration.ofMillis(6_900))
                .listener(events));
    Lease lease = redlock.acquire("too late", Duration.ofSeconds(12), WAIT);
    masters.awaitHolders(5, "too late");
    masters.replies().forEach(GateProxy.Gate::hold);
    CompletableFuture<ExtendResult> late = lease.extendAsync(Duration.ofSeconds(20));
    Await.until("it is executed", () -> masters.pttl(0, "too late") > 15_000);
    LeaseEnd end = Await.value("the loss", lease.ended().toCompletableFuture());
    masters.replies().forEach(GateProxy.Gate::open);

    assertEquals(LeaseEnd.Cause.EXPIRED, end.cause());
    assertLost(Await.value("the answer", late));
    assertFalse(lease.isValid());
    masters.awaitHolders(0, "too late"); // released at the deadline, long before the keys run out
    Await.until("the loss is told", () -> !events.ended.isEmpty());
    assertEquals(1, events.ended.size());
  }

  @Test
  void minorityThatDiesIsNoLossAndJoinsTheRenewalsAgainWhenItIsBack() throws Exception {
    Redlock redlock =
        masters.connect(settings -> settings.nodeTimeout(Duration.ofMillis(700)).listener(events));
    LeaseRequest request = LeaseRequest.of("minority", Duration.ofSeconds(9)).waitUpTo(WAIT);
    Lease lease = redlock.acquire(request.renewFor(Duration.ofHours(1)));
    masters.kill(0, 4);
    long extended = events.count(ExtendResult.Outcome.EXTENDED);
    Await.until(
        "renewals on three nodes, for more than a ttl",
        () -> events.count(ExtendResult.Outcome.EXTENDED) >= extended + 4);
    assertEquals(3, masters.holders("minority"));
    masters.get(0).restart();
    masters.get(4).restart();
    masters.awaitHolders(5, "minority");
    assertTrue(lease.isValid());
    assertEquals(lease.fencingToken(), masters.fence(4, "minority"));
    assertEquals(List.of(), events.causes());
  }
}
