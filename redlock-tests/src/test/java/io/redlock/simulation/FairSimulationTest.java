package io.redlock.simulation;

import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.function.LongFunction;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** First come, first served, in virtual time: order, patience, and every fault there is. */
@Tag("search")
class FairSimulationTest {

  @Test
  @Tag("budget")
  void withoutFaultsFairWaitersAreServedInTheOrderOfTheirTickets() {
    run("in order", seeds(4, 20), FairSimulationTest::inOrder);
  }

  @Test
  @Tag("budget")
  void noWaiterIsHeldUpForLongByOthersThatStandStillLeaveOrDie() {
    run("patient", seeds(4, 20), FairSimulationTest::patient);
  }

  @Test
  @Tag("budget")
  void nothingIsViolatedWhereSomeAreFairAndSomeAreNot() {
    run("mixed", seeds(8, 40), FairSimulationTest::mixed);
  }

  @Test
  @Tag("long")
  void nothingIsViolatedInThirtyThousandRuns() {
    run("in order", Seeds.of("simulation.fairSeeds", 5_000), FairSimulationTest::inOrder);
    run("patient", Seeds.of("simulation.fairSeeds", 5_000), FairSimulationTest::patient);
    run("mixed", Seeds.of("simulation.fairSeeds", 20_000), FairSimulationTest::mixed);
  }

  @ParameterizedTest
  @CsvSource({
    "2424, nodes had a lower ticket between two rounds of the attempt that won",
    "3574, a node counted as silent just when a waiter gave up whose ticket it had"
  })
  void nothingIsViolatedWhereADefectWasFound(long seed, String found) {
    assertNull(Simulation.run(inOrder(seed)).violation(), found);
  }

  private static SimPlan inOrder(long seed) {
    return SimPlan.of(seed).crowd().only();
  }

  private static SimPlan patient(long seed) {
    return SimPlan.of(seed).crowd().only(SimPlan.FAULTS_OF_CLIENTS);
  }

  private static SimPlan mixed(long seed) {
    return SimPlan.of(seed).fair(seed % 2 == 0 ? 100 : 50);
  }

  private static List<Long> seeds(int brief, int all) {
    return Seeds.of("simulation.fairSeeds", brief, all);
  }

  private static void run(String what, List<Long> seeds, LongFunction<SimPlan> plans) {
    Campaign campaign = Campaign.run("fair, " + what, seeds, plans);
    assertTrue(campaign.queued() > seeds.size(), "hardly anybody had to wait");
  }
}
