package io.redlock.chaos;

import io.redlock.chaos.history.Finding;
import io.redlock.chaos.history.History;
import io.redlock.chaos.history.HistoryVerdict;
import io.redlock.chaos.picture.Picture;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;

/** One run of a schedule with one seed: begun, struck, healed, checked and drawn. */
final class ChaosRun {

  /** Where histories and pictures go, a folder a run. */
  static final Path FOLDER = Path.of("target", "chaos");

  /** What came of a run. */
  record Report(
      Schedule schedule,
      long seed,
      HistoryVerdict verdict,
      Map<ChaosFault, Long> faults,
      Path folder,
      Duration took) {

    /** One line. */
    String summary() {
      long struck = faults.values().stream().mapToLong(Long::longValue).sum();
      return String.format(
          Locale.ROOT,
          "chaos: %s, seed %d: %d nodes, %d clients, %,d operations, %,d leases, %d faults, "
              + "%d updates lost unfenced, %d violations, %.1f s",
          schedule.name(),
          seed,
          schedule.terms().nodes(),
          schedule.terms().clients(),
          verdict.operations(),
          verdict.leases(),
          struck,
          verdict.unfencedLosses(),
          verdict.findings().size(),
          took.toMillis() / 1e3);
    }

    /** What was found, and how to see it again. */
    String failure() {
      String found =
          verdict.findings().stream()
              .limit(20)
              .map(finding -> "  " + finding.invariant() + ": " + finding.what())
              .collect(Collectors.joining("\n"));
      return summary()
          + "\n"
          + found
          + "\n  history and picture in "
          + folder.toAbsolutePath()
          + "\n  once more: -Dtest=ChaosTest -Dchaos.schedule="
          + schedule.name()
          + " -Dchaos.seed="
          + seed;
    }

    boolean has(io.redlock.simulation.SimInvariant invariant) {
      return verdict.findings().stream().map(Finding::invariant).anyMatch(invariant::equals);
    }
  }

  private final Schedule schedule;
  private final long seed;

  private ChaosRun(Schedule schedule, long seed) {
    this.schedule = schedule;
    this.seed = seed;
  }

  static Report of(Schedule schedule, long seed) {
    return new ChaosRun(schedule, seed).run();
  }

  private Report run() {
    long startNanos = System.nanoTime();
    Path folder = FOLDER.resolve(schedule.name() + "-" + seed);
    ChaosTerms terms = schedule.terms();
    try (ChaosDeployment deployment = new ChaosDeployment(terms, folder, schedule.keepsTime())) {
      long beganNanos = System.nanoTime();
      deployment.clients.forEach(client -> work(client, beganNanos));
      Nemesis nemesis = new Nemesis(deployment, client -> work(client, beganNanos));
      nemesis.execute(ChaosPlan.of(schedule, seed));
      finish(deployment);
      History history = deployment.history();
      HistoryVerdict verdict = HistoryVerdict.of(history);
      Duration took = Duration.ofNanos(System.nanoTime() - startNanos);
      Report report = new Report(schedule, seed, verdict, nemesis.counts(), folder, took);
      Path picture = folder.resolve("run.html");
      Picture.draw(
          history, verdict.findings(), "Chaos: " + schedule.name(), report.summary(), picture);
      return report;
    }
  }

  /** Every caller works until the end of the schedule. */
  private void work(ChaosClient client, long beganNanos) {
    long leftMillis = schedule.length().minusNanos(System.nanoTime() - beganNanos).toMillis();
    for (int caller = 0; caller < schedule.callers(); caller++) {
      long callerSeed = seed * 1_000_003 + client.process().name().hashCode() * 31L + caller;
      client
          .process()
          .order(
              String.format(
                  Locale.ROOT,
                  "%d %s %d %d %d %d",
                  caller,
                  schedule.task(),
                  callerSeed,
                  Math.max(1, leftMillis),
                  ChaosDeployment.RESOURCES.size(),
                  schedule.terms().maxTtl().toMillis()));
    }
  }

  /**
   * Now that all faults are over: each client gets each resource and finds every master up,
   * everybody ends, all is free.
   */
  private void finish(ChaosDeployment deployment) {
    for (ChaosClient client : deployment.clients) {
      for (int caller = 0; caller < schedule.callers(); caller++) {
        client.process().outcome(caller + " " + schedule.task());
      }
    }
    ChaosTerms terms = schedule.terms();
    long patience = 4 * terms.maxTtl().toMillis() + 2 * terms.skew().toMillis() + 20_000;
    for (ChaosClient client : deployment.clients) {
      for (String resource : ChaosDeployment.RESOURCES) {
        String order =
            "0 must " + resource + " " + schedule.terms().maxTtl().toMillis() + " " + patience;
        if (client.process().ask(order).equals("true")) {
          client.process().ask("0 release");
        }
      }
      client.process().awaitMasters(patience);
    }
    deployment.stopClients();
    deployment.awaitFree(terms.maxTtl().plusSeconds(5)); // a slow master may set a key late
  }
}
