package io.redlock.chaos;

import io.redlock.chaos.ChaosPlan.Strike;
import io.redlock.chaos.history.History;
import io.redlock.chaos.history.PeerVerdict;
import io.redlock.chaos.peers.PeerLibrary;
import io.redlock.simulation.SimInvariant;
import io.redlock.testbed.Text;
import java.nio.file.Path;
import java.time.Duration;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/** One run of a schedule with one seed, with the clients of one library. */
final class PeerRun {

  /** Where histories go, a folder a run. */
  static final Path FOLDER = Path.of("target", "peers");

  /** What has no counterpart with any peer. */
  private static final Set<ChaosFault> OURS_ALONE =
      EnumSet.of(ChaosFault.NODE_CLOCK, ChaosFault.CLIENT_SETS_FREE, ChaosFault.LINK_DUPLICATES);

  /**
   * What Sentinels do themselves, what they end (they kill a script that keeps a server busy), and
   * what cannot be done to a replica or its files.
   */
  private static final Set<ChaosFault> NOT_OF_A_PAIR =
      EnumSet.of(
          ChaosFault.NODE_BUSY,
          ChaosFault.NODE_DEMOTION,
          ChaosFault.NODE_FLUSH,
          ChaosFault.NODE_LOADING,
          ChaosFault.NODE_FAILED_SAVE);

  /** What came of a run. */
  record Report(
      PeerLibrary peer,
      Schedule schedule,
      long seed,
      PeerVerdict verdict,
      long faults,
      Path folder,
      Duration took) {

    /** One line. */
    String summary() {
      Map<SimInvariant, Integer> kinds = new TreeMap<>();
      verdict.findings().forEach(finding -> kinds.merge(finding.invariant(), 1, Integer::sum));
      return Text.of(
          "peers: %s, %s, seed %d: %,d operations, %,d locks, %d faults, %d updates lost unfenced,"
              + " longest gap %d ms, found %s, %.1f s",
          peer.id(),
          schedule.name(),
          seed,
          verdict.operations(),
          verdict.leases(),
          faults,
          verdict.unfencedLosses(),
          verdict.longestGapNanos() / 1_000_000,
          kinds.isEmpty() ? "nothing" : kinds,
          took.toMillis() / 1e3);
    }

    History history() {
      return History.read(List.of(folder.resolve("history.tsv")));
    }
  }

  private PeerRun() {}

  static Report of(PeerLibrary peer, Schedule schedule, long seed) {
    long startNanos = System.nanoTime();
    int servers = PeerDeployment.servers(peer, schedule);
    ChaosTerms terms = schedule.nodes(servers).terms();
    Path folder = FOLDER.resolve(peer.id() + "-" + schedule.name() + "-" + seed);
    History history;
    long struck;
    try (PeerDeployment deployment = new PeerDeployment(peer, terms, folder)) {
      ScheduleRun run = new ScheduleRun(schedule, seed, deployment);
      run.play(plan(peer, schedule, seed, servers), () -> {});
      history = deployment.history();
      struck = run.nemesis.counts().values().stream().mapToLong(Long::longValue).sum();
    }
    int tolerates = peer.servers == PeerLibrary.Servers.PAIR ? 1 : (servers - 1) / 2;
    PeerVerdict verdict = PeerVerdict.of(history, peer.judged(), tolerates);
    Duration took = Duration.ofNanos(System.nanoTime() - startNanos);
    return new Report(peer, schedule, seed, verdict, struck, folder, took);
  }

  /** The schedules that a peer can play. */
  static List<Schedule> schedules(PeerLibrary peer) {
    return Schedules.all().stream()
        .filter(schedule -> schedule.task().equals("work"))
        .filter(schedule -> schedule.keepsTime() && schedule.obstacle().isEmpty())
        .filter(schedule -> !schedule.faults().contains(ChaosFault.CLIENT_SETS_FREE))
        .filter(schedule -> !schedule.changes())
        .filter(
            schedule ->
                schedule.faults().isEmpty()
                    || schedule.faults().stream().anyMatch(fault -> hasCounterpart(peer, fault)))
        .toList();
  }

  private static boolean hasCounterpart(PeerLibrary peer, ChaosFault fault) {
    return !OURS_ALONE.contains(fault)
        && switch (peer.servers) {
          case MASTERS, ONE -> true;
          case PAIR -> !NOT_OF_A_PAIR.contains(fault);
          case ENSEMBLE ->
              fault.target != ChaosFault.Target.NODE
                  || fault == ChaosFault.NODE_KILL
                  || fault == ChaosFault.NODE_PAUSE;
        };
  }

  /** The strikes of the schedule, those aside at servers or with faults that the peer has not. */
  private static ChaosPlan plan(PeerLibrary peer, Schedule schedule, long seed, int servers) {
    Schedule drawn = peer.servers == PeerLibrary.Servers.MASTERS ? schedule : schedule.nodes(3);
    List<Strike> strikes =
        ChaosPlan.of(drawn, seed).strikes().stream()
            .filter(
                strike ->
                    strike.node() < servers || strike.fault().target == ChaosFault.Target.CLIENT)
            .filter(strike -> hasCounterpart(peer, strike.fault()))
            .toList();
    return new ChaosPlan(strikes);
  }
}
