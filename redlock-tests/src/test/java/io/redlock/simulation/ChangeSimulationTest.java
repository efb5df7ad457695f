package io.redlock.simulation;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.simulation.SimPlan.Change;
import io.redlock.simulation.Simulation.Result;
import io.redlock.testkit.Budget;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongFunction;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The masters change under clients that work, in virtual time, with the production commands. */
@Tag("search")
@Tag("budget")
class ChangeSimulationTest {

  private static final int SEEDS = Budget.of(4, 8);

  /** In three to five, five to three, one and all swapped. */
  private static Change someChange(long seed, boolean hasStraggler) {
    return switch ((int) (seed % 4)) {
      case 0 -> new Change(3, 3, 5, hasStraggler);
      case 1 -> new Change(5, 3, 3, hasStraggler);
      case 2 -> new Change(3, 2, 3, hasStraggler);
      default -> new Change(3, 0, 3, hasStraggler);
    };
  }

  private static SimPlan undisturbed(long seed) {
    return SimPlan.of(seed).changing(someChange(seed, seed % 3 == 0)).only();
  }

  private static SimPlan inOrder(long seed) {
    SimPlan plan = SimPlan.of(seed).changing(someChange(seed, false)).only();
    plan.fairPercent = 100;
    plan.resources = 1;
    plan.sessions = 2;
    return plan;
  }

  /** Processes stop and die, one master at a time: the majorities are well. */
  private static SimPlan interrupted(long seed) {
    return gentle(seed).only(SimPlan.FAULTS_OF_PROCESSES);
  }

  private static SimPlan disturbed(long seed) {
    return gentle(seed).without(SimFault.NODE_CLOCK_STEP).without(SimFault.SET_FREE);
  }

  private static SimPlan gentle(long seed) {
    return SimPlan.of(seed).changing(someChange(seed, seed % 3 == 0)).rarely();
  }

  @Test
  void leasesAreGrantedAllTheTimeWhileMastersChange() {
    run("undisturbed", SEEDS, ChangeSimulationTest::undisturbed);
  }

  @Test
  void leasesAreGrantedAllTheTimeWhileMajoritiesAreWell() {
    run("interrupted", SEEDS, ChangeSimulationTest::interrupted);
  }

  @Test
  void fairWaitersKeepTheirOrderWhileMastersChange() {
    run("in order", SEEDS, ChangeSimulationTest::inOrder);
  }

  @Test
  void nothingIsViolatedWhileMastersChangeUnderFaults() {
    run("disturbed", SEEDS, ChangeSimulationTest::disturbed);
  }

  /** The violation, and where the whole run can be read. */
  private static String report(String what, SimPlan plan) {
    Result told = Simulation.run(plan, new Parts(), true);
    Path file = Path.of("target", "simulation", "change-" + what + "-" + plan.seed + ".txt");
    try {
      Files.createDirectories(file.getParent());
      Files.write(file, told.trace().lines());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return plan + " " + plan.change + ": " + told.violation() + ", whole trace: " + file;
  }

  private static void run(String what, long seeds, LongFunction<SimPlan> plans) {
    long first = Long.getLong("simulation.firstSeed", 1);
    long count = Long.getLong("simulation.changeSeeds", seeds);
    long leases = 0;
    List<String> violations = new ArrayList<>();
    for (long seed = first; seed < first + count; seed++) {
      Result result = Simulation.run(plans.apply(seed), new Parts(), false);
      if (result.violation() != null) {
        violations.add(report(what, plans.apply(seed)));
      }
      leases += result.leases();
    }
    System.out.printf("changes of masters, %s: %d seeds, %d leases%n", what, count, leases);
    assertEquals(List.of(), violations);
    assertTrue(leases > 100 * count, "hardly anybody worked");
  }
}
