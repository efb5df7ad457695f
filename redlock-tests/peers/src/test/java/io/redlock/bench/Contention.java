package io.redlock.bench;

import io.redlock.testbed.RedisServers;
import io.redlock.testbed.Text;
import io.redlock.testkit.JavaProgram;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.LongSummaryStatistics;
import java.util.Map;
import java.util.function.Function;

/** Four JVMs with four threads each that all want the same resource, and hold it for no time. */
record Contention(Report report) {

  private static final int PROCESSES = 4;

  /** What all peers do. */
  static final String WORKLOAD =
      Text.of(
          "%d JVMs with %d threads each contend for one resource and release it at once.",
          PROCESSES, Contender.THREADS);

  private static final Rounds ROUNDS = Rounds.ofMillis(5, 3_000, 4_000);

  /** What one round gave: how often the resource was held, in all and per process. */
  record Handoffs(double perSecond, double mostOverLeast) {

    static final List<Column<Handoffs>> COLUMNS =
        List.of(
            Column.median("hand-offs/s", Handoffs::perSecond),
            Column.median("most / least per process", Handoffs::mostOverLeast));
  }

  void run() throws Exception {
    try (RedisServers servers = RedisServers.start(5)) {
      List<String> masters = List.of(servers.addresses());
      Map<String, List<String>> peers = new LinkedHashMap<>();
      peers.put(RedlockPeer.NAME, masters);
      peers.put(RedlockPeer.GRANTED, masters);
      peers.put(RedlockPeer.FAIR, masters);
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
    List<JavaProgram.Running> processes = new ArrayList<>();
    try {
      for (int i = 0; i < PROCESSES; i++) {
        processes.add(Jvms.start(Contender.class, args));
      }
      Map<String, Rounds.Measured<Handoffs>> compared = new LinkedHashMap<>();
      for (String peer : peers.keySet()) {
        compared.put(peer, time -> handoffs(processes, peer, time.toMillis()));
      }
      return rounds.run(compared);
    } finally {
      processes.forEach(JavaProgram.Running::close);
    }
  }

  private static Handoffs handoffs(List<JavaProgram.Running> processes, String peer, long millis)
      throws Exception {
    long start = System.nanoTime();
    for (JavaProgram.Running process : processes) {
      process.ask(peer + "|" + millis);
    }
    List<Long> counts = new ArrayList<>();
    for (JavaProgram.Running process : processes) {
      counts.add(Long.parseLong(process.answer()));
    }
    double seconds = (System.nanoTime() - start) / 1e9;
    LongSummaryStatistics all = counts.stream().mapToLong(Long::longValue).summaryStatistics();
    double most = all.getMax();
    return new Handoffs(all.getSum() / seconds, most / Math.max(1, all.getMin()));
  }

  private void show(Map<String, List<Handoffs>> results) {
    report.table(
        "Contention", WORKLOAD + " Hand-offs are counted over all.", results, Handoffs.COLUMNS);
    String who = "4 JVMs x 4 threads contend";
    Function<String, Ratio> ratio =
        other -> Ratio.of(results.get(RedlockPeer.NAME), results.get(other), Handoffs::perSecond);
    report.atLeast(4, who, "at least 4 x Redisson's hand-offs/s", ratio.apply(RedissonPeer.NAME));
    report.atLeast(5, who, "at least 5 x a grant a turn", ratio.apply(RedlockPeer.GRANTED));
    report.atMost(
        1,
        who,
        "most / least share not above that of a grant a turn",
        Ratio.of(
            results.get(RedlockPeer.NAME),
            results.get(RedlockPeer.GRANTED),
            Handoffs::mostOverLeast));
    double[] shares =
        results.get(RedlockPeer.FAIR).stream().mapToDouble(Handoffs::mostOverLeast).toArray();
    report.atMost(
        1.5,
        "the same, fairly",
        "no process gets more than 1.5 x another's share",
        Ratio.of(shares));
  }
}
