package io.redlock.simulation;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.simulation.SimPlan.Change;
import io.redlock.simulation.SimPlan.Change.Left;
import java.util.List;
import java.util.function.LongFunction;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The masters change under clients that work, in virtual time, with the production commands. */
@Tag("search")
@Tag("budget")
class ChangeSimulationTest {

  private static final List<Long> SEEDS = Seeds.of("simulation.changeSeeds", 4, 8);
  private static final List<Long> FEW = Seeds.of("simulation.changeSeeds", 2, 4);

  /** In three to five, five to three, one and all swapped. */
  private static Change someChange(long seed, Left left) {
    return switch ((int) (seed % 4)) {
      case 0 -> new Change(3, 3, 5, left);
      case 1 -> new Change(5, 3, 3, left);
      case 2 -> new Change(3, 2, 3, left);
      default -> new Change(3, 0, 3, left);
    };
  }

  private static Left someLeft(long seed) {
    return seed % 3 == 0 ? Left.UNTIL_THE_COMMIT : Left.NOBODY;
  }

  private static SimPlan inOrder(long seed) {
    SimPlan plan = changing(seed, Left.NOBODY).only();
    plan.fairPercent = 100;
    plan.resources = 1;
    plan.sessions = 2;
    return plan;
  }

  private static SimPlan disturbed(long seed, Left left) {
    return changing(seed, left)
        .rarely()
        .without(SimFault.NODE_CLOCK_STEP)
        .without(SimFault.SET_FREE);
  }

  private static SimPlan changing(long seed, Left left) {
    return SimPlan.of(seed).changing(someChange(seed, left));
  }

  @Test
  void leasesAreGrantedAllTheTimeWhileMastersChange() {
    run("undisturbed", SEEDS, seed -> changing(seed, someLeft(seed)).only());
  }

  /** Processes stop and die, one master at a time. */
  @Test
  void leasesAreGrantedAllTheTimeWhileMajoritiesAreWell() {
    run(
        "interrupted",
        SEEDS,
        seed -> changing(seed, someLeft(seed)).rarely().only(SimPlan.FAULTS_OF_PROCESSES));
  }

  @Test
  void fairWaitersKeepTheirOrderWhileMastersChange() {
    run("in order", SEEDS, ChangeSimulationTest::inOrder);
  }

  @Test
  void nothingIsViolatedWhileMastersChangeUnderFaults() {
    run("disturbed", SEEDS, seed -> disturbed(seed, someLeft(seed)));
  }

  /** It goes on trying while masters restart with their data after the change. */
  @Test
  void clientThatIsForgottenForEverIsServedNoMore() {
    run("forgotten", FEW, seed -> changing(seed, Left.FOR_EVER).only());
    run("forgotten and disturbed", FEW, seed -> disturbed(seed, Left.FOR_EVER));
  }

  @Test
  void tokensRiseThoughAllClocksAreSetBackAfterTheCommit() {
    run("set back", FEW, seed -> changing(seed, Left.NOBODY).only().settingClocksBack());
  }

  @Test
  void keysThatAreEvictedAreLostThoughThePolicyIsFixedWithinATtl() {
    run("evicted", FEW, seed -> SimPlan.of(seed).evicting());
  }

  @Test
  void serversThatComeBackToTheirAddressesAreNotTrustedAtOnce() {
    run("swapped", FEW, seed -> SimPlan.of(seed).swapping());
  }

  @Test
  void masterThatIsCopiedGoesOnVotingUnlessItsDataCameBackFromACopy() {
    run("copied", FEW, seed -> SimPlan.of(seed).copying());
  }

  private static void run(String what, List<Long> seeds, LongFunction<SimPlan> plans) {
    Campaign campaign = Campaign.run("changes of masters, " + what, seeds, plans);
    assertTrue(campaign.leases() > 50L * seeds.size(), "hardly anybody worked");
  }
}
