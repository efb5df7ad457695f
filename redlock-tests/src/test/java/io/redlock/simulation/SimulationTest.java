package io.redlock.simulation;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.DynamicTest.dynamicTest;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.LongFunction;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvFileSource;

/** The production lock service in virtual time, under random faults, seed by seed. */
class SimulationTest {

  @Test
  @Tag("search")
  @Tag("budget")
  void nothingIsViolatedInManyRuns() {
    Campaign.run("any faults", Campaign.seeds(60, 400), SimPlan::of);
  }

  @Test
  @Tag("long")
  void nothingIsViolatedInAHundredThousandRuns() {
    Campaign.run("any faults", Campaign.seeds(100_000), SimPlan::of);
  }

  @Test
  @Tag("search")
  @Tag("budget")
  void nothingIsViolatedWhereLeasesArePassedOn() {
    List<Long> seeds = Campaign.seeds(20, 100);
    Campaign disturbed = Campaign.run("hot, any faults", seeds, seed -> SimPlan.of(seed).hot());
    assertTrue(disturbed.passed > disturbed.leases / 4, "hardly a lease was passed on");
    Campaign calm = Campaign.run("hot, no faults", seeds, seed -> SimPlan.of(seed).hot().only());
    assertTrue(calm.passed > calm.leases / 2, "hardly a lease was passed on");
  }

  /** Each of these seeds has found a defect; what it was is told beside it. */
  @ParameterizedTest
  @CsvFileSource(resources = "pinned-seeds.csv", useHeadersInDisplayName = true)
  void nothingIsViolatedWhereADefectWasFound(long seed, String faults, String found) {
    LongFunction<SimPlan> plans = each -> SimPlan.of(each).only(SimPlan.faults(faults));
    SimWorld world = Simulation.run(plans.apply(seed));
    assertNull(
        world.violation(), () -> found + ": " + Campaign.report("a seed of old", plans, seed));
  }

  /**
   * On this JDK as on the one that ran before, as {@code .ci/jdk25} has it, told in words or not.
   */
  @Test
  void theSameSeedGivesTheSameRun() throws IOException {
    StringBuilder all = new StringBuilder();
    for (long seed = 1; seed <= 20; seed++) {
      SimTrace first = Simulation.run(SimPlan.of(seed)).trace;
      if (seed % 4 == 0) {
        SimTrace second = Simulation.run(SimPlan.of(seed), new Parts(), true).trace;
        assertEquals(first.fingerprint(), second.fingerprint(), "seed " + seed);
      }
      all.append(first.fingerprint());
    }
    String before = System.getProperty("simulation.fingerprint");
    if (before == null) {
      Files.writeString(Path.of("target", "fingerprint.txt"), all);
    } else {
      assertEquals(before, all.toString());
    }
  }

  /** One run with its trace, for a person. */
  @TestFactory
  Stream<DynamicTest> replay() {
    return Stream.ofNullable(Long.getLong("simulation.seed"))
        .map(seed -> dynamicTest("seed " + seed, () -> replay(seed)));
  }

  private static void replay(long seed) {
    SimPlan plan = SimPlan.of(seed);
    String faults = System.getProperty("simulation.faults");
    if (faults != null) {
      plan.only(SimPlan.faults(faults));
    }
    SimWorld world = Simulation.run(plan, new Parts(), true);
    world.trace.lines().forEach(System.out::println);
    assertNull(world.violation());
  }
}
