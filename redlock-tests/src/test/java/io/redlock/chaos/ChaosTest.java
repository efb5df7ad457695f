package io.redlock.chaos;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.chaos.history.History;
import io.redlock.chaos.history.HistoryVerdict;
import io.redlock.testbed.RequiresRedis;
import io.redlock.testkit.Budget;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.TestFactory;

/**
 * All schedules in CI, a ninth of them in {@code verify}, drawn by the seed, a few side by side:
 * {@code -Dchaos.schedule=all} runs all, {@code -Dchaos.schedule=NAME,NAME} some of them, {@code
 * -Dchaos.seed=N} with the seed of a run that was seen before.
 */
@RequiresRedis
@Tag("chaos")
@Tag("budget")
class ChaosTest {

  /** Most of the time everybody waits for somebody. */
  private static final int SIDE_BY_SIDE = 3;

  @AutoClose("shutdownNow")
  private static final ExecutorService RUNS = Executors.newFixedThreadPool(SIDE_BY_SIDE);

  @TestFactory
  Stream<DynamicTest> noInvariantIsViolated() {
    String only = System.getProperty("chaos.schedule", "");
    long seed = Long.getLong("chaos.seed", System.currentTimeMillis() % 1_000_000);
    List<DynamicTest> tests = new ArrayList<>();
    for (Schedule schedule : chosen(only, seed)) {
      if (schedule.obstacle().isEmpty()) {
        tests.add(run(schedule, seed));
      } else {
        tests.add(DynamicTest.dynamicTest(schedule.name(), () -> skip(schedule)));
      }
    }
    if (only.isEmpty()) { // readers in every build, and in CI with writers that are fair and with
      // others
      for (int more = 1; more <= Budget.of(1, 3); more++) {
        tests.add(run(Schedules.named("readers"), seed + more));
      }
    }
    return tests.stream();
  }

  private static DynamicTest run(Schedule schedule, long seed) {
    Future<ChaosRun.Report> run = RUNS.submit(() -> ChaosRun.of(schedule, seed));
    return DynamicTest.dynamicTest(schedule.name() + ", seed " + seed, () -> assertGood(run.get()));
  }

  private static List<Schedule> chosen(String only, long seed) {
    List<Schedule> all = new ArrayList<>(Schedules.all());
    if (only.isEmpty()) {
      Collections.shuffle(all, new Random(seed));
      return all.subList(0, Budget.of((all.size() + 8) / 9, all.size()));
    }
    all.removeIf(each -> !only.equals("all") && !List.of(only.split(",")).contains(each.name()));
    return all;
  }

  /** What the checker says of a run that is over: {@code -Dchaos.history=PATH}. */
  @TestFactory
  Stream<DynamicTest> historyOnFileIsJudgedAgain() {
    return Stream.ofNullable(System.getProperty("chaos.history"))
        .map(
            file ->
                DynamicTest.dynamicTest(
                    file,
                    () -> {
                      History history = History.read(List.of(Path.of(file)));
                      assertEquals(List.of(), HistoryVerdict.of(history).findings());
                    }));
  }

  private static void skip(Schedule schedule) {
    System.out.println("chaos: " + schedule.name() + " is skipped: " + schedule.obstacle());
    Assumptions.abort(schedule.obstacle());
  }

  private static void assertGood(ChaosRun.Report report) {
    System.out.println(report.summary());
    assertEquals(List.of(), report.verdict().findings(), report::failure);
    boolean isHot = report.schedule().task().equals("queue");
    assertTrue(!isHot || report.verdict().passedOn() > 0, "no lease was passed on");
  }
}
