package io.redlock.simulation;

import static org.junit.jupiter.api.Assertions.assertTrue;

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

  private static SimPlan permits(long seed) {
    return SimPlan.of(seed).permits(2 + (int) (seed % 4));
  }

  @Test
  void nobodyWaitsForAPermitWhileOneIsFree() {
    run("undisturbed", seed -> permits(seed).only());
  }

  @Test
  void nobodyWaitsForAPermitWhileOneIsFreeAndMajoritiesAreWell() {
    run("interrupted", seed -> permits(seed).rarely().only(SimPlan.FAULTS_OF_PROCESSES));
  }

  private static void run(String what, LongFunction<SimPlan> plans) {
    Campaign campaign = Campaign.run("permits, " + what, SEEDS, plans);
    assertTrue(campaign.leases() > 50 * SEEDS.size(), "hardly anybody worked");
    assertTrue(campaign.longestFreeNanos() > 0, "nobody ever waited");
  }
}
