package io.redlock.lease;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.AcquireResult;
import io.redlock.Lease;
import io.redlock.LeaseLock;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import io.redlock.driver.CoreBuilder;
import io.redlock.driver.RealTime;
import io.redlock.driver.RedlockBuilder;
import io.redlock.jedis.JedisCore;
import io.redlock.jedis.JedisRedlock;
import io.redlock.jedis.lane.TestLanes;
import io.redlock.spi.LockNode;
import io.redlock.spi.Scheduler;
import io.redlock.testbed.Await;
import io.redlock.testkit.Together;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.Callable;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * Calls that are interrupted, cancelled or timed out at any moment leave nothing behind. No two
 * callers hold a resource meanwhile, and tokens rise.
 */
class AbandonedAcquiresTest {

  private static final int CALLS = 10_000;
  private static final int CALLERS = 8;
  private static final int RESOURCES = 40;

  /** So long that no key runs out by itself while the test waits for it to go. */
  private static final Duration TTL = Duration.ofSeconds(30);

  @RegisterExtension static final LeaseMasters masters = new LeaseMasters();

  private final Scheduler scheduler = RealTime.scheduler();

  @Test
  void tenThousandAbandonedCallsLeaveNoKeyNoTimerNoThreadAndNothingQueued() throws Exception {
    long seed = Long.getLong("redlock.seed", System.nanoTime());
    System.out.println("abandoned acquires: -Dredlock.seed=" + seed);
    long threadsBefore = Threads.count();
    JedisRedlock.Builder settings = masters.settings();
    RedlockBuilder core = JedisCore.of(settings).scheduler(scheduler);
    Redlock redlock = masters.open(settings);
    List<LockNode> lanes = CoreBuilder.nodes(core);
    Await.until(
        "nothing but one ping a node is to be done", () -> RealTime.pending(scheduler) == 5);
    Set<Thread> threads = Threads.ofLockServices();

    Map<String, Integer> outcomes = abandonAll(redlock, new SplittableRandom(seed));
    Await.until("no key is left", () -> masters.locks().isEmpty());
    Await.until("no timer is left", () -> RealTime.pending(scheduler) == 5);
    Await.until("nothing is queued", () -> lanes.stream().allMatch(TestLanes::isIdle));
    Await.until("no thread is left", () -> threads.containsAll(Threads.ofLockServices()));
    for (String outcome : List.of("interrupted", "cancelled", "timed out", "acquired")) {
      assertTrue(outcomes.getOrDefault(outcome, 0) > CALLS / 100, outcome + " in " + outcomes);
    }
    redlock.close();
    Await.until("its threads end", () -> Threads.count() <= threadsBefore);
  }

  private static Map<String, Integer> abandonAll(Redlock redlock, SplittableRandom random)
      throws Exception {
    Map<String, Integer> outcomes = new ConcurrentHashMap<>();
    Map<String, Lease> holders = new ConcurrentHashMap<>();
    List<SplittableRandom> randoms = Stream.generate(random::split).limit(CALLERS).toList();
    ScheduledExecutorService saboteur = Executors.newScheduledThreadPool(2);
    try {
      Together.run(
          CALLERS,
          number -> new Caller(redlock, randoms.get(number), saboteur, outcomes, holders).run());
    } finally {
      saboteur.shutdownNow();
      assertTrue(saboteur.awaitTermination(60, TimeUnit.SECONDS));
    }
    return outcomes;
  }

  /** One thread that makes calls and has them spoilt. */
  private record Caller(
      Redlock redlock,
      SplittableRandom random,
      ScheduledExecutorService saboteur,
      Map<String, Integer> outcomes,
      Map<String, Lease> holders) {

    void run() throws Exception {
      for (int call = 0; call < CALLS / CALLERS; call++) {
        LeaseRequest request =
            LeaseRequest.of("abandoned-" + random.nextInt(RESOURCES), TTL)
                .waitUpTo(Duration.ofMillis(random.nextInt(3) * 20L))
                .renewFor(TTL);
        String outcome =
            switch (random.nextInt(4)) {
              case 0 -> interrupted(() -> acquires(request));
              case 1 -> interrupted(() -> locks(request));
              case 2 -> abandoned(request, "cancelled", future -> future.cancel(true));
              default -> // as orTimeout does
                  abandoned(
                      request,
                      "timed out",
                      future -> future.completeExceptionally(new TimeoutException()));
            };
        outcomes.merge(outcome, 1, Integer::sum);
      }
    }

    /** Sometimes at once and sometimes never, however slow the machine. */
    private void atSomeMoment(Runnable abandon) {
      int chance = random.nextInt(10);
      if (chance == 0) {
        abandon.run();
      } else if (chance > 1) {
        saboteur.schedule(abandon, random.nextLong(3_000), TimeUnit.MICROSECONDS);
      }
    }

    private String interrupted(Callable<Boolean> call) throws Exception {
      try (Interrupt interrupt = new Interrupt()) {
        atSomeMoment(interrupt::strike);
        return call.call() ? "acquired" : "refused";
      } catch (InterruptedException e) {
        return "interrupted";
      }
    }

    private boolean acquires(LeaseRequest request) throws InterruptedException {
      try (Lease lease = redlock.tryAcquire(request).lease().orElse(null)) {
        if (lease != null) {
          assertAlone(lease);
        }
        if (lease != null && random.nextBoolean()) {
          lease.release();
        }
        return lease != null;
      }
    }

    /** Nobody else holds the resource any more, and tokens rise. */
    private void assertAlone(Lease lease) {
      Lease other = holders.put(lease.resource(), lease);
      boolean isHeld = other != null && other.isValid();
      boolean rises = other == null || other.fencingToken() < lease.fencingToken();
      if (lease.isValid()) { // it was meanwhile
        assertFalse(isHeld, () -> lease + " beside " + other);
        assertTrue(rises, () -> lease + " after " + other);
      }
    }

    private boolean locks(LeaseRequest request) throws InterruptedException {
      LeaseLock lock = redlock.asLock(request);
      boolean isLocked = lock.tryLock(random.nextInt(30), TimeUnit.MILLISECONDS);
      if (isLocked) {
        assertAlone(lock.lease());
        lock.unlock();
      }
      return isLocked;
    }

    private String abandoned(
        LeaseRequest request, String how, Consumer<CompletableFuture<AcquireResult>> abandon) {
      CompletableFuture<AcquireResult> call = redlock.acquireAsync(request);
      atSomeMoment(() -> abandon.accept(call));
      try {
        Optional<Lease> lease = call.join().lease();
        lease.ifPresent(this::assertAlone);
        lease.ifPresent(Lease::close);
        return lease.isPresent() ? "acquired" : "refused";
      } catch (CancellationException | CompletionException e) {
        return how;
      }
    }
  }

  /** Strikes the thread that made it, at most once and never after it was closed. */
  private static final class Interrupt implements AutoCloseable {
    private final Thread target = Thread.currentThread();
    private boolean over; // guarded by this

    synchronized void strike() {
      if (!over) {
        target.interrupt();
      }
    }

    @Override
    public synchronized void close() {
      over = true;
      Thread.interrupted();
    }
  }
}
