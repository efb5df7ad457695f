package io.redlock.bench;

import io.redlock.bench.ClosedLoop.Run;
import io.redlock.testbed.RedisServers;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** One caller on three, five, seven and nine masters, beside the floor of as many. */
final class Growth {

  private static final List<Integer> NODES = List.of(3, 5, 7, 9);
  private static final Rounds ROUNDS = Rounds.ofMillis(7, 1_000, 1_000);

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
        add(loops, open, servers, new RedlockPeer(Uncontended.PATIENT, servers.addresses()));
        add(loops, open, servers, FloorPeer.perCaller(1, servers.addresses()));
      }
      show(ROUNDS.run(loops));
    } finally {
      for (AutoCloseable each : open) {
        each.close();
      }
    }
  }

  private static void add(
      Map<String, ClosedLoop> loops, List<AutoCloseable> open, RedisServers servers, Peer peer) {
    open.add(0, peer);
    List<Long> masters = Uncontended.pids(servers);
    loops.put(
        key(peer.name(), masters.size()), new ClosedLoop(peer.cycles(1), Thread::new, masters));
  }

  private static String key(String peer, int nodes) {
    return peer + ", " + nodes + " nodes";
  }

  private void show(Map<String, List<Run>> runs) {
    List<List<String>> rows = new ArrayList<>();
    for (String peer : List.of(RedlockPeer.NAME, FloorPeer.PER_CALLER)) {
      for (int nodes : NODES) {
        rows.add(row(peer, nodes, runs));
      }
    }
    report.table(
        "Number of nodes",
        "One caller. The same processors do the work of the client and of all masters, so most of a"
            + " cycle grows with the number of nodes, for the floor too.",
        List.of(
            "",
            "cycles/s",
            "p50 (us)",
            "p50 / 3 nodes",
            "p99 (us)",
            "client CPU (us)",
            "servers CPU (us)"),
        rows,
        4);
    Ratio growth = growth(RedlockPeer.NAME, 9, runs);
    report.target("9 nodes for 3, 1 caller", "p50 less than 3 x", growth, growth.median() < 3);
  }

  private static Ratio growth(String peer, int nodes, Map<String, List<Run>> runs) {
    return Ratio.of(runs.get(key(peer, nodes)), runs.get(key(peer, NODES.get(0))), Run::p50);
  }

  private static List<String> row(String peer, int nodes, Map<String, List<Run>> runs) {
    List<Run> of = runs.get(key(peer, nodes));
    return List.of(
        key(peer, nodes),
        Report.number(Ratio.median(of, Run::perSecond)),
        Report.number(Ratio.median(of, Run::p50)),
        growth(peer, nodes, runs).toString(),
        Report.number(Ratio.median(of, Run::p99)),
        Uncontended.perCycle(of, counters -> counters.clientNanos() / 1_000),
        Uncontended.perCycle(of, counters -> counters.serverNanos() / 1_000));
  }
}
