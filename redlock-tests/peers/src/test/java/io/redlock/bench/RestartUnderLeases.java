package io.redlock.bench;

import com.sun.management.OperatingSystemMXBean;
import io.redlock.AcquireResult;
import io.redlock.Redlock;
import io.redlock.testbed.RedisServers;
import io.redlock.testbed.Text;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.IntStream;

/**
 * One of three masters restarts without its data while many leases are renewed: how many are lost,
 * and how much of their rate other callers keep in the ten seconds after it.
 */
final class RestartUnderLeases {

  private static final Duration TTL = ManyLeases.TTL;
  private static final int CALLERS = 8;
  private static final int FEW = 10_000;
  private static final int STILL_SECONDS = 9;

  private final LongAdder acquired = new LongAdder();
  private final ManyLeases told = new ManyLeases();
  private volatile boolean isOver;

  private RestartUnderLeases() {}

  static void run(Report report) throws Exception {
    List<List<String>> rows = new ArrayList<>();
    for (int leases : List.of(FEW, 30_000, 100_000)) {
      List<String> row = new RestartUnderLeases().row(leases);
      rows.add(row);
      report.target(
          "a master restarts under " + row.get(0) + " renewed leases",
          "none is lost",
          row.get(1) + " lost",
          row.get(1).equals("0"));
    }
    report.table(
        "A master restarts under many renewed leases",
        Text.of(
            "One of three masters loses its data; leases of %d s, renewed; %d others acquire and"
                + " release all the time.",
            TTL.toSeconds(), CALLERS),
        List.of("leases", "lost", "others' cycles/s before", "in the 10 s after"),
        rows);
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

  private List<String> row(int leases) throws Exception {
    try (RedisServers servers = RedisServers.start(3);
        Redlock redlock = RedlockPeer.settings(servers.addresses()).listener(told).build()) {
      ManyLeases.acquire(redlock, "held:", leases);
      List<Thread> callers =
          IntStream.range(0, CALLERS).mapToObj(i -> new Thread(() -> call(redlock, i))).toList();
      callers.forEach(Thread::start);
      double before = rate(5);
      servers.get(0).restart();
      double after = rate(10);
      TimeUnit.SECONDS.sleep(TTL.toSeconds());
      isOver = true;
      for (Thread caller : callers) {
        caller.join();
      }
      return List.of(
          Text.of("%,d", leases),
          Long.toString(told.lost.sum()),
          Report.number(before),
          Report.number(after));
    }
  }

  private double rate(int seconds) throws InterruptedException {
    acquired.reset();
    long startNanos = System.nanoTime();
    TimeUnit.SECONDS.sleep(seconds);
    return acquired.sum() * 1e9 / (System.nanoTime() - startNanos);
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
