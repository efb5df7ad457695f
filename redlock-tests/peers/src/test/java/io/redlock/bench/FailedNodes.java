package io.redlock.bench;

import io.redlock.bench.ClosedLoop.Run;
import io.redlock.testbed.RedisServers;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/** Eight callers while a master hangs, or two are dead, beside the same with all of them well. */
record FailedNodes(Report report) {

  private static final String HEALTHY = "all five well";
  private static final String HUNG = "one hangs";
  private static final String DEAD = "two are dead";
  private static final int CALLERS = 8;
  private static final Duration NODE_TIMEOUT = Duration.ofMillis(250);
  private static final Rounds ROUNDS = Rounds.ofMillis(5, 1_500, 2_000);

  void run() throws Exception {
    try (RedisServers healthy = RedisServers.start(5);
        RedisServers hung = RedisServers.start(5);
        RedisServers dead = RedisServers.start(5);
        Comparison all = new Comparison()) {
      add(all, HEALTHY, healthy);
      add(all, HUNG, hung);
      add(all, DEAD, dead);
      all.run(new Rounds(1, Duration.ofMillis(500), Duration.ZERO)); // while all are well
      hung.get(4).pause();
      dead.get(3).kill();
      dead.get(4).kill();
      show(all.run(ROUNDS));
    }
  }

  private static void add(Comparison all, String name, RedisServers servers) {
    List<Long> counted = List.of(); // some will be dead
    all.add(name, new RedlockPeer(NODE_TIMEOUT, servers.addresses()), CALLERS, counted);
  }

  private void show(Map<String, List<Run>> runs) {
    List<Run> healthy = runs.get(HEALTHY);
    report.table(
        "Failed nodes",
        "",
        runs,
        List.of(
            Column.PER_SECOND,
            Column.P50,
            Column.P99,
            new Column<>("longest (us)", of -> Report.number(longest(of))),
            Column.over("p50 / well", healthy, Run::p50),
            Column.over("p99 / well", healthy, Run::p99)));
    judge(HUNG, "one of five hangs, 8 callers", runs);
    judge(DEAD, "two of five dead, 8 callers", runs);
  }

  private static double longest(List<Run> runs) {
    return runs.stream().mapToDouble(Run::max).max().orElse(0);
  }

  private void judge(String failure, String workload, Map<String, List<Run>> runs) {
    List<Run> failed = runs.get(failure);
    Ratio p50 = Ratio.of(failed, runs.get(HEALTHY), Run::p50);
    Ratio p99 = Ratio.of(failed, runs.get(HEALTHY), Run::p99);
    report.atMost(1.2, workload, "p50 at most 1.2 x healthy", p50);
    report.atMost(2, workload, "p99 at most 2 x healthy", p99);
    double longest = longest(failed);
    report.target(
        workload,
        "no caller waits for a node timeout",
        "longest cycle " + Report.number(longest / 1_000) + " ms",
        longest < NODE_TIMEOUT.toNanos() / 1e3);
  }
}
