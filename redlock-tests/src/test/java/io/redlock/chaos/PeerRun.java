package io.redlock.chaos;

import io.redlock.chaos.ChaosPlan.Strike;
import io.redlock.chaos.history.Finding;
import io.redlock.chaos.history.History;
import io.redlock.chaos.history.PeerVerdict;
import io.redlock.chaos.peers.PeerLibrary;
import io.redlock.chaos.picture.Picture;
import io.redlock.simulation.SimInvariant;
import java.nio.file.Path;
import java.time.Duration;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/** One run of a schedule with one seed, with the clients of one library. */
final class PeerRun {

  /** Where histories and pictures go, a folder a run. */
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
      Duration took) {

    /** One line. */
    String summary() {
      Map<SimInvariant, Integer> kinds = new TreeMap<>();
      verdict.findings().forEach(finding -> kinds.merge(finding.invariant(), 1, Integer::sum));
      return String.format(
          Locale.ROOT,
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

    /** Where its history and its picture are. */
    Path folder() {
      return PeerRun.folder(peer, schedule, seed);
    }

    History history() {
      return History.read(List.of(folder().resolve("history.tsv")));
    }
  }

  private final PeerLibrary peer;
  private final Schedule schedule;
  private final long seed;

  private PeerRun(PeerLibrary peer, Schedule schedule, long seed) {
    this.peer = peer;
    this.schedule = schedule;
    this.seed = seed;
  }

  private static Path folder(PeerLibrary peer, Schedule schedule, long seed) {
    return FOLDER.resolve(peer.id() + "-" + schedule.name() + "-" + seed);
  }

  static Report of(PeerLibrary peer, Schedule schedule, long seed) {
    return new PeerRun(peer, schedule, seed).run();
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
  private ChaosPlan plan(int servers) {
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

  private Report run() {
    long startNanos = System.nanoTime();
    int servers = PeerDeployment.servers(peer, schedule);
    ChaosTerms terms = schedule.nodes(servers).terms();
    Path folder = folder(peer, schedule, seed);
    History history;
    Nemesis nemesis;
    try (PeerDeployment deployment = new PeerDeployment(peer, terms, folder)) {
      long beganNanos = System.nanoTime();
      deployment.clients.forEach(client -> work(client, beganNanos));
      nemesis =
          new Nemesis(
              deployment.servers,
              deployment.clients,
              deployment.journal,
              client -> work(client, beganNanos));
      nemesis.execute(plan(servers));
      finish(deployment, terms);
      history = deployment.history();
    }
    PeerDeployment.tidy(folder);
    int tolerates = peer.servers == PeerLibrary.Servers.PAIR ? 1 : (servers - 1) / 2;
    PeerVerdict verdict = PeerVerdict.of(history, peer.judged(), tolerates);
    long struck = nemesis.counts().values().stream().mapToLong(Long::longValue).sum();
    Duration took = Duration.ofNanos(System.nanoTime() - startNanos);
    Report report = new Report(peer, schedule, seed, verdict, struck, took);
    List<Finding> findings = verdict.findings();
    Path picture = folder.resolve("run.html");
    Picture.draw(history, findings, peer.title + ": " + schedule.name(), report.summary(), picture);
    return report;
  }

  /** Every caller works until the end of the schedule. */
  private void work(ChaosClient client, long beganNanos) {
    long leftMillis = schedule.length().minusNanos(System.nanoTime() - beganNanos).toMillis();
    client.work(schedule, seed, leftMillis);
  }

  /** Now that all faults are over: each client gets each resource, everybody ends, all is free. */
  private void finish(PeerDeployment deployment, ChaosTerms terms) {
    for (ChaosClient client : deployment.clients) {
      for (int caller = 0; caller < schedule.callers(); caller++) {
        ask(deployment, client, caller + " work", false);
      }
    }
    deployment.journal.note("harness worked");
    long ttlMillis = terms.maxTtl().toMillis();
    long patience = terms.patienceMillis();
    for (ChaosClient client : deployment.clients) {
      for (String resource : DeploymentUnderFaults.RESOURCES) {
        String order = "0 must " + resource + " " + ttlMillis + " " + patience;
        if (ask(deployment, client, order, true)) {
          ask(deployment, client, "0 release", true);
        }
      }
    }
    for (ChaosClient client : deployment.clients) {
      stop(deployment, client);
    }
    if (peer.judged().contains(SimInvariant.I5)) {
      deployment.awaitFree(terms.maxTtl().plusSeconds(5));
    }
  }

  private static void stop(PeerDeployment deployment, ChaosClient client) {
    try {
      if (client.isRunning()) {
        client.process().stop();
      }
    } catch (IllegalStateException e) {
      giveUp(deployment, client, "close: " + e.getMessage());
    }
  }

  private static void giveUp(PeerDeployment deployment, ChaosClient client, String what) {
    deployment.journal.note("%s hung what=%s", client.process().name(), what);
    client.kill();
  }

  /** A call that does not return is the library's; its process is given up. */
  private static boolean ask(
      PeerDeployment deployment, ChaosClient client, String order, boolean first) {
    if (!client.isRunning()) {
      return false;
    }
    try {
      if (first) {
        client.process().order(order);
      }
      String outcome = client.process().outcome(order);
      if (outcome.startsWith("failed")) {
        throw new IllegalStateException(client.process().name() + " " + order + ": " + outcome);
      }
      return outcome.equals("true");
    } catch (AssertionError e) {
      giveUp(deployment, client, order + ": " + e.getMessage());
      return false;
    }
  }
}
