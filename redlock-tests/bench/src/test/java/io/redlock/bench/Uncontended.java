package io.redlock.bench;

import io.redlock.bench.ClosedLoop.Run;
import io.redlock.testbed.RedisServer;
import io.redlock.testbed.RedisServers;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.ToDoubleFunction;
import java.util.stream.StreamSupport;

/** Callers that do not get into each other's way, on five masters: this library and its peers. */
final class Uncontended {

  static final Duration PATIENT = Duration.ofSeconds(1);

  private static final Rounds WARM_UP = Rounds.ofMillis(1, 2_000, 15_000);
  private static final Rounds ROUNDS = Rounds.ofMillis(5, 1_200, 1_000);
  private static final List<Integer> CALLERS = List.of(1, 8, 64);
  private static final List<Double> PERCENTILES = List.of(50.0, 90.0, 99.0, 99.9);
  private static final List<String> HEAD =
      List.of(
          "",
          "cycles/s",
          "p50 (us)",
          "p99 (us)",
          "p50 / floor A",
          "client CPU (us)",
          "servers CPU (us)",
          "allocated (B)",
          "switches",
          "client calls",
          "server calls");
  private static final int COLUMNS_ON_THE_PAGE = 7;

  private final Report report;
  private final Map<Integer, Map<String, List<Run>>> results = new LinkedHashMap<>();

  Uncontended(Report report) {
    this.report = report;
  }

  void run(Path docs) throws Exception {
    try (RedisServers servers = RedisServers.start(5)) {
      measure(servers, 8, WARM_UP);
      for (int callers : CALLERS) {
        Map<String, List<Run>> runs = measure(servers, callers, ROUNDS);
        results.put(callers, runs);
        table(callers, runs);
      }
      requireNoKey(servers);
    }
    judge();
    bounds();
    plot(docs);
  }

  private static Map<String, List<Run>> measure(RedisServers servers, int callers, Rounds rounds)
      throws Exception {
    String[] addresses = servers.addresses();
    List<Peer> peers = new ArrayList<>();
    try {
      peers.add(new RedlockPeer(PATIENT, addresses));
      peers.add(new RedissonPeer(addresses));
      peers.add(new PoolsPeer(callers, addresses));
      peers.add(FloorPeer.perCaller(callers, addresses));
      peers.add(FloorPeer.batched(callers, addresses));
      peers.add(new BlockingFloor(callers, addresses));
      Map<String, ClosedLoop> loops = new LinkedHashMap<>();
      for (Peer peer : peers) {
        loops.put(peer.name(), new ClosedLoop(peer.cycles(callers), Thread::new, pids(servers)));
      }
      return rounds.run(loops);
    } finally {
      peers.forEach(Peer::close);
    }
  }

  /** Whoever locks without leaving anything behind is compared with those who do the same. */
  private static void requireNoKey(RedisServers servers) {
    for (RedisServer server : servers) {
      List<String> left = server.keys("bench/*");
      if (!left.isEmpty()) {
        throw new IllegalStateException("locks are left behind: " + left);
      }
    }
  }

  static List<Long> pids(RedisServers servers) {
    return StreamSupport.stream(servers.spliterator(), false).map(RedisServer::pid).toList();
  }

  private void table(int callers, Map<String, List<Run>> runs) {
    List<List<String>> rows = new ArrayList<>();
    runs.forEach((name, of) -> rows.add(row(name, of, runs.get(FloorPeer.PER_CALLER))));
    report.table(
        callers(callers), "Per cycle, medians of the rounds.", HEAD, rows, COLUMNS_ON_THE_PAGE);
  }

  private static List<String> row(String name, List<Run> runs, List<Run> floor) {
    List<String> cells = new ArrayList<>();
    cells.add(name);
    cells.add(Report.number(Ratio.median(runs, Run::perSecond)));
    cells.add(Report.number(Ratio.median(runs, Run::p50)));
    cells.add(Report.number(Ratio.median(runs, Run::p99)));
    cells.add(Ratio.of(runs, floor, Run::p50).toString());
    cells.add(perCycle(runs, counters -> counters.clientNanos() / 1_000));
    cells.add(perCycle(runs, counters -> counters.serverNanos() / 1_000));
    cells.add(perCycle(runs, Counters::allocatedBytes));
    cells.add(perCycle(runs, Counters::switches));
    cells.add(perCycle(runs, Counters::clientCalls));
    cells.add(perCycle(runs, Counters::serverCalls));
    return cells;
  }

  static String perCycle(List<Run> runs, ToDoubleFunction<Counters> counter) {
    return Report.number(perCycle(counter, runs));
  }

  private static double perCycle(ToDoubleFunction<Counters> counter, List<Run> runs) {
    return Ratio.median(runs, run -> counter.applyAsDouble(run.used()) / Math.max(1, run.cycles()));
  }

  private void judge() {
    atMost(1, "p50", 1.05, "floor A", ratio(1, FloorPeer.PER_CALLER, Run::p50));
    for (int callers : List.of(8, 64)) {
      atLeast(callers, 0.9, "floor C's", ratio(callers, BlockingFloor.NAME, Run::perSecond));
      atLeast(callers, 0.45, "the masters' own", ofMastersAlone(callers));
      atLeast(
          callers,
          callers == 8 ? 7 : 11,
          "Redisson's",
          ratio(callers, RedissonPeer.NAME, Run::perSecond));
      Ratio processor = ratio(callers, BlockingFloor.NAME, Uncontended::clientNanosPerCycle);
      atMost(callers, "client CPU", 1.5, "floor C's", processor);
    }
    costs(1, 12, "switches of threads", Counters::switches);
    costs(64, 6_300, "bytes of the client's heap", Counters::allocatedBytes);
  }

  private void atLeast(int callers, double least, String whose, Ratio ratio) {
    String target = String.format(Locale.ROOT, "at least %.3g x %s cycles/s", least, whose);
    report.target(callers(callers), target, ratio, ratio.median() >= least);
  }

  private void atMost(int callers, String figure, double most, String whose, Ratio ratio) {
    String target = String.format(Locale.ROOT, "%s at most %.3g x %s", figure, most, whose);
    report.target(callers(callers), target, ratio, ratio.median() <= most);
  }

  private void costs(int callers, double most, String unit, ToDoubleFunction<Counters> counter) {
    double measured = perCycle(counter, results.get(callers).get(RedlockPeer.NAME));
    report.target(
        callers(callers),
        String.format(Locale.ROOT, "at most %,.0f %s a cycle", most, unit),
        Report.number(measured),
        measured <= most);
  }

  private static String callers(int callers) {
    return callers + (callers == 1 ? " caller" : " callers");
  }

  /** How far anybody could get who runs these scripts here, by count of the masters' time. */
  private void bounds() {
    List<List<String>> rows = new ArrayList<>();
    for (int callers : List.of(8, 64)) {
      Map<String, List<Run>> runs = results.get(callers);
      List<Run> redisson = runs.get(RedissonPeer.NAME);
      rows.add(
          List.of(
              callers + " callers",
              ratio(callers, RedissonPeer.NAME, Run::perSecond).toString(),
              Ratio.of(runs.get(FloorPeer.BATCHED), redisson, Run::perSecond).toString(),
              Ratio.of(runs.get(BlockingFloor.NAME), redisson, Run::perSecond).toString(),
              ratio(callers, RedissonPeer.NAME, Uncontended::mastersAllow, Run::perSecond)
                  .toString()));
    }
    report.table(
        "What bounds the ratio to Redisson",
        "Cycles a second as a multiple of Redisson's. Masters and clients share the processors. The"
            + " last column assumes clients that cost nothing: all processors, divided by the"
            + " masters' time per cycle of this library. Floor C shows what it costs that callers"
            + " block.",
        List.of("", "this library", "floor B", "floor C", "masters alone"),
        rows);
  }

  /** The share of what the masters alone allow. */
  private Ratio ofMastersAlone(int callers) {
    return ratio(callers, RedlockPeer.NAME, Run::perSecond, Uncontended::mastersAllow);
  }

  private static double clientNanosPerCycle(Run run) {
    return run.used().clientNanos() / Math.max(1, run.cycles());
  }

  private static double mastersAllow(Run run) {
    double masterSeconds = run.used().serverNanos() / 1e9;
    return run.cycles() * Runtime.getRuntime().availableProcessors() / masterSeconds;
  }

  private Ratio ratio(int callers, String under, ToDoubleFunction<Run> figure) {
    return ratio(callers, under, figure, figure);
  }

  private Ratio ratio(
      int callers, String under, ToDoubleFunction<Run> mine, ToDoubleFunction<Run> theirs) {
    Map<String, List<Run>> runs = results.get(callers);
    return Ratio.of(runs.get(RedlockPeer.NAME), mine, runs.get(under), theirs);
  }

  private void plot(Path docs) throws Exception {
    Plot latency = new Plot("Time of a cycle with 8 callers, by percentile", "us");
    for (String name : results.get(1).keySet()) {
      if (!List.of(FloorPeer.BATCHED, BlockingFloor.NAME).contains(name)) {
        latency.line(
            name,
            PERCENTILES.stream().map(p -> "p" + p.toString().replace(".0", "")).toList(),
            PERCENTILES.stream()
                .map(
                    p ->
                        Ratio.median(
                            results.get(8).get(name), run -> run.micros().getValueAtPercentile(p)))
                .toList());
      }
    }
    latency.write(docs.resolve("latency.svg"));
    report.image("latency.svg", "Latency percentiles");
    report.paragraph(Conclusion.of("8 callers", "cycles", results.get(8), Run::perSecond));
  }
}
