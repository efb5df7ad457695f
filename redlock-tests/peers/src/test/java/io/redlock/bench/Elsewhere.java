package io.redlock.bench;

import io.redlock.bench.ClosedLoop.Run;
import io.redlock.bench.Contention.Handoffs;
import io.redlock.testbed.RedisServers;
import io.redlock.testkit.Template;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
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

  /** What the page shows: figures by peer and by what was measured. */
  private final Map<String, Map<String, String>> figures = new LinkedHashMap<>();

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
    report.write(docs, "elsewhere", page());
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
    table(Report.callers(callers) + ", " + where, "Medians of the rounds.", runs, COLUMNS);
  }

  /** Notes the first column for the page. */
  private <T> void table(
      String title, String text, Map<String, List<T>> runs, List<Column<T>> columns) {
    report.table(title, text, runs, columns);
    runs.forEach(
        (peer, of) ->
            figures
                .computeIfAbsent(peer, name -> new LinkedHashMap<>())
                .put(title, columns.get(0).figure().apply(of)));
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
  }

  private void contended(String where, Servers servers) throws Exception {
    Map<String, List<String>> peers = new LinkedHashMap<>();
    peers.put(RedlockPeer.NAME, servers.masters);
    peers.put(RedlockPeer.FAIR, servers.masters);
    peers.put(RedissonPeer.NAME, servers.masters);
    servers.ensembles.forEach((name, ensemble) -> peers.put(name, ensemble.addresses()));
    table(
        "one hot key, " + where,
        Contention.WORKLOAD,
        Contention.measure(peers, CONTENTION),
        Handoffs.COLUMNS);
  }

  private String page() throws Exception {
    List<String> measured = List.copyOf(figures.get(RedlockPeer.NAME).keySet());
    List<String> head = new ArrayList<>(List.of(""));
    head.addAll(measured);
    List<List<String>> rows = new ArrayList<>();
    figures.forEach(
        (peer, of) -> {
          List<String> row = new ArrayList<>(List.of(peer));
          measured.forEach(what -> row.add(of.getOrDefault(what, "")));
          rows.add(row);
        });
    String missing = "**not measured: no `etcd` on the path** (`apt-get install etcd-server`)";
    Path disk = Path.of(System.getProperty("java.io.tmpdir"));
    return Template.fill(
        Elsewhere.class,
        "elsewhere.txt",
        Map.of(
            "conditions", Benchmarks.conditions(),
            "figures", Report.markdown(head, rows).strip(),
            "etcd", etcd.orElse(missing) + ", " + System.getProperty("bench.version.etcd"),
            "zookeeper", System.getProperty("bench.version.zookeeper"),
            "fsync", Report.number(Ensemble.fsyncMicros(disk)),
            "warning", Benchmarks.warning()));
  }
}
