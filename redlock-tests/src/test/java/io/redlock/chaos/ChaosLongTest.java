package io.redlock.chaos;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.redlock.chaos.ChaosRun.Report;
import io.redlock.chaos.history.HistoryVerdict;
import io.redlock.testbed.Folders;
import io.redlock.testbed.RequiresRedis;
import io.redlock.testbed.Text;
import java.time.Duration;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.function.ToLongFunction;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Schedules and random mixes for as long as wished: {@code -Dchaos.minutes=30}, from the seed
 * {@code -Dchaos.seed=N} on. Keeps the histories of the runs that found something.
 */
@RequiresRedis
@Tag("long")
class ChaosLongTest {

  private static final int SIDE_BY_SIDE = 2;
  private static final Duration MIX = Duration.ofSeconds(15);

  private final long startNanos = System.nanoTime();
  private final List<Report> reports = new CopyOnWriteArrayList<>();
  private long nextSeed = Long.getLong("chaos.seed", System.currentTimeMillis() % 1_000_000);

  @Test
  void noInvariantIsViolatedInAnyRun() {
    long minutes = Long.getLong("chaos.minutes", 2);
    long untilNanos = System.nanoTime() + TimeUnit.MINUTES.toNanos(minutes);
    System.out.println("chaos: " + minutes + " minutes from seed " + nextSeed + " on");
    List<CompletableFuture<Void>> lanes =
        Stream.generate(
                () ->
                    CompletableFuture.runAsync(
                        () -> runUntil(untilNanos), task -> new Thread(task).start()))
            .limit(SIDE_BY_SIDE)
            .toList();
    lanes.forEach(CompletableFuture::join);
    System.out.println(totals());
    assertEquals(
        List.of(), reports.stream().filter(ChaosLongTest::isBad).map(Report::failure).toList());
  }

  private void runUntil(long untilNanos) {
    while (System.nanoTime() - untilNanos < 0) {
      runOne();
    }
  }

  /**
   * Every other run is one of the schedules, the rest are random mixes; {@code
   * -Dchaos.schedule=NAME} runs that one alone.
   */
  private void runOne() {
    long seed = seed();
    String only = System.getProperty("chaos.schedule", "");
    List<Schedule> schedules =
        Schedules.all().stream()
            .filter(schedule -> schedule.obstacle().isEmpty())
            .filter(schedule -> only.isEmpty() || schedule.name().equals(only))
            .toList();
    Schedule schedule =
        seed % 2 == 0 && only.isEmpty()
            ? Schedules.mix(seed, MIX).asFarAsPossible()
            : schedules.get((int) (seed / 2 % schedules.size()));
    Report report = ChaosRun.of(schedule, seed);
    reports.add(report);
    if (isBad(report)) {
      System.out.println(report.failure());
    } else {
      Folders.delete(report.folder());
    }
  }

  private synchronized long seed() {
    return nextSeed++;
  }

  private static boolean isBad(Report report) {
    return !report.verdict().findings().isEmpty();
  }

  private String totals() {
    Map<ChaosFault, Long> faults = new EnumMap<>(ChaosFault.class);
    for (Report report : reports) {
      report.faults().forEach((fault, count) -> faults.merge(fault, count, Long::sum));
    }
    return Text.of(
        "chaos total: %d runs in %d min, %,d operations, %,d leases, %,d faults %s, "
            + "%d updates lost unfenced, %d violations in %d runs",
        reports.size(),
        Duration.ofNanos(System.nanoTime() - startNanos).toMinutes(),
        sum(HistoryVerdict::operations),
        sum(HistoryVerdict::leases),
        faults.values().stream().mapToLong(Long::longValue).sum(),
        faults,
        sum(HistoryVerdict::unfencedLosses),
        sum(verdict -> verdict.findings().size()),
        reports.stream().filter(ChaosLongTest::isBad).count());
  }

  private long sum(ToLongFunction<HistoryVerdict> figure) {
    return reports.stream().map(Report::verdict).mapToLong(figure).sum();
  }
}
