package io.redlock.bench;

import io.redlock.bench.ClosedLoop.Run;
import io.redlock.testbed.RedisServer;
import io.redlock.testbed.RedisServers;
import io.redlock.testbed.Text;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.ToDoubleFunction;
import java.util.stream.Stream;

/** Callers that do not get into each other's way, on five masters: this library and its peers. */
final class Uncontended {

  private static final Rounds WARM_UP = Rounds.ofMillis(1, 2_000, 15_000);
  private static final Rounds ROUNDS = Rounds.ofMillis(5, 1_200, 1_000);
  private static final List<Integer> CALLERS = List.of(1, 8, 64);

  private final Report report;
  private final Map<Integer, Map<String, List<Run>>> results = new LinkedHashMap<>();

  Uncontended(Report report) {
    this.report = report;
  }

  void run() throws Exception {
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
  }

  private static Map<String, List<Run>> measure(RedisServers servers, int callers, Rounds rounds)
      throws Exception {
    String[] addresses = servers.addresses();
    List<Long> pids = Comparison.pids(servers);
    try (Comparison all = new Comparison()) {
      all.add(new RedlockPeer(RedlockPeer.PATIENT, addresses), callers, pids);
      all.add(new RedlockPeer(RedlockPeer.ASYNC, settings -> settings, addresses), callers, pids);
      all.add(new RedissonPeer(addresses), callers, pids);
      all.add(new PoolsPeer(callers, addresses), callers, pids);
      all.add(FloorPeer.perCaller(callers, addresses), callers, pids);
      all.add(FloorPeer.batched(callers, addresses), callers, pids);
      all.add(new BlockingFloor(callers, addresses), callers, pids);
      return all.run(rounds);
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

  private void table(int callers, Map<String, List<Run>> runs) {
    List<Column<Run>> columns =
        List.of(
            Column.PER_SECOND,
            Column.P50,
            Column.P99,
            Column.over("p50 / floor A", runs.get(FloorPeer.PER_CALLER), Run::p50),
            Column.CLIENT,
            Column.SERVERS,
            Column.perCycle("allocated (B)", Counters::allocatedBytes),
            Column.perCycle("switches", Counters::switches),
            Column.perCycle("client calls", Counters::clientCalls),
            Column.perCycle("server calls", Counters::serverCalls));
    report.table(Report.callers(callers), "Per cycle, medians of the rounds.", runs, columns);
  }

  private void judge() {
    Ratio alone = ratio(1, FloorPeer.PER_CALLER, Run::p50);
    report.atMost(1.05, Report.callers(1), "p50 at most 1.05 x floor A", alone);
    for (int callers : List.of(8, 64)) {
      cyclesAtLeast(callers, 0.9, "floor C's", ratio(callers, BlockingFloor.NAME, Run::perSecond));
      cyclesAtLeast(callers, 0.45, "the masters' own", ofMastersAlone(callers));
      Ratio redisson = ratio(callers, RedissonPeer.NAME, Run::perSecond);
      cyclesAtLeast(callers, callers == 8 ? 7 : 11, "Redisson's", redisson);
      Ratio processor =
          ratio(callers, BlockingFloor.NAME, run -> run.perCycle(Counters::clientNanos));
      report.atMost(1.5, Report.callers(callers), "client CPU at most 1.5 x floor C's", processor);
    }
    Map<String, List<Run>> many = results.get(64);
    Ratio async =
        Ratio.of(many.get(RedlockPeer.ASYNC), many.get(FloorPeer.BATCHED), Run::perSecond);
    report.atLeast(0.9, "64 calls, async", "at least 0.9 x floor B's cycles/s", async);
    costs(1, 12, "switches of threads", Counters::switches);
    costs(64, 6_300, "bytes of the client's heap", Counters::allocatedBytes);
  }

  private void cyclesAtLeast(int callers, double least, String whose, Ratio ratio) {
    String target = Text.of("at least %.3g x %s cycles/s", least, whose);
    report.atLeast(least, Report.callers(callers), target, ratio);
  }

  private void costs(int callers, double most, String unit, ToDoubleFunction<Counters> counter) {
    List<Run> runs = results.get(callers).get(RedlockPeer.NAME);
    double measured = Ratio.median(runs, run -> run.perCycle(counter));
    report.target(
        Report.callers(callers),
        Text.of("at most %,.0f %s a cycle", most, unit),
        Report.number(measured),
        measured <= most);
  }

  /** How far anybody could get who runs these scripts here, by count of the masters' time. */
  private void bounds() {
    List<List<String>> rows = new ArrayList<>();
    for (int callers : List.of(8, 64)) {
      List<Ratio> ratios =
          List.of(
              ratio(callers, RedissonPeer.NAME, Run::perSecond),
              overRedisson(callers, FloorPeer.BATCHED),
              overRedisson(callers, BlockingFloor.NAME),
              ratio(callers, RedissonPeer.NAME, Uncontended::mastersAllow, Run::perSecond));
      Stream<String> cells = ratios.stream().map(Ratio::toString);
      rows.add(Stream.concat(Stream.of(Report.callers(callers)), cells).toList());
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

  private Ratio overRedisson(int callers, String peer) {
    Map<String, List<Run>> runs = results.get(callers);
    return Ratio.of(runs.get(peer), runs.get(RedissonPeer.NAME), Run::perSecond);
  }

  /** The share of what the masters alone allow. */
  private Ratio ofMastersAlone(int callers) {
    return ratio(callers, RedlockPeer.NAME, Run::perSecond, Uncontended::mastersAllow);
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
}
