package io.redlock.bench;

import io.redlock.testbed.RedisServers;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Four JVMs with four threads each that all want the same resource, and hold it for no time. */
final class Contention {

  static final int PROCESSES = 4;
  private static final Rounds ROUNDS = Rounds.ofMillis(5, 3_000, 4_000);

  private final Report report;

  /** What one round gave: how often the resource was held, in all and per process. */
  record Handoffs(double perSecond, double mostOverLeast) {}

  Contention(Report report) {
    this.report = report;
  }

  void run() throws Exception {
    try (RedisServers servers = RedisServers.start(5)) {
      List<String> masters = List.of(servers.addresses());
      Map<String, List<String>> peers = new LinkedHashMap<>();
      peers.put(RedlockPeer.NAME, masters);
      peers.put(Contender.FAIR, masters);
      peers.put(RedissonPeer.NAME, masters);
      show(measure(peers, ROUNDS));
    }
  }

  /** Lets processes contend with each of the peers in turn, at those addresses. */
  static Map<String, List<Handoffs>> measure(Map<String, List<String>> peers, Rounds rounds)
      throws Exception {
    String[] args =
        peers.entrySet().stream()
            .map(peer -> peer.getKey() + "|" + String.join("|", peer.getValue()))
            .toArray(String[]::new);
    Map<String, List<Handoffs>> results = new LinkedHashMap<>();
    List<ChildJvm> processes = new ArrayList<>();
    try {
      for (int i = 0; i < PROCESSES; i++) {
        processes.add(new ChildJvm(System.getProperty("java.home"), Contender.class, args));
      }
      for (String peer : peers.keySet()) {
        handoffs(processes, peer, rounds.warmUp().toMillis());
      }
      for (int round = 0; round < rounds.count(); round++) {
        for (String peer : peers.keySet()) {
          results
              .computeIfAbsent(peer, name -> new ArrayList<>())
              .add(handoffs(processes, peer, rounds.each().toMillis()));
        }
      }
      return results;
    } finally {
      processes.forEach(ChildJvm::close);
    }
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
