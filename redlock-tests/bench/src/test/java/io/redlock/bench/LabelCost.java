package io.redlock.bench;

import io.redlock.bench.ClosedLoop.Run;
import io.redlock.spi.HolderLabel;
import io.redlock.testbed.RedisServers;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** What the label in owner ids takes: a usual and the longest one against a single character. */
final class LabelCost {

  /**
   * Many and short: the difference is smaller than what a machine differs by from one second on.
   */
  private static final Rounds ROUNDS = Rounds.ofMillis(151, 150, 4_000);

  private static final double TARGET = 0.97;
  private static final String USUAL = "billing@pod-7:4211";
  private static final String LONG = "label of 64 characters";
  private static final String SHORT = "label of 1 character";
  private static final List<String> HEAD = List.of("", "cycles/s", "p50 (us)");

  private final Report report;

  LabelCost(Report report) {
    this.report = report;
  }

  void run() throws Exception {
    try (RedisServers servers = RedisServers.start(5)) {
      for (int callers : List.of(1, 8)) {
        measure(callers, servers);
      }
    }
  }

  private void measure(int callers, RedisServers servers) throws Exception {
    try (Peer longest = peer("x".repeat(HolderLabel.MAX_LENGTH), servers);
        Peer usual = peer(USUAL, servers);
        Peer shortest = peer("x", servers)) {
      Map<String, ClosedLoop> loops = new LinkedHashMap<>();
      loops.put(
          LONG, new ClosedLoop(longest.cycles(callers), Thread::new, Uncontended.pids(servers)));
      loops.put(
          USUAL, new ClosedLoop(usual.cycles(callers), Thread::new, Uncontended.pids(servers)));
      loops.put(
          SHORT, new ClosedLoop(shortest.cycles(callers), Thread::new, Uncontended.pids(servers)));
      Map<String, List<Run>> runs = ROUNDS.run(loops);
      String workload = "holder's label, " + callers + (callers == 1 ? " caller" : " callers");
      List<List<String>> rows = new ArrayList<>();
      runs.forEach((name, of) -> rows.add(row(name, of)));
      report.print(workload, HEAD, rows);
      Ratio cycles = Ratio.of(runs.get(USUAL), runs.get(SHORT), Run::perSecond);
      report.target(
          workload,
          "at least 0.97 x the cycles/s with a label of 1 character",
          cycles,
          cycles.median() >= TARGET);
    }
  }

  private static Peer peer(String label, RedisServers servers) {
    return new RedlockPeer(
        settings -> settings.holder(label), Uncontended.PATIENT, servers.addresses());
  }

  private static List<String> row(String name, List<Run> runs) {
    return List.of(
        name,
        Report.number(Ratio.median(runs, Run::perSecond)),
        Report.number(Ratio.median(runs, Run::p50)));
  }
}
