package io.redlock.lease;

import static io.redlock.testbed.Results.assertLost;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.Lease;
import io.redlock.LeaseEnd;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import io.redlock.testbed.Await;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** A loss is told once, in time, to whom it concerns, whatever the nodes and the callbacks do. */
class LossTest {

  private static final Duration TTL = Duration.ofSeconds(14);
  private static final Duration MARGIN = Duration.ofSeconds(8);

  /** For a lease that is to be lost. */
  private static final Duration SHORT = Duration.ofMillis(1_500);

  private static final Duration NODE_TIMEOUT = Duration.ofMillis(500);

  /** For a busy machine: nobody else wants these resources. */
  private static final Duration WAIT = Duration.ofMinutes(1);

  private static final int[] ALL = {0, 1, 2, 3, 4};

  @RegisterExtension static final LeaseMasters masters = new LeaseMasters();

  private final LeaseEvents events = new LeaseEvents();
  private final ExecutorService callbacks =
      Executors.newCachedThreadPool(task -> new Thread(task, "users-callbacks"));

  @AfterEach
  void stopCallbacks() {
    callbacks.shutdownNow();
  }

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
    System.out.printf(
        Locale.ROOT,
        "loss of %d leases with 5 stopped nodes: told at most %.1f ms after the margin of %d ms began"
            + " and at least %d ms before the first node let go%n",
        count,
        latest / 1e6,
        MARGIN.toMillis(),
        least / 1_000_000);
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
        "local r = {} for i = 1, ARGV[1] do r[i] = redis.call('PTTL', 'hung-' .. (i - 1)) end return r";
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
  void whateverRacesTheLeaseEndsOnce() throws Exception {
    Redlock redlock =
        masters.connect(settings -> settings.nodeTimeout(NODE_TIMEOUT).listener(events));
    List<Lease> leases = new ArrayList<>();
    List<AtomicInteger> told = new ArrayList<>();
    for (int i = 0; i < 40; i++) {
      Lease lease = redlock.acquire("race-" + i, SHORT, WAIT);
      AtomicInteger times = new AtomicInteger();
      lease.ended().thenRun(times::incrementAndGet);
      leases.add(lease);
      told.add(times);
    }
    ExecutorService racers = Executors.newFixedThreadPool(4);
    try {
      for (Lease lease : leases) {
        // All about the moment of the loss.
        long spread = ThreadLocalRandom.current().nextLong(2_000_000) - 1_000_000;
        racers.execute(
            () -> {
              for (long left = 1; left > 0; ) {
                left = lease.remaining().toNanos() - Math.max(0, spread);
                LockSupport.parkNanos(left);
              }
              lease.releaseAsync();
              lease.close();
            });
      }
    } finally {
      racers.shutdown();
    }
    Await.until("all have ended", () -> events.ended.size() >= leases.size());
    for (int node : ALL) {
      Await.until("all is released", () -> masters.get(node).keys("race-*").isEmpty());
    }
    Await.until("all are told", () -> told.stream().allMatch(times -> times.get() > 0));
    told.forEach(times -> assertEquals(1, times.get()));
    assertEquals(leases.size(), events.ended.size());
  }
}
