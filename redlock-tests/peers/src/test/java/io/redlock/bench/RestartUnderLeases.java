package io.redlock.bench;

import com.sun.management.OperatingSystemMXBean;
import io.redlock.AcquireResult;
import io.redlock.ExtendResult;
import io.redlock.Lease;
import io.redlock.Redlock;
import io.redlock.RedlockListener;
import io.redlock.testbed.RedisServer;
import io.redlock.testbed.RedisServers;
import io.redlock.testbed.Text;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.HdrHistogram.ConcurrentHistogram;
import org.HdrHistogram.Histogram;

/**
 * One of three masters restarts without its data while many leases are renewed: how many are lost,
 * and how much of their rate other callers keep in the ten seconds after it.
 */
final class RestartUnderLeases implements RedlockListener {

  private static final Duration TTL = ManyLeases.TTL;
  private static final int CALLERS = 8;
  private static final int FEW = 10_000;
  private static final int STILL_SECONDS = 9;
  private static final List<String> HEAD =
      List.of(
          "leases",
          "lost",
          "heap per lease (B)",
          "10 s",
          "others' cycles",
          "a master's requests",
          "renewals late, p99 (ms)",
          "longest (ms)");

  private final LongAdder acquired = new LongAdder();
  private final ManyLeases told = new ManyLeases();
  private final Histogram lateMicros = new ConcurrentHistogram(3);
  private final Map<Lease, Long> renewedNanos = new ConcurrentHashMap<>();
  private volatile boolean isOver;

  private RestartUnderLeases() {}

  static void run(Report report, Path docs) throws Exception {
    List<List<String>> rows = new ArrayList<>();
    for (int leases : List.of(FEW, 30_000, 100_000)) {
      RestartUnderLeases run = new RestartUnderLeases();
      rows.addAll(run.rows(leases));
      String workload = Text.of("a master restarts under %,d renewed leases", leases);
      long lost = run.told.lost.sum();
      report.target(workload, "none is lost", lost + " lost", lost == 0);
    }
    report.table(
        "A master restarts under many renewed leases",
        Text.of(
            "One of three masters loses its data; leases of %d s, renewed; %d others acquire and"
                + " release all the time. Cycles and requests are a second's; a renewal is late"
                + " if its answer comes more than a third of the ttl after the one before.",
            TTL.toSeconds(), CALLERS),
        HEAD,
        rows);
    Plot plot = new Plot("A master restarts, by renewed leases", "a second");
    for (int column : List.of(4, 5)) {
      for (String when : List.of("before", "after")) {
        List<List<String>> cells = rows.stream().filter(row -> row.contains(when)).toList();
        plot.line(
            HEAD.get(column) + ", " + when,
            cells.stream().map(row -> row.get(0)).toList(),
            cells.stream().map(row -> Double.valueOf(row.get(column).replace(",", ""))).toList());
      }
    }
    plot.write(docs.resolve("restart-under-leases.svg"));
    still(report);
  }

  /** How many extends fail, and what they cost, while a majority answers nothing. */
  private static void still(Report report) throws Exception {
    OperatingSystemMXBean system = ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);
    RestartUnderLeases run = new RestartUnderLeases();
    try (RedisServers servers = RedisServers.start(3);
        Redlock redlock = RedlockPeer.settings(servers.addresses()).listener(run.told).build()) {
      ManyLeases.acquire(redlock, "held:", FEW);
      TimeUnit.SECONDS.sleep(TTL.toSeconds() / 2); // the second renewals come meanwhile
      servers.get(0).pause();
      servers.get(1).pause();
      long cpuNanos = system.getProcessCpuTime();
      TimeUnit.SECONDS.sleep(STILL_SECONDS);
      cpuNanos = system.getProcessCpuTime() - cpuNanos;
      servers.get(0).resume();
      servers.get(1).resume();
      TimeUnit.SECONDS.sleep(TTL.toSeconds());
      report.table(
          "A majority stands still under many renewed leases",
          Text.of(
              "Two of three masters answer nothing for %d s; leases of %d s, renewed.",
              STILL_SECONDS, TTL.toSeconds()),
          List.of("leases", "lost", "extends that failed", "of one core meanwhile"),
          List.of(
              List.of(
                  Text.of("%,d", FEW),
                  Long.toString(run.told.lost.sum()),
                  Text.of("%,d", run.told.notRenewed.sum()),
                  Report.number(cpuNanos / 1e7 / STILL_SECONDS) + " %")));
    }
  }

  private List<List<String>> rows(int leases) throws Exception {
    try (RedisServers servers = RedisServers.start(3);
        Redlock redlock =
            RedlockPeer.settings(servers.addresses()).listener(told).listener(this).build()) {
      long heapIdle = RenewedLeases.liveHeap();
      List<Lease> held = ManyLeases.acquire(redlock, "held:", leases);
      long heap = (RenewedLeases.liveHeap() - heapIdle) / held.size();
      List<Thread> callers =
          IntStream.range(0, CALLERS).mapToObj(i -> new Thread(() -> call(redlock, i))).toList();
      callers.forEach(Thread::start);
      TimeUnit.SECONDS.sleep(TTL.toSeconds() / 3); // each lease is renewed once
      List<String> before = stretch("before", leases, heap, servers.get(2));
      servers.get(0).restart();
      List<String> after = stretch("after", leases, heap, servers.get(2));
      TimeUnit.SECONDS.sleep(TTL.toSeconds());
      isOver = true;
      for (Thread caller : callers) {
        caller.join();
      }
      after.set(1, Long.toString(told.lost.sum()));
      return List.of(before, after);
    }
  }

  private List<String> stretch(String when, int leases, long heap, RedisServer master)
      throws InterruptedException {
    acquired.reset();
    lateMicros.reset();
    long commands = commands(master);
    long startNanos = System.nanoTime();
    TimeUnit.SECONDS.sleep(10);
    double seconds = (System.nanoTime() - startNanos) / 1e9;
    commands = commands(master) - commands;
    double p99 = lateMicros.getValueAtPercentile(99) / 1e3;
    double most = lateMicros.getMaxValue() / 1e3;
    return Stream.of(
            Text.of("%,d", leases),
            Long.toString(told.lost.sum()),
            Long.toString(heap),
            when,
            Report.number(acquired.sum() / seconds),
            Report.number(commands / seconds),
            Report.number(p99),
            Report.number(most))
        .collect(Collectors.toCollection(ArrayList::new));
  }

  @Override
  public void onExtend(Lease lease, ExtendResult result, Duration took) {
    long nowNanos = System.nanoTime();
    Long before = renewedNanos.put(lease, nowNanos);
    long lateNanos = before == null ? 0 : nowNanos - before - TTL.toNanos() / 3;
    lateMicros.recordValue(Math.max(0, lateNanos / 1_000));
  }

  private static long commands(RedisServer master) {
    String statistics = String.valueOf(master.command("INFO", "commandstats"));
    return Long.parseLong(statistics.replaceAll("(?s).*cmdstat_evalsha:calls=(\\d+).*", "$1"));
  }

  private void call(Redlock redlock, int caller) {
    try {
      for (int i = 0; !isOver; i++) {
        AcquireResult result = redlock.tryAcquire("other:" + caller + ":" + i % 1_000, TTL);
        if (result.lease().isPresent()) {
          acquired.increment();
          result.lease().get().release();
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
