package io.redlock.bench;

import io.redlock.bench.ClosedLoop.Run;
import io.redlock.testbed.RedisServers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Eight callers while a master hangs, or two are dead, beside the same with all of them well. */
final class FailedNodes {

  private static final String HEALTHY = "all five well";
  private static final String HUNG = "one hangs";
  private static final String DEAD = "two are dead";
  private static final int CALLERS = 8;
  private static final Duration NODE_TIMEOUT = Duration.ofMillis(250);
  private static final Rounds ROUNDS = Rounds.ofMillis(5, 1_500, 2_000);

  private final Report report;

  FailedNodes(Report report) {
    this.report = report;
  }

  void run() throws Exception {
    try (RedisServers healthy = RedisServers.start(5);
        RedisServers hung = RedisServers.start(5);
        RedisServers dead = RedisServers.start(5)) {
      List<Peer> peers = new ArrayList<>();
      try {
        Map<String, ClosedLoop> loops = new LinkedHashMap<>();
        loops.put(HEALTHY, loop(healthy, peers));
        loops.put(HUNG, loop(hung, peers));
        loops.put(DEAD, loop(dead, peers));
        hung.get(4).pause();
        dead.get(3).kill();
        dead.get(4).kill();
        show(ROUNDS.run(loops));
      } finally {
        peers.forEach(Peer::close);
      }
    }
  }

  private static ClosedLoop loop(RedisServers servers, List<Peer> peers) throws Exception {
    Peer peer = new RedlockPeer(NODE_TIMEOUT, servers.addresses());
    peers.add(peer);
    List<Long> counted = List.of(); // some will be dead
    ClosedLoop loop = new ClosedLoop(peer.cycles(CALLERS), Thread::new, counted);
    loop.run(Duration.ofMillis(500));
    return loop;
  }

  private void show(Map<String, List<Run>> runs) {
    List<List<String>> rows = new ArrayList<>();
    List<Run> healthy = runs.get(HEALTHY);
    runs.forEach(
        (name, of) ->
            rows.add(
                List.of(
                    name,
                    Report.number(Ratio.median(of, Run::perSecond)),
                    Report.number(Ratio.median(of, Run::p50)),
                    Report.number(Ratio.median(of, Run::p99)),
                    Report.number(of.stream().mapToDouble(Run::max).max().orElse(0)),
                    Ratio.of(of, healthy, Run::p50).toString(),
                    Ratio.of(of, healthy, Run::p99).toString())));
    report.print(
        "Failed nodes",
        List.of("", "cycles/s", "p50 (us)", "p99 (us)", "longest (us)", "p50 / well", "p99 / well"),
        rows);
    judge(HUNG, "one of five hangs, 8 callers", runs);
    judge(DEAD, "two of five dead, 8 callers", runs);
  }

  private void judge(String failure, String workload, Map<String, List<Run>> runs) {
    List<Run> failed = runs.get(failure);
    Ratio p50 = Ratio.of(failed, runs.get(HEALTHY), Run::p50);
    Ratio p99 = Ratio.of(failed, runs.get(HEALTHY), Run::p99);
    report.target(workload, "p50 at most 1.2 x healthy", p50, p50.median() <= 1.2);
    report.target(workload, "p99 at most 2 x healthy", p99, p99.median() <= 2);
    double longest = failed.stream().mapToDouble(Run::max).max().orElse(0);
    report.target(
        workload,
        "no caller waits for a node timeout",
        "longest cycle " + Report.number(longest / 1_000) + " ms",
        longest < NODE_TIMEOUT.toNanos() / 1e3);
  }
}
