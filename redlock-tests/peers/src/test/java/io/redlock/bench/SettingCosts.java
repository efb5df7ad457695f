package io.redlock.bench;

import io.redlock.bench.ClosedLoop.Run;
import io.redlock.jedis.scripts.Script;
import io.redlock.spi.HolderLabel;
import io.redlock.testbed.RedisServer;
import io.redlock.testbed.RedisServers;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import redis.clients.jedis.Connection;

/** What settings take: the same callers with one and another, each on five masters. */
record SettingCosts(Report report) {

  private static final String ON = "guard on";
  private static final String OFF = "guard off";
  private static final String USUAL = "billing@pod-7:4211";
  private static final String LONG = "label of 64 characters";
  private static final String SHORT = "label of 1 character";
  private static final int AUDITS = 20_000;

  /** The restart guard: with it and without. */
  void guard() throws Exception {
    // Masters know one setting of the guard.
    try (RedisServers guarded = RedisServers.start(5);
        RedisServers plain = RedisServers.startBrandNew(5).founded()) {
      for (int callers : List.of(1, 8)) {
        try (Comparison all = new Comparison()) {
          add(all, callers, guarded, new RedlockPeer(ON, s -> s, guarded.addresses()));
          add(
              all,
              callers,
              plain,
              new RedlockPeer(OFF, s -> s.restartGuard(false), plain.addresses()));
          Map<String, List<Run>> runs = all.run(rounds(101));
          String workload = "restart guard, " + Report.callers(callers);
          report.table(
              workload,
              "",
              runs,
              List.of(Column.PER_SECOND, Column.P50, Column.SERVERS, Column.CLIENT));
          Ratio cycles = Ratio.of(runs.get(ON), runs.get(OFF), Run::perSecond);
          report.atLeast(0.9, workload, "at least 0.9 x the cycles/s without it", cycles);
        }
      }
      audit(guarded.get(0));
    }
  }

  private static void add(Comparison all, int callers, RedisServers servers, Peer peer) {
    all.add(peer, callers, Comparison.pids(servers));
  }

  /** Many and short: the difference is less than a machine differs by from one second on. */
  private static Rounds rounds(int count) {
    return Rounds.ofMillis(count, 150, 4_000);
  }

  /** Prints what docs/operations.md says: the processor time of a master for one audit. */
  private void audit(RedisServer master) {
    String text = new String(Script.AUDIT.text.getRaw(), StandardCharsets.UTF_8);
    String digest = String.valueOf(master.command("SCRIPT", "LOAD", text));
    master.command("CONFIG", "RESETSTAT");
    try (Connection connection = master.connect()) {
      for (int number = 0; number < AUDITS; number++) {
        RedisServer.command(connection, "EVALSHA", digest, "1", "redlock:birth", "" + number);
      }
    }
    Matcher perCall =
        Pattern.compile("cmdstat_evalsha:calls=" + AUDITS + ",.*?usec_per_call=([\\d.]+)")
            .matcher(String.valueOf(master.command("INFO", "commandstats")));
    if (!perCall.find()) {
      throw new IllegalStateException("other scripts ran");
    }
    report.table("one audit", "", List.of("server CPU (us)"), List.of(List.of(perCall.group(1))));
  }

  /** The label in owner ids: a usual and the longest one against a single character. */
  void label() throws Exception {
    Map<String, String> labels =
        Map.of(LONG, "x".repeat(HolderLabel.MAX_LENGTH), USUAL, USUAL, SHORT, "x");
    try (RedisServers servers = RedisServers.start(5)) {
      for (int callers : List.of(1, 8)) {
        try (Comparison all = new Comparison()) {
          for (String name : List.of(LONG, USUAL, SHORT)) {
            String label = labels.get(name);
            add(
                all,
                callers,
                servers,
                new RedlockPeer(name, s -> s.holder(label), servers.addresses()));
          }
          Map<String, List<Run>> runs = all.run(rounds(151));
          String workload = "holder's label, " + Report.callers(callers);
          report.table(workload, "", runs, List.of(Column.PER_SECOND, Column.P50));
          String target = "at least 0.97 x the cycles/s with a label of 1 character";
          Ratio cycles = Ratio.of(runs.get(USUAL), runs.get(SHORT), Run::perSecond);
          report.atLeast(0.97, workload, target, cycles);
        }
      }
    }
  }
}
