package io.redlock.chaos;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.redlock.testbed.Folders;
import io.redlock.testbed.RequiresRedis;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Schedules and random mixes for as long as wished: {@code -Dchaos.minutes=30}, from the seed
 * {@code -Dchaos.seed=N} on. Keeps the histories and pictures of the runs that found something.
 */
@RequiresRedis
@Tag("long")
class ChaosLongTest {

  private static final int SIDE_BY_SIDE = 2;
  private static final Duration MIX = Duration.ofSeconds(15);

  private final Totals totals = new Totals();
  private long nextSeed = Long.getLong("chaos.seed", System.currentTimeMillis() % 1_000_000);

  @Test
  void noInvariantIsViolatedInAnyRun() throws Exception {
    long minutes = Long.getLong("chaos.minutes", 2);
    long untilNanos = System.nanoTime() + TimeUnit.MINUTES.toNanos(minutes);
    System.out.println("chaos: " + minutes + " minutes from seed " + nextSeed + " on");
    ExecutorService runs = Executors.newFixedThreadPool(SIDE_BY_SIDE);
    List<Throwable> broken = new ArrayList<>();
    for (int i = 0; i < SIDE_BY_SIDE; i++) {
      runs.execute(
          () -> {
            try {
              while (System.nanoTime() - untilNanos < 0) {
                runOne();
              }
            } catch (Throwable e) {
              synchronized (broken) {
                broken.add(e);
              }
            }
          });
    }
    runs.shutdown();
    runs.awaitTermination(minutes + 5, TimeUnit.MINUTES);
    System.out.println(totals);
    assertEquals(List.of(), broken);
    assertEquals(List.of(), totals.failures());
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
    ChaosRun.Report report = ChaosRun.of(schedule, seed);
    totals.add(report);
    if (report.verdict().findings().isEmpty()) {
      Folders.delete(report.folder());
    } else {
      System.out.println(report.failure());
    }
  }

  private synchronized long seed() {
    return nextSeed++;
  }
}
