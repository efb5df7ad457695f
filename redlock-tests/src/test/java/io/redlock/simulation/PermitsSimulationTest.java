package io.redlock.simulation;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.simulation.Simulation.Result;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongFunction;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * More callers than permits, in virtual time: no permit has two holders (I1), and none is free
 * while somebody waits for one (I24).
 */
@Tag("search")
@Tag("budget")
class PermitsSimulationTest {

  private static final List<Long> SEEDS = Seeds.of("simulation.permitSeeds", 4, 12);

  private static SimPlan undisturbed(long seed) {
    return permits(seed).only();
  }

  private static SimPlan interrupted(long seed) {
    return permits(seed).rarely().only(SimPlan.FAULTS_OF_PROCESSES);
  }

  private static SimPlan permits(long seed) {
    return SimPlan.of(seed).permits(2 + (int) (seed % 4));
  }

  @Test
  void nobodyWaitsForAPermitWhileOneIsFree() {
    run("undisturbed", PermitsSimulationTest::undisturbed);
  }

  @Test
  void nobodyWaitsForAPermitWhileOneIsFreeAndMajoritiesAreWell() {
    run("interrupted", PermitsSimulationTest::interrupted);
  }

  private static void run(String what, LongFunction<SimPlan> plans) {
    long leases = 0;
    long longestNanos = 0;
    List<String> violations = new ArrayList<>();
    for (long seed : SEEDS) {
      Result result = Simulation.run(plans.apply(seed), new Parts(), false);
      if (result.violation() != null) {
        violations.add(result.plan() + ": " + result.violation());
      }
      leases += result.leases();
      longestNanos = Math.max(longestNanos, result.longestFreeNanos());
    }
    System.out.printf(
        "permits, %s: %d seeds, %d leases, none free for longer than %d ms while somebody waited%n",
        what, SEEDS.size(), leases, longestNanos / SimPlan.MILLI);
    assertEquals(List.of(), violations);
    assertTrue(leases > 50 * SEEDS.size(), "hardly anybody worked");
    assertTrue(longestNanos > 0, "nobody ever waited");
  }
}
