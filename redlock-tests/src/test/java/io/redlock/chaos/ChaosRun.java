package io.redlock.chaos;

import io.redlock.chaos.history.Excerpt;
import io.redlock.chaos.history.History;
import io.redlock.chaos.history.HistoryVerdict;
import io.redlock.testbed.Text;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** One run of a schedule with one seed: begun, struck, healed and checked. */
final class ChaosRun {

  /** Where histories go, a folder a run. */
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
      return Text.of(
          "chaos: %s, seed %d: %s, %d clients, %,d operations, %,d leases, %,d passed on, %d faults, "
              + "%d updates lost unfenced, %s%d violations, %.1f s",
          schedule.name(),
          seed,
          schedule.terms().masters(),
          schedule.terms().clients(),
          verdict.operations(),
          verdict.leases(),
          verdict.passedOn(),
          struck,
          verdict.unfencedLosses(),
          schedule.changes()
              ? Text.of(
                  "longest gap %d ms in %d s that count, ",
                  verdict.longestGapNanos() / 1_000_000, verdict.servedNanos() / 1_000_000_000)
              : "",
          verdict.findings().size(),
          took.toMillis() / 1e3);
    }

    /** What was found, what shows the first of it, and how to see it again. */
    String failure() {
      String found =
          verdict.findings().stream()
              .limit(20)
              .map(finding -> "  " + finding.invariant() + ": " + finding.what() + "\n")
              .collect(Collectors.joining());
      return Text.of(
          """
          %s
          %s  what shows the first one, in nanoseconds:
          %s  all of the history in %s
            once more: -Dtest=ChaosTest -Dchaos.schedule=%s -Dchaos.seed=%d""",
          summary(), found, excerpt(), folder.toAbsolutePath(), schedule.name(), seed);
    }

    private String excerpt() {
      History history = History.read(List.of(folder.resolve("history.tsv")));
      return verdict.findings().stream()
          .limit(1)
          .flatMap(finding -> Excerpt.of(history, finding).events().stream())
          .map(event -> "  " + event + "\n")
          .collect(Collectors.joining());
    }
  }

  private ChaosRun() {}

  static Report of(Schedule undrawn, long seed) {
    long startNanos = System.nanoTime();
    Schedule schedule = undrawn.drawn(seed);
    Path folder = FOLDER.resolve(schedule.name() + "-" + seed);
    ChaosTerms terms = schedule.terms().keepsTime(schedule.keepsTime());
    try (ChaosDeployment deployment = new ChaosDeployment(terms, folder)) {
      ScheduleRun run = new ScheduleRun(schedule, seed, deployment);
      ChaosOperator operator = new ChaosOperator(deployment, seed, run);
      run.play(
          ChaosPlan.of(schedule, seed), schedule.changes() ? operator::changeMasters : () -> {});
      History history = deployment.history();
      HistoryVerdict verdict = HistoryVerdict.of(history);
      Duration took = Duration.ofNanos(System.nanoTime() - startNanos);
      return new Report(schedule, seed, verdict, run.nemesis.counts(), folder, took);
    }
  }
}
