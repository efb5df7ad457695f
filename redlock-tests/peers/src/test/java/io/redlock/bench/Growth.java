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

  private Growth() {}

  static void run(Report report) throws Exception {
    List<RedisServers> masters = new ArrayList<>();
    try (Comparison all = new Comparison()) {
      for (int nodes : NODES) {
        RedisServers servers = RedisServers.start(nodes);
        masters.add(servers);
        List<Long> pids = Comparison.pids(servers);
        Peer ours = new RedlockPeer(RedlockPeer.PATIENT, servers.addresses());
        all.add(key(ours.name, nodes), ours, 1, pids);
        Peer floor = FloorPeer.perCaller(1, servers.addresses());
        all.add(key(floor.name, nodes), floor, 1, pids);
      }
      show(report, all.run(ROUNDS));
    } finally {
      masters.forEach(RedisServers::close);
    }
  }

  private static String key(String peer, int nodes) {
    return peer + ", " + nodes + " nodes";
  }

  private static void show(Report report, Map<String, List<Run>> runs) {
    List<List<String>> rows = new ArrayList<>();
    List<String> head = List.of();
    for (String peer : List.of(RedlockPeer.NAME, FloorPeer.PER_CALLER)) {
      Map<String, List<Run>> its = new LinkedHashMap<>();
      NODES.forEach(nodes -> its.put(key(peer, nodes), runs.get(key(peer, nodes))));
      List<Column<Run>> columns =
          List.of(
              Column.PER_SECOND,
              Column.P50,
              Column.over("p50 / 3 nodes", its.get(key(peer, 3)), Run::p50),
              Column.P99,
              Column.CLIENT,
              Column.SERVERS);
      head = Report.head(columns);
      rows.addAll(Report.rows(its, columns));
    }
    report.table(
        "Number of nodes",
        "One caller. The same processors do the work of the client and of all masters, so most of a"
            + " cycle grows with the number of nodes, for the floor too.",
        head,
        rows);
    Ratio growth =
        Ratio.of(runs.get(key(RedlockPeer.NAME, 9)), runs.get(key(RedlockPeer.NAME, 3)), Run::p50);
    report.target("9 nodes for 3, 1 caller", "p50 less than 3 x", growth, growth.median() < 3);
  }
}
