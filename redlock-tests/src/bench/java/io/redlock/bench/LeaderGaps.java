package io.redlock.bench;

import io.redlock.testkit.RedisServers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/**
 * How long nobody leads: from the moment at which a leader resigns, is killed or is stopped, to the
 * beginning of the work of the next. The candidates are processes.
 */
final class LeaderGaps {

  static final Duration TTL = Duration.ofSeconds(2);
  private static final int CANDIDATES = 3;
  private static final int ROUNDS = 15;

  private final Report report;

  LeaderGaps(Report report) {
    this.report = report;
  }

  void run() throws Exception {
    int rounds =
        Math.max(2, (int) (ROUNDS * Double.parseDouble(System.getProperty("bench.scale"))));
    try (RedisServers servers = RedisServers.startBrandNew(5);
        Election election = new Election(CANDIDATES, servers.addresses())) {
      List<List<String>> rows = new ArrayList<>();
      rows.add(row("resigns", rounds, election, Election::resign));
      rows.add(row("is killed", rounds, election, Election::kill));
      rows.add(row("is stopped", rounds, election, Election::stop));
      report.table(
          "How long nobody leads",
          CANDIDATES
              + " candidates with a ttl of "
              + TTL.toSeconds()
              + " s, on five masters; "
              + rounds
              + " times each. From the fault to the beginning of the next leader's work.",
          List.of("the leader", "median (ms)", "longest (ms)"),
          rows);
    }
  }

  private interface Fault {
    /** Strikes the leader, and returns when the next one began to work, after how many ns. */
    long strike(Election election) throws Exception;
  }

  private static List<String> row(String what, int rounds, Election election, Fault fault)
      throws Exception {
    long[] nanos = new long[rounds];
    for (int round = 0; round < rounds; round++) {
      nanos[round] = fault.strike(election);
    }
    Arrays.sort(nanos);
    return List.of(what, millis(nanos[rounds / 2]), millis(nanos[rounds - 1]));
  }

  private static String millis(long nanos) {
    return String.format(Locale.ROOT, "%.1f", nanos / 1e6);
  }
}
