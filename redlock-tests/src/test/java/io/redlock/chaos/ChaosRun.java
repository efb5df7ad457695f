package io.redlock.chaos;

import io.redlock.chaos.history.History;
import io.redlock.chaos.history.HistoryVerdict;
import io.redlock.chaos.picture.Picture;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.stream.Collectors;

/** One run of a schedule with one seed: begun, struck, healed, checked and drawn. */
final class ChaosRun {

  /** Where histories and pictures go, a folder a run. */
  static final Path FOLDER = Path.of("target", "chaos");

  /** Between two leases that a client acquires for itself while the masters change. */
  private static final int PULSE_MILLIS = 200;

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
          "chaos: %s, seed %d: %s, %d clients, %,d operations, %,d leases, %d faults, "
              + "%d updates lost unfenced, %s%d violations, %.1f s",
          schedule.name(),
          seed,
          schedule.terms().masters(),
          schedule.terms().clients(),
          verdict.operations(),
          verdict.leases(),
          struck,
          verdict.unfencedLosses(),
          schedule.changes()
              ? "longest gap %d ms in %d s that count, "
                  .formatted(
                      verdict.longestGapNanos() / 1_000_000, verdict.servedNanos() / 1_000_000_000)
              : "",
          verdict.findings().size(),
          took.toMillis() / 1e3);
    }

    /** What was found, and how to see it again. */
    String failure() {
      String found =
          verdict.findings().stream()
              .limit(20)
              .map(finding -> "  " + finding.invariant() + ": " + finding.what() + "\n")
              .collect(Collectors.joining());
      return """
          %s
          %s  history and picture in %s
            once more: -Dtest=ChaosTest -Dchaos.schedule=%s -Dchaos.seed=%d"""
          .formatted(summary(), found, folder.toAbsolutePath(), schedule.name(), seed);
    }
  }

  private final Schedule schedule;
  private final long seed;

  private ChaosRun(Schedule schedule, long seed) {
    this.schedule = schedule.drawn(seed);
    this.seed = seed;
  }

  static Report of(Schedule schedule, long seed) {
    return new ChaosRun(schedule, seed).run();
  }

  private Report run() {
    long startNanos = System.nanoTime();
    Path folder = FOLDER.resolve(schedule.name() + "-" + seed);
    ChaosTerms terms = schedule.terms().keepsTime(schedule.keepsTime());
    try (ChaosDeployment deployment = new ChaosDeployment(terms, folder)) {
      long beganNanos = System.nanoTime();
      deployment.clients.forEach(client -> work(client, beganNanos));
      Nemesis nemesis = new Nemesis(deployment, client -> work(client, beganNanos));
      CompletableFuture<Void> change = change(deployment, client -> work(client, beganNanos));
      nemesis.execute(ChaosPlan.of(schedule, seed));
      change.join();
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

  /** An operator changes the masters, if the schedule has it. */
  private CompletableFuture<Void> change(ChaosDeployment deployment, Consumer<ChaosClient> work) {
    if (!schedule.changes()) {
      return CompletableFuture.completedFuture(null);
    }
    ChaosOperator operator = new ChaosOperator(deployment, seed, this::rest, work);
    return CompletableFuture.runAsync(
        operator::changeMasters, task -> new Thread(task, "operator").start());
  }

  /** Lets a client finish its work; until then it acquires leases of its own. */
  private void rest(ChaosClient client) {
    ClientProcess process = client.process();
    for (int caller = 0; caller < schedule.callers() && schedule.changes(); caller++) {
      process.order("rest " + caller);
    }
    for (int caller = 0; caller < schedule.callers(); caller++) {
      process.outcome(caller + " " + schedule.task());
    }
    if (schedule.changes()) {
      process.order("rest " + schedule.callers());
      process.outcome(schedule.callers() + " pulse");
    }
  }

  /** Every caller works until the end of the schedule, or of the change of masters. */
  private void work(ChaosClient client, long beganNanos) {
    Duration length = schedule.changes() ? Duration.ofHours(1) : schedule.length();
    long leftMillis = length.minusNanos(System.nanoTime() - beganNanos).toMillis();
    client.work(schedule, seed, leftMillis);
    if (schedule.changes()) {
      client.process().order(schedule.callers() + " pulse " + PULSE_MILLIS);
    }
  }

  /**
   * Now that all faults are over: each client gets each resource and finds every master up,
   * everybody ends, all is free.
   */
  private void finish(ChaosDeployment deployment) {
    deployment.clients.forEach(this::rest);
    ChaosTerms terms = schedule.terms();
    long ttlMillis = terms.maxTtl().toMillis();
    long patience = terms.patienceMillis();
    for (ChaosClient client : deployment.clients) {
      for (String resource : DeploymentUnderFaults.RESOURCES) {
        String order = "0 must " + resource + " " + ttlMillis + " " + patience;
        if (client.process().ask(order).equals("true")) {
          client.process().release();
        }
      }
      client.process().awaitMasters(patience);
    }
    deployment.stopClients();
    deployment.awaitFree(terms.maxTtl().plusSeconds(5)); // a slow master may set a key late
  }
}
