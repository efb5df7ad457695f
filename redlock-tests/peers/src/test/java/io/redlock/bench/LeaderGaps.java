package io.redlock.bench;

import io.redlock.testbed.RedisServers;
import io.redlock.testbed.Text;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.HdrHistogram.Histogram;

/**
 * How long nobody leads: from the moment at which a leader resigns, is killed or is stopped, to the
 * beginning of the work of the next. The candidates are processes, beside those of a {@code
 * LeaderLatch} on ZooKeeper, in turn.
 */
record LeaderGaps(Report report) {

  static final Duration TTL = Duration.ofSeconds(2);
  private static final int CANDIDATES = 3;
  private static final int ROUNDS = 15;

  /** Short: ZooKeeper rounds the end of a session up to a whole tick. */
  private static final int TICK_MILLIS = 200;

  void run() throws Exception {
    int rounds =
        Math.max(2, (int) (ROUNDS * Double.parseDouble(System.getProperty("bench.scale"))));
    try (RedisServers servers = RedisServers.start(5);
        Ensemble members = ZooKeeperServers.start(true, TICK_MILLIS, Distance.none());
        Election redlock = new Election(CandidateMain.class, CANDIDATES, servers.addresses());
        Election latch =
            new Election(
                LatchCandidateMain.class, CANDIDATES, members.addresses().toArray(String[]::new))) {
      List<List<String>> rows = new ArrayList<>();
      rows.add(row("resigns", rounds, redlock, latch, Election::resign));
      rows.add(row("is killed", rounds, redlock, latch, Election::kill));
      rows.add(row("is stopped", rounds, redlock, latch, Election::stop));
      report.table(
          "How long nobody leads",
          Text.of(
              """
          %d candidates with a ttl of %d s, on five masters; %d times each. Beside them, \
          Curator's `LeaderLatch` on three members of ZooKeeper with a session of the same length \
          and a tick of %d ms. From the fault to the beginning of the next leader's work.""",
              CANDIDATES, TTL.toSeconds(), rounds, TICK_MILLIS),
          List.of("the leader", "median (ms)", "longest", "`LeaderLatch`, median", "longest"),
          rows);
    }
  }

  private interface Fault {
    /** Strikes the leader, and returns when the next one began to work, after how many ns. */
    long strike(Election election) throws Exception;
  }

  private static List<String> row(
      String what, int rounds, Election redlock, Election latch, Fault fault) throws Exception {
    Histogram ours = new Histogram(3);
    Histogram theirs = new Histogram(3);
    for (int round = 0; round < rounds; round++) {
      ours.recordValue(fault.strike(redlock));
      theirs.recordValue(fault.strike(latch));
    }
    return List.of(
        what, millis(ours, 50), millis(ours, 100), millis(theirs, 50), millis(theirs, 100));
  }

  private static String millis(Histogram nanos, int percent) {
    return Report.number(nanos.getValueAtPercentile(percent) / 1e6);
  }
}
