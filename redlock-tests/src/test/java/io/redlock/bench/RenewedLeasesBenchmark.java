package io.redlock.bench;

import com.sun.management.OperatingSystemMXBean;
import io.redlock.AcquireResult;
import io.redlock.ExtendResult;
import io.redlock.Lease;
import io.redlock.LeaseEnd;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import io.redlock.RedlockListener;
import io.redlock.jedis.JedisRedlock;
import io.redlock.testkit.RedisServers;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;

/**
 * What it costs to keep many leases renewed: heap and threads per lease, processor time and
 * renewals per second, with five real masters on this machine.
 *
 * <pre>
 * java -cp ... io.redlock.bench.RenewedLeasesBenchmark [--leases 10000] [--ttl 30] [--seconds 60]
 * </pre>
 *
 * <p>The heap is what is live after garbage collections: after the first thousand leases, which
 * fill caches and grow buffers, are released again, and after all leases are held. It contains
 * everything there is of a lease, the caller's request and its name included.
 */
public final class RenewedLeasesBenchmark {

  private static final int WARM_UP = 1_000;
  private static final int BATCH = 500;
  private static final Duration MAX_WAIT = Duration.ofSeconds(10);
  private static final Duration MAX_HOLD = Duration.ofHours(1);

  private final LongAdder renewed = new LongAdder();
  private final LongAdder notRenewed = new LongAdder();
  private final LongAdder lost = new LongAdder();

  private RenewedLeasesBenchmark() {}

  public static void main(String[] args) throws Exception {
    int leases = (int) option(args, "--leases", 10_000);
    Duration ttl = Duration.ofSeconds(option(args, "--ttl", 30));
    long seconds = option(args, "--seconds", 60);
    try (RedisServers servers = RedisServers.start(5)) {
      new RenewedLeasesBenchmark().run(servers, leases, ttl, seconds);
    }
  }

  private static long option(String[] args, String name, long otherwise) {
    int at = List.of(args).indexOf(name);
    return at < 0 ? otherwise : Long.parseLong(args[at + 1]);
  }

  private void run(RedisServers servers, int count, Duration ttl, long seconds) throws Exception {
    int threadsBefore = threads();
    JedisRedlock.Builder settings = JedisRedlock.builder().listener(new Counter());
    for (String address : servers.addresses()) {
      settings.node(address);
    }
    try (Redlock redlock = settings.build()) {
      List<Lease> leases = new ArrayList<>(count);
      acquire(redlock, leases, "warm-up-", WARM_UP, ttl);
      for (Lease lease : leases) {
        lease.release();
      }
      leases.clear();
      int threadsIdle = threads();
      long heapIdle = liveHeap();

      acquire(redlock, leases, "resource-", count, ttl);
      int threadsHeld = threads();
      long heapHeld = liveHeap();
      System.out.printf(
          "%,d renewed leases, ttl %ds, on 5 masters, JDK %s%n",
          count, ttl.toSeconds(), Runtime.version());
      System.out.printf(
          "heap: %,d bytes a lease (%,d KiB idle, %,d KiB held)%n",
          (heapHeld - heapIdle) / count, heapIdle >> 10, heapHeld >> 10);
      System.out.printf(
          "threads: %d without the service, %d idle, %d with all leases held%n",
          threadsBefore, threadsIdle, threadsHeld);
      measureRenewals(seconds);
      long valid = leases.stream().filter(Lease::isValid).count();
      System.out.printf("valid at the end: %,d of %,d; lost: %d%n", valid, count, lost.sum());
      for (Lease lease : leases) {
        lease.close();
      }
    }
  }

  private void measureRenewals(long seconds) throws InterruptedException {
    OperatingSystemMXBean system = ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);
    renewed.reset();
    notRenewed.reset();
    long cpuStart = system.getProcessCpuTime();
    long start = System.nanoTime();
    TimeUnit.SECONDS.sleep(seconds);
    double took = (System.nanoTime() - start) / 1e9;
    double cpu = (system.getProcessCpuTime() - cpuStart) / 1e9;
    System.out.printf(
        "renewals: %,.0f a second (%d came to nothing); processor: %.1f %% of one core,"
            + " %.0f us a renewal, over %.0f s%n",
        renewed.sum() / took,
        notRenewed.sum(),
        100 * cpu / took,
        1e6 * cpu / Math.max(1, renewed.sum()),
        took);
  }

  private static void acquire(
      Redlock redlock, List<Lease> leases, String prefix, int count, Duration ttl)
      throws Exception {
    for (int from = 0; from < count; from += BATCH) {
      List<CompletableFuture<AcquireResult>> batch = new ArrayList<>();
      for (int i = from; i < Math.min(count, from + BATCH); i++) {
        batch.add(
            redlock.acquireAsync(
                LeaseRequest.of(prefix + i, ttl).waitUpTo(MAX_WAIT).renewFor(MAX_HOLD)));
      }
      for (CompletableFuture<AcquireResult> each : batch) {
        AcquireResult result = each.get(30, TimeUnit.SECONDS);
        leases.add(result.lease().orElseThrow(() -> new IllegalStateException("" + result)));
      }
    }
  }

  private static int threads() {
    return ManagementFactory.getThreadMXBean().getThreadCount();
  }

  private static long liveHeap() throws InterruptedException {
    long least = Long.MAX_VALUE;
    for (int i = 0; i < 5; i++) {
      System.gc();
      Thread.sleep(200);
      least = Math.min(least, ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed());
    }
    return least;
  }

  private final class Counter implements RedlockListener {
    @Override
    public void onExtend(Lease lease, ExtendResult result) {
      (result instanceof ExtendResult.Extended ? renewed : notRenewed).increment();
    }

    @Override
    public void onEnd(Lease lease, LeaseEnd end) {
      if (end.lost()) {
        lost.increment();
      }
    }
  }
}
