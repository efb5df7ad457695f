package io.redlock.bench;

import com.sun.management.OperatingSystemMXBean;
import io.redlock.Lease;
import io.redlock.Redlock;
import io.redlock.testbed.RedisServers;
import io.redlock.testbed.Text;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * What it costs to keep many leases renewed: heap and threads per lease, processor time and
 * renewals per second, with five masters. The heap is what is live after garbage collections: after
 * the first thousand leases, which fill caches and grow buffers, are released again, and after all
 * leases are held. It contains everything there is of a lease, the caller's request and its name
 * included. Watched for half a minute, or as {@code -Dbench.leases.minutes} says.
 */
final class RenewedLeases {

  private static final int LEASES = 10_000;
  private static final Duration WATCHED =
      Duration.ofSeconds(
          Math.round(60 * Double.parseDouble(System.getProperty("bench.leases.minutes", "0.5"))));
  private static final int WARM_UP = 1_000;

  private final ManyLeases told = new ManyLeases();
  private final Report report;

  RenewedLeases(Report report) {
    this.report = report;
  }

  void run() throws Exception {
    try (RedisServers servers = RedisServers.start(5);
        Redlock redlock = RedlockPeer.settings(servers.addresses()).listener(told).build()) {
      ManyLeases.acquire(redlock, "warm-up-", WARM_UP).forEach(Lease::close);
      int threadsIdle = threads();
      long heapIdle = liveHeap();
      List<Lease> leases = ManyLeases.acquire(redlock, "resource-", LEASES);
      long bytesAtFirst = (liveHeap() - heapIdle) / LEASES;
      List<String> renewals = measureRenewals();
      int threads = ManagementFactory.getThreadMXBean().getPeakThreadCount() - threadsIdle;
      long bytesAtLast = (liveHeap() - heapIdle) / LEASES;
      show(bytesAtFirst, bytesAtLast, threads, renewals);
      long bytes = Math.max(bytesAtFirst, bytesAtLast);
      long valid = leases.stream().filter(Lease::isValid).count();
      report.target(
          "10,000 renewed leases",
          "at most 1,024 bytes of heap each",
          bytes + " bytes",
          bytes <= 1_024);
      report.target(
          "10,000 renewed leases", "no thread each", Text.of("%+d threads", threads), threads < 10);
      if (valid != LEASES || told.lost.sum() != 0) {
        throw new IllegalStateException(valid + " of " + LEASES + " leases are valid");
      }
      leases.forEach(Lease::close);
    }
  }

  private List<String> measureRenewals() throws InterruptedException {
    OperatingSystemMXBean system = ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);
    ManagementFactory.getThreadMXBean().resetPeakThreadCount();
    told.renewed.reset();
    told.notRenewed.reset();
    long cpuStart = system.getProcessCpuTime();
    long start = System.nanoTime();
    TimeUnit.MILLISECONDS.sleep(WATCHED.toMillis());
    double took = (System.nanoTime() - start) / 1e9;
    double cpu = (system.getProcessCpuTime() - cpuStart) / 1e9;
    return List.of(
        Report.number(told.renewed.sum() / took),
        Long.toString(told.notRenewed.sum()),
        Report.number(1e6 * cpu / Math.max(1, told.renewed.sum())),
        Report.number(100 * cpu / took) + " %");
  }

  private void show(long bytesAtFirst, long bytesAtLast, int threads, List<String> renewals) {
    List<String> row = new ArrayList<>(renewals);
    row.add(Long.toString(bytesAtFirst));
    row.add(Long.toString(bytesAtLast));
    row.add(Text.of("%+d", threads));
    report.table(
        "Renewed leases",
        Text.of(
            "10,000 leases with a ttl of 30 s, renewed every 10 s, observed for %d s"
                + " (`-Dbench.leases.minutes=5` observes them for five minutes). Heap is live after a"
                + " collection, before and after the observation. Threads are the maximum, beyond"
                + " those of a service that holds nothing.",
            WATCHED.toSeconds()),
        List.of(
            "renewals/s",
            "failed",
            "client CPU per renewal (us)",
            "of one core",
            "heap per lease at first (B)",
            "at last (B)",
            "threads"),
        List.of(row));
  }

  private static int threads() {
    return ManagementFactory.getThreadMXBean().getThreadCount();
  }

  static long liveHeap() throws InterruptedException {
    long least = Long.MAX_VALUE;
    for (int i = 0; i < 5; i++) {
      System.gc();
      Thread.sleep(200);
      least = Math.min(least, ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed());
    }
    return least;
  }
}
