package io.redlock.bench;

import io.redlock.testkit.RedisServers;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Four JVMs with four threads each that all want the same resource, and hold it for no time. */
final class Contention {

  private static final int PROCESSES = 4;
  private static final Rounds ROUNDS = Rounds.ofMillis(5, 3_000, 4_000);

  private final Report report;

  /** What one round gave: how often the resource was held, in all and per process. */
  private record Handoffs(double perSecond, double mostOverLeast) {}

  Contention(Report report) {
    this.report = report;
  }

  void run() throws Exception {
    try (RedisServers servers = RedisServers.start(5)) {
      List<ChildJvm> processes = new ArrayList<>();
      try {
        String home = System.getProperty("java.home");
        for (int i = 0; i < PROCESSES; i++) {
          processes.add(new ChildJvm(home, Contender.class, servers.addresses()));
        }
        show(measure(processes));
      } finally {
        processes.forEach(ChildJvm::close);
      }
    }
  }

  private static Map<String, List<Handoffs>> measure(List<ChildJvm> processes) throws Exception {
    Map<String, List<Handoffs>> results = new LinkedHashMap<>();
    results.put(RedlockPeer.NAME, new ArrayList<>());
    results.put(Contender.FAIR, new ArrayList<>());
    results.put(RedissonPeer.NAME, new ArrayList<>());
    for (String peer : results.keySet()) {
      handoffs(processes, peer, ROUNDS.warmUp().toMillis());
    }
    for (int round = 0; round < ROUNDS.count(); round++) {
      for (Map.Entry<String, List<Handoffs>> each : results.entrySet()) {
        each.getValue().add(handoffs(processes, each.getKey(), ROUNDS.each().toMillis()));
      }
    }
    return results;
  }

  private static Handoffs handoffs(List<ChildJvm> processes, String peer, long millis)
      throws Exception {
    long start = System.nanoTime();
    processes.forEach(process -> process.ask(peer + "|" + millis));
    List<Long> counts = new ArrayList<>();
    for (ChildJvm process : processes) {
      counts.add(Long.parseLong(process.answer()));
    }
    double seconds = (System.nanoTime() - start) / 1e9;
    double sum = counts.stream().mapToLong(Long::longValue).sum();
    double most = counts.stream().mapToLong(Long::longValue).max().orElse(0);
    double least = counts.stream().mapToLong(Long::longValue).min().orElse(0);
    return new Handoffs(sum / seconds, most / Math.max(1, least));
  }

  private void show(Map<String, List<Handoffs>> results) {
    List<List<String>> rows = new ArrayList<>();
    results.forEach(
        (name, of) ->
            rows.add(
                List.of(
                    name,
                    Report.number(Ratio.median(of, Handoffs::perSecond)),
                    Report.number(Ratio.median(of, Handoffs::mostOverLeast)))));
    report.table(
        "Contention",
        PROCESSES
            + " JVMs with "
            + Contender.THREADS
            + " threads each contend for one resource and release it at once. Handoffs are counted"
            + " over all.",
        List.of("", "handoffs/s", "most / least per process"),
        rows);
    Ratio ratio =
        Ratio.of(
            results.get(RedlockPeer.NAME), results.get(RedissonPeer.NAME), Handoffs::perSecond);
    report.target(
        "4 JVMs x 4 threads contend",
        "at least 4 x Redisson's handoffs/s",
        ratio,
        ratio.median() >= 4);
    Ratio shares =
        Ratio.of(
            results.get(Contender.FAIR).stream().mapToDouble(Handoffs::mostOverLeast).toArray());
    report.target(
        "the same, fairly",
        "no process gets more than 1.5 x another's share",
        shares,
        shares.median() <= 1.5);
  }
}
