package io.redlock.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.AcquireResult;
import io.redlock.Lease;
import io.redlock.LeaseEnd;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import io.redlock.RedlockListener;
import io.redlock.spi.Scheduler;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Real threads over nodes with threads of their own: callers wait, extend, release, cancel and are
 * interrupted, all at the same time. No two hold the same resource, tokens rise, and at the end
 * nothing is locked and nothing is under way.
 */
@Timeout(300)
class StressTest {

  private static final int NODES = 5;
  private static final int CALLERS = 8;
  private static final int CALLS = 250;
  private static final int INTERRUPTS_PER_CALL = 4;
  private static final int RESOURCES = 3;
  private static final Duration TTL = Duration.ofSeconds(25);

  private final long seed = System.nanoTime();
  private final List<ThreadedNode> nodes = new ArrayList<>();
  private final Queue<Throwable> failures = new ConcurrentLinkedQueue<>();
  private final Queue<CompletableFuture<?>> futures = new ConcurrentLinkedQueue<>();
  private final AtomicInteger lost = new AtomicInteger();
  private final AtomicInteger held = new AtomicInteger();
  private final AtomicInteger made = new AtomicInteger();
  private final CountingScheduler scheduler = new CountingScheduler();
  private final List<Resource> resources = new ArrayList<>();

  private static final class Resource {
    final String name;
    final AtomicReference<@Nullable Lease> holder = new AtomicReference<>();
    final AtomicLong highestToken = new AtomicLong();

    Resource(String name) {
      this.name = name;
    }
  }

  /** The default scheduler; counts the tasks that neither ran nor were cancelled. */
  private static final class CountingScheduler implements Scheduler {
    private final Scheduler real = SystemSources.scheduler();
    final AtomicInteger pending = new AtomicInteger();

    @Override
    public Cancellable schedule(Runnable task, long delayNanos) {
      AtomicBoolean counted = new AtomicBoolean(true);
      Runnable uncount =
          () -> {
            if (counted.getAndSet(false)) {
              pending.decrementAndGet();
            }
          };
      pending.incrementAndGet();
      Cancellable scheduled =
          real.schedule(
              () -> {
                uncount.run();
                task.run();
              },
              delayNanos);
      return () -> {
        uncount.run();
        scheduled.cancel();
      };
    }

    @Override
    public void close() {
      real.close();
    }
  }

  private Redlock redlock() {
    SplittableRandom seeds = new SplittableRandom(seed);
    for (int node = 0; node < NODES; node++) {
      nodes.add(new ThreadedNode(String.valueOf((char) ('a' + node)), seeds.nextLong()));
    }
    for (int resource = 0; resource < RESOURCES; resource++) {
      resources.add(new Resource("resource " + resource));
    }
    return RedlockBuilder.over(nodes)
        .scheduler(scheduler)
        .nodeTimeout(Duration.ofMillis(20))
        .listener(
            new RedlockListener() {
              @Override
              public void onEnd(Lease lease, LeaseEnd end, Duration held) {
                if (end.lost() && end.cause() != LeaseEnd.Cause.CLOSED) {
                  lost.incrementAndGet();
                }
              }
            })
        .build();
  }

  @Test
  void callersThatCancelAndAreInterruptedLeaveNothingBehind() throws InterruptedException {
    try (Redlock redlock = redlock()) {
      List<Thread> callers = start(redlock, CALLS);
      SplittableRandom random = new SplittableRandom(seed + 1);
      CountDownLatch never = new CountDownLatch(1);
      int interrupts = 0;
      while (callers.stream().anyMatch(Thread::isAlive)) {
        if (interrupts
            < INTERRUPTS_PER_CALL * (made.get() + CALLERS)) { // or a slow call never ends
          callers.get(random.nextInt(CALLERS)).interrupt();
          interrupts++;
        }
        never.await(500, TimeUnit.MICROSECONDS);
      }
      assertNoFailure();
      until("every future is done", () -> futures.stream().allMatch(CompletableFuture::isDone));
      until("no timer is left", () -> scheduler.pending.get() == 0); // so no grant is still queued
      until("no key is left", () -> nodes.stream().allMatch(node -> node.keys() == 0));
      assertEquals(0, lost.get(), "leases lost, seed " + seed);
    }
    for (ThreadedNode node : nodes) {
      node.join();
    }
  }

  @Test
  void closingInTheMiddleOfItAllEndsEveryCall() throws InterruptedException {
    Redlock redlock = redlock();
    List<Thread> callers = start(redlock, Integer.MAX_VALUE);
    until("some leases", () -> held.get() > 100);
    redlock.close();
    for (Thread caller : callers) {
      caller.join(60_000);
      assertTrue(!caller.isAlive(), () -> caller + " hangs, seed " + seed);
    }
    assertNoFailure();
    until("every future is done", () -> futures.stream().allMatch(CompletableFuture::isDone));
    assertEquals(0, lost.get(), "leases lost, seed " + seed);
  }

  private void assertNoFailure() {
    Throwable failure = failures.peek();
    if (failure != null) {
      throw new AssertionError("seed " + seed, failure);
    }
  }

  private List<Thread> start(Redlock redlock, int calls) {
    SplittableRandom seeds = new SplittableRandom(seed + 2);
    List<Thread> callers = new ArrayList<>();
    for (int caller = 0; caller < CALLERS; caller++) {
      SplittableRandom random = seeds.split();
      callers.add(new Thread(() -> run(redlock, calls, random), "caller-" + caller));
    }
    callers.forEach(Thread::start);
    return callers;
  }

  /** Makes this number of calls, then goes on until there were as many leases. */
  private void run(Redlock redlock, int calls, SplittableRandom random) {
    for (int call = 0;
        (call < calls || held.get() < calls) && failures.isEmpty();
        call++, made.incrementAndGet()) {
      Resource resource = resources.get(random.nextInt(RESOURCES));
      LeaseRequest request =
          LeaseRequest.of(resource.name, TTL).waitUpTo(Duration.ofMillis(random.nextInt(30)));
      if (random.nextInt(4) == 0) {
        request = request.renewFor(Duration.ofMinutes(1));
      }
      try {
        if (random.nextBoolean()) {
          hold(resource, redlock.tryAcquire(request), random);
        } else {
          giveUp(resource, redlock.acquireAsync(request), random);
        }
      } catch (InterruptedException e) {
        // nothing is locked then
      } catch (IllegalStateException e) {
        if (!"this Redlock is closed".equals(e.getMessage())) {
          failures.add(e);
        }
        return;
      } catch (RuntimeException | Error e) {
        failures.add(e);
      }
    }
  }

  /** Cancels after a moment; if that is too late, the lease is ours. */
  private void giveUp(
      Resource resource, CompletableFuture<AcquireResult> call, SplittableRandom random) {
    futures.add(call);
    LockSupport.parkNanos(random.nextLong(1_500_000));
    if (!call.cancel(false) && !call.isCompletedExceptionally()) {
      hold(resource, call.join(), random);
    }
  }

  private void hold(Resource resource, AcquireResult result, SplittableRandom random) {
    if (result.lease().isEmpty()) {
      return;
    }
    Lease lease = result.lease().get();
    held.incrementAndGet();
    Lease other = resource.holder.getAndSet(lease);
    boolean closed = !lease.isValid(); // only close() makes a lease end here
    if (!closed && other != null && other.isValid()) {
      assertNull(other, () -> lease + " while there is " + other + ", seed " + seed);
    }
    long before = resource.highestToken.getAndAccumulate(lease.fencingToken(), Math::max);
    assertTrue(lease.fencingToken() > before, () -> "tokens must rise, seed " + seed);
    if (random.nextInt(4) == 0) {
      futures.add(lease.extendAsync(TTL));
    }
    LockSupport.parkNanos(random.nextLong(100_000));
    resource.holder.compareAndSet(lease, null);
    release(lease, random.nextInt(3));
  }

  private void release(Lease lease, int how) {
    switch (how) {
      case 0 -> lease.close();
      case 1 -> futures.add(lease.releaseAsync());
      default -> {
        try {
          lease.release();
        } catch (InterruptedException e) {
          // the release goes on
        }
      }
    }
  }

  private static void until(String expectation, BooleanSupplier condition)
      throws InterruptedException {
    CountDownLatch never = new CountDownLatch(1);
    for (int poll = 0; !condition.getAsBoolean(); poll++) {
      assertTrue(poll < 40_000, expectation);
      never.await(1, TimeUnit.MILLISECONDS);
    }
  }
}
