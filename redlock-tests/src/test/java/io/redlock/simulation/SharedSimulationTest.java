package io.redlock.simulation;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.function.LongFunction;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Readers and writers in virtual time: half of the calls read, a quarter wait in turn. All
 * invariants hold, for leases that exclude each other.
 */
@Tag("search")
class SharedSimulationTest {

  private static final List<Long> SEEDS = Seeds.of("simulation.sharedSeeds", 4, 20);

  @Test
  @Tag("budget")
  void nobodyWaitsToReadWhileNobodyWrites() {
    run("undisturbed", seed -> SimPlan.of(seed).sharedAndServed().only());
  }

  @Test
  @Tag("budget")
  void processesThatStopAndDieHoldUpNobodyForLong() {
    run(
        "interrupted",
        seed -> SimPlan.of(seed).sharedAndServed().rarely().only(SimPlan.FAULTS_OF_PROCESSES));
  }

  @Test
  @Tag("budget")
  void nothingIsViolatedUnderAnyFault() {
    run("all faults", seed -> SimPlan.of(seed).shared());
  }

  /** Readers come without end, and a writer that asks fairly is not passed by them. */
  @Test
  @Tag("budget")
  void fairWriterIsServedWhileReadersOverlap() {
    run(
        "readers without end",
        seed -> {
          SimPlan plan = SimPlan.of(seed).sharedAndServed().only();
          plan.resources = 1;
          plan.sharedPercent = 90;
          plan.fairPercent = 50;
          return plan;
        });
  }

  private static void run(String what, LongFunction<SimPlan> plans) {
    Campaign campaign = Campaign.run("shared, " + what, SEEDS, plans);
    assertTrue(campaign.reads() > 5 * SEEDS.size(), "hardly anybody reads");
    assertTrue(campaign.queued() > SEEDS.size(), "hardly anybody waits in turn");
  }
}
