package io.redlock.bench;

import io.redlock.Redlock;
import io.redlock.bench.ClosedLoop.Run;
import io.redlock.jedis.JedisRedlock;
import io.redlock.spi.HolderLabel;
import io.redlock.testbed.NodeView;
import io.redlock.testbed.RedisServers;
import io.redlock.testbed.Text;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** What settings take: the same callers with one and another, each on five masters. */
record SettingCosts(Report report) {

  private static final String ON = "guard on";
  private static final String OFF = "guard off";
  private static final String USUAL = "billing@pod-7:4211";
  private static final String LONG = "label of 64 characters";
  private static final String SHORT = "label of 1 character";
  private static final int IDLE_CLIENTS = 100;

  /** The restart guard: with it and without. */
  void guard() throws Exception {
    // Masters know one setting of the guard.
    try (RedisServers guarded = RedisServers.start(5);
        RedisServers plain = RedisServers.startBrandNew(5).founded()) {
      for (int callers : List.of(1, 8)) {
        try (Comparison all = new Comparison()) {
          add(all, callers, guarded, new RedlockPeer(ON, s -> s, guarded.addresses()));
          add(
              all,
              callers,
              plain,
              new RedlockPeer(OFF, s -> s.restartGuard(false), plain.addresses()));
          Map<String, List<Run>> runs = all.run(rounds(101));
          String workload = "restart guard, " + Report.callers(callers);
          report.table(
              workload,
              "",
              runs,
              List.of(Column.PER_SECOND, Column.P50, Column.SERVERS, Column.CLIENT));
          Ratio cycles = Ratio.of(runs.get(ON), runs.get(OFF), Run::perSecond);
          report.atLeast(0.9, workload, "at least 0.9 x the cycles/s without it", cycles);
        }
      }
      idle(guarded);
    }
  }

  private static void add(Comparison all, int callers, RedisServers servers, Peer peer) {
    all.add(peer, callers, Comparison.pids(servers));
  }

  /** Many and short: the difference is less than a machine differs by from one second on. */
  private static Rounds rounds(int count) {
    return Rounds.ofMillis(count, 150, 4_000);
  }

  /** Prints what docs/operations.md says: how much of a core of each master idle clients take. */
  private void idle(RedisServers masters) throws InterruptedException {
    List<Redlock> clients = new ArrayList<>();
    try {
      for (int number = 0; number < IDLE_CLIENTS; number++) {
        clients.add(JedisRedlock.connect(masters.addresses()));
      }
      clients.forEach(NodeView::awaitAllUp);
      List<Long> pids = Comparison.pids(masters);
      long beginNanos = System.nanoTime();
      double before = cpuNanos(pids);
      Thread.sleep(30_000);
      double used = cpuNanos(pids) - before;
      double percent = 100 * used / pids.size() / (System.nanoTime() - beginNanos);
      String figure = Text.of("%.2f %%", percent);
      report.table(
          IDLE_CLIENTS + " idle clients",
          "",
          List.of("a core of each master"),
          List.of(List.of(figure)));
    } finally {
      clients.forEach(Redlock::close);
    }
  }

  private static double cpuNanos(List<Long> pids) {
    return pids.stream()
        .map(pid -> ProcessHandle.of(pid).orElseThrow().info().totalCpuDuration().orElseThrow())
        .mapToLong(Duration::toNanos)
        .sum();
  }

  /** The label in owner ids: a usual and the longest one against a single character. */
  void label() throws Exception {
    Map<String, String> labels =
        Map.of(LONG, "x".repeat(HolderLabel.MAX_LENGTH), USUAL, USUAL, SHORT, "x");
    try (RedisServers servers = RedisServers.start(5)) {
      for (int callers : List.of(1, 8)) {
        try (Comparison all = new Comparison()) {
          for (String name : List.of(LONG, USUAL, SHORT)) {
            String label = labels.get(name);
            add(
                all,
                callers,
                servers,
                new RedlockPeer(name, s -> s.holder(label), servers.addresses()));
          }
          Map<String, List<Run>> runs = all.run(rounds(151));
          String workload = "holder's label, " + Report.callers(callers);
          report.table(workload, "", runs, List.of(Column.PER_SECOND, Column.P50));
          String target = "at least 0.97 x the cycles/s with a label of 1 character";
          Ratio cycles = Ratio.of(runs.get(USUAL), runs.get(SHORT), Run::perSecond);
          report.atLeast(0.97, workload, target, cycles);
        }
      }
    }
  }
}
