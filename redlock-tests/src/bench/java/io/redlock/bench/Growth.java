package io.redlock.bench;

import io.redlock.bench.ClosedLoop.Run;
import io.redlock.testkit.RedisServers;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** One caller on three, five, seven and nine masters. */
final class Growth {

  private static final List<Integer> NODES = List.of(3, 5, 7, 9);
  private static final Rounds ROUNDS = Rounds.ofMillis(5, 1_000, 1_000);

  private final Report report;

  Growth(Report report) {
    this.report = report;
  }

  void run() throws Exception {
    List<AutoCloseable> open = new ArrayList<>();
    try {
      Map<String, ClosedLoop> loops = new LinkedHashMap<>();
      for (int nodes : NODES) {
        RedisServers servers = RedisServers.start(nodes);
        open.add(0, servers);
        Peer peer = new RedlockPeer(Uncontended.PATIENT, servers.addresses());
        open.add(0, peer);
        loops.put(
            nodes + " nodes",
            new ClosedLoop(peer.cycles(1), Thread::new, Uncontended.pids(servers)));
      }
      show(ROUNDS.run(loops));
    } finally {
      for (AutoCloseable each : open) {
        each.close();
      }
    }
  }

  private void show(Map<String, List<Run>> runs) {
    List<List<String>> rows = new ArrayList<>();
    List<Run> three = runs.get("3 nodes");
    runs.forEach(
        (name, of) ->
            rows.add(
                List.of(
                    name,
                    Report.number(Ratio.median(of, Run::perSecond)),
                    Report.number(Ratio.median(of, Run::p50)),
                    Report.number(Ratio.median(of, Run::p99)),
                    Ratio.of(of, three, Run::p50).toString())));
    report.table(
        "Number of nodes",
        "One caller.",
        List.of("", "cycles/s", "p50 (us)", "p99 (us)", "p50 / 3 nodes"),
        rows);
    Ratio growth = Ratio.of(runs.get("9 nodes"), three, Run::p50);
    report.target("9 nodes for 3, 1 caller", "p50 less than 3 x", growth, growth.median() < 3);
  }
}
