package io.redlock.bench;

import io.redlock.bench.ClosedLoop.Run;
import io.redlock.jedis.scripts.Script;
import io.redlock.testbed.RedisServer;
import io.redlock.testbed.RedisServers;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import redis.clients.jedis.Connection;

/** What the restart guard takes: the same callers with it and without, each on five masters. */
final class GuardCost {

  /**
   * Many and short: the difference is smaller than what a machine differs by from one second on.
   */
  private static final Rounds ROUNDS = Rounds.ofMillis(101, 150, 4_000);

  private static final int AUDITS = 20_000;
  private static final double TARGET = 0.9;
  private static final String ON = "guard on";
  private static final String OFF = "guard off";
  private static final List<String> HEAD =
      List.of("", "cycles/s", "p50 (us)", "servers CPU (us)", "client CPU (us)");

  private final Report report;

  GuardCost(Report report) {
    this.report = report;
  }

  void run() throws Exception {
    // Masters know one setting of the guard.
    try (RedisServers guarded = RedisServers.start(5);
        RedisServers plain = RedisServers.startBrandNew(5)) {
      for (int callers : List.of(1, 8)) {
        measure(callers, guarded, plain);
      }
      audit(guarded.get(0));
    }
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
    report.print("one audit", List.of("server CPU (us)"), List.of(List.of(perCall.group(1))));
  }

  private void measure(int callers, RedisServers guarded, RedisServers plain) throws Exception {
    try (Peer on = new RedlockPeer(true, Uncontended.PATIENT, guarded.addresses());
        Peer off = new RedlockPeer(false, Uncontended.PATIENT, plain.addresses())) {
      Map<String, ClosedLoop> loops = new LinkedHashMap<>();
      loops.put(ON, new ClosedLoop(on.cycles(callers), Thread::new, Uncontended.pids(guarded)));
      loops.put(OFF, new ClosedLoop(off.cycles(callers), Thread::new, Uncontended.pids(plain)));
      Map<String, List<Run>> runs = ROUNDS.run(loops);
      String workload = "restart guard, " + callers + (callers == 1 ? " caller" : " callers");
      List<List<String>> rows = new ArrayList<>();
      runs.forEach((name, of) -> rows.add(row(name, of)));
      report.print(workload, HEAD, rows);
      Ratio cycles = Ratio.of(runs.get(ON), runs.get(OFF), Run::perSecond);
      report.target(
          workload, "at least 0.9 x the cycles/s without it", cycles, cycles.median() >= TARGET);
    }
  }

  private static List<String> row(String name, List<Run> runs) {
    return List.of(
        name,
        Report.number(Ratio.median(runs, Run::perSecond)),
        Report.number(Ratio.median(runs, Run::p50)),
        Uncontended.perCycle(runs, counters -> counters.serverNanos() / 1_000),
        Uncontended.perCycle(runs, counters -> counters.clientNanos() / 1_000));
  }
}
