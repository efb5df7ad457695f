package io.redlock.bench;

import io.redlock.bench.ClosedLoop.Run;
import io.redlock.bench.Contention.Handoffs;
import io.redlock.testbed.RedisServers;
import io.redlock.testkit.Template;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.TreeMap;

/**
 * The same work on this library, its peers on Redis, etcd and ZooKeeper: on loopback, and with
 * every server 1 ms away from clients and from its fellows. Writes a page of its own.
 */
final class Elsewhere {

  private static final Duration AWAY = Duration.ofMillis(1);
  private static final Duration PATIENT = Duration.ofSeconds(10);
  private static final Rounds WARM_UP = Rounds.ofMillis(1, 1_000, 15_000);
  private static final Rounds ROUNDS = Rounds.ofMillis(5, 1_200, 1_500);
  private static final Rounds CONTENTION = Rounds.ofMillis(5, 1_500, 4_000);

  /** The fewest last: then the members of ZooKeeper, which are JVMs, have run for the longest. */
  private static final List<Integer> CALLERS = List.of(64, 8, 1);

  private static final List<String> IN_NO_ORDER = List.of(RedlockPeer.NAME, RedissonPeer.NAME);
  private static final String NO_FSYNC = ", no fsync";
  private static final List<Column<Run>> COLUMNS =
      List.of(
          Column.PER_SECOND,
          Column.P50,
          Column.median("p90 (us)", run -> run.micros().getValueAtPercentile(90)),
          Column.P99,
          Column.median("p99.9 (us)", run -> run.micros().getValueAtPercentile(99.9)),
          Column.CLIENT,
          Column.SERVERS);

  private final Report report = new Report();
  private final Optional<String> etcd;

  /** What is measured at one distance: masters, and ensembles by the name of their peer. */
  private record Servers(
      List<String> masters, List<Long> masterPids, Map<String, Ensemble> ensembles) {}

  Elsewhere() throws Exception {
    etcd = EtcdServers.version();
  }

  void run(Path docs) throws Exception {
    try (Distance near = Distance.none()) {
      measure("on loopback", near, docs.resolve("elsewhere-loopback.svg"));
    }
    try (Distance far = Distance.of(AWAY)) {
      measure("1 ms away", far, docs.resolve("elsewhere-away.svg"));
    }
    report.write(docs.resolve("elsewhere.md"), introduction());
  }

  private void measure(String where, Distance distance, Path picture) throws Exception {
    Map<String, Ensemble> ensembles = new LinkedHashMap<>();
    try (RedisServers masters = RedisServers.start(5)) {
      for (boolean onDisk : List.of(true, false)) {
        String suffix = onDisk ? "" : NO_FSYNC;
        if (etcd.isPresent()) {
          ensembles.put(EtcdPeer.NAME + suffix, EtcdServers.start(onDisk, distance));
        }
        ensembles.put(
            ZooKeeperPeer.NAME + suffix,
            ZooKeeperServers.start(onDisk, ZooKeeperServers.TICK_MILLIS, distance));
      }
      Servers servers =
          new Servers(List.of(distance.addresses(masters)), Comparison.pids(masters), ensembles);
      uncontended(where, servers, picture);
      contended(where, servers);
    } finally {
      for (Ensemble ensemble : ensembles.values()) {
        ensemble.close();
      }
    }
  }

  private void uncontended(String where, Servers servers, Path picture) throws Exception {
    measure(servers, 64, WARM_UP);
    NavigableMap<Integer, Map<String, List<Run>>> results = new TreeMap<>();
    for (int callers : CALLERS) {
      results.put(callers, measure(servers, callers, ROUNDS));
    }
    results.forEach((callers, runs) -> table(callers, where, runs));
    plot(where, results, picture);
  }

  private void table(int callers, String where, Map<String, List<Run>> runs) {
    String title = Report.callers(callers) + ", " + where;
    report.table(title, "Per cycle, medians of the rounds.", runs, COLUMNS);
    report.paragraph(Conclusion.of(title, "cycles", runs, Run::perSecond));
  }

  private static Map<String, List<Run>> measure(Servers servers, int callers, Rounds rounds)
      throws Exception {
    String[] masters = servers.masters.toArray(String[]::new);
    try (Comparison all = new Comparison()) {
      all.add(new RedlockPeer(PATIENT, masters), callers, servers.masterPids);
      all.add(new RedissonPeer(masters), callers, servers.masterPids);
      all.add(new PoolsPeer(callers, masters), callers, servers.masterPids);
      all.add(FloorPeer.perCaller(callers, masters), callers, servers.masterPids);
      for (Map.Entry<String, Ensemble> each : servers.ensembles.entrySet()) {
        String[] members = each.getValue().addresses().toArray(String[]::new);
        all.add(connect(each.getKey(), members), callers, each.getValue().pids());
      }
      return all.run(rounds);
    }
  }

  /** Returns a client of etcd or ZooKeeper, as its name begins. */
  static Peer connect(String name, String... addresses) {
    return name.startsWith(EtcdPeer.NAME)
        ? new EtcdPeer(name, addresses)
        : new ZooKeeperPeer(name, addresses);
  }

  private void plot(
      String where, NavigableMap<Integer, Map<String, List<Run>>> results, Path picture)
      throws Exception {
    Plot plot = new Plot("Cycles per second " + where + ", by callers", "cycles/s");
    List<String> places = results.keySet().stream().map(Object::toString).toList();
    for (String name : results.get(1).keySet()) {
      plot.line(
          name,
          places,
          results.values().stream()
              .map(runs -> Ratio.median(runs.get(name), Run::perSecond))
              .toList());
    }
    plot.write(picture);
    report.image(picture.getFileName().toString(), "Throughput " + where + " against callers");
  }

  private void contended(String where, Servers servers) throws Exception {
    Map<String, List<String>> peers = new LinkedHashMap<>();
    peers.put(RedlockPeer.NAME, servers.masters);
    peers.put(RedlockPeer.FAIR, servers.masters);
    peers.put(RedissonPeer.NAME, servers.masters);
    servers.ensembles.forEach((name, ensemble) -> peers.put(name, ensemble.addresses()));
    Map<String, List<Handoffs>> results = Contention.measure(peers, CONTENTION);
    String title = "One hot key, " + where;
    report.table(
        title,
        Contention.WORKLOAD
            + " etcd, ZooKeeper and *fairly* serve in turn: first come, first served.",
        results,
        Handoffs.COLUMNS);
    Map<String, List<Handoffs>> inNoOrder = new LinkedHashMap<>();
    Map<String, List<Handoffs>> inTurn = new LinkedHashMap<>();
    results.forEach((name, of) -> (IN_NO_ORDER.contains(name) ? inNoOrder : inTurn).put(name, of));
    report.paragraph(conclusion(title + ", in no order", inNoOrder));
    report.paragraph(conclusion(title + ", in turn", inTurn));
  }

  private static String conclusion(String where, Map<String, List<Handoffs>> results) {
    return Conclusion.of(where, "hand-offs", results, Handoffs::perSecond);
  }

  private String introduction() throws Exception {
    String missing = "**not measured: no `etcd` on the path** (`apt-get install etcd-server`)";
    Path disk = Path.of(System.getProperty("java.io.tmpdir"));
    return Template.fill(
        Elsewhere.class,
        "elsewhere.txt",
        Map.of(
            "conditions", Benchmarks.conditions(),
            "etcd", etcd.orElse(missing) + ", " + System.getProperty("bench.version.etcd"),
            "zookeeper", System.getProperty("bench.version.zookeeper"),
            "fsync", Report.number(Ensemble.fsyncMicros(disk)),
            "warning", Benchmarks.warning()));
  }
}
