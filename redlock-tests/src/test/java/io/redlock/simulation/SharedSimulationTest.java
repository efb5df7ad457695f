package io.redlock.simulation;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.simulation.Simulation.Result;
import io.redlock.testkit.BrokenReaders;
import io.redlock.testkit.NodeModel;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BiFunction;
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

  @Test
  void nodesThatBreakRulesForReadersAreNoticed() {
    assertEquals(SimInvariant.I1, firstViolation(BrokenReaders.PassingReaders::new));
    assertEquals(SimInvariant.I5, firstViolation(BrokenReaders.LeavingNoTombstone::new));
    assertEquals(SimInvariant.I13, firstViolation(BrokenReaders.PassingWithoutTicket::new));
    assertEquals(SimInvariant.I28, firstViolation(BrokenReaders.OutbiddingReaders::new));
    assertEquals(SimInvariant.I29, firstViolation(BrokenReaders.EndingTogether::new));
  }

  private static SimInvariant firstViolation(BiFunction<Long, Long, NodeModel> model) {
    for (long seed = 1; seed <= 200; seed++) {
      SimPlan plan = SimPlan.of(seed).sharedAndServed().only();
      Violation violation = Simulation.run(plan, Variants.nodes(model), false).violation();
      if (violation != null) {
        return violation.invariant();
      }
    }
    throw new AssertionError("nobody noticed");
  }

  private static void run(String what, LongFunction<SimPlan> plans) {
    long leases = 0;
    long reads = 0;
    long queued = 0;
    List<String> violations = new ArrayList<>();
    for (long seed : SEEDS) {
      Result result = Simulation.run(plans.apply(seed), new Parts(), false);
      if (result.violation() != null) {
        violations.add(result.plan() + ": " + result.violation());
      }
      leases += result.leases();
      reads += result.reads();
      queued += result.queued();
    }
    System.out.printf(
        "shared simulation, %s: %d seeds, %d leases, %d of them to read, %d waited in turn%n",
        what, SEEDS.size(), leases, reads, queued);
    assertEquals(List.of(), violations);
    assertTrue(reads > 5 * SEEDS.size(), "hardly anybody reads");
    assertTrue(queued > SEEDS.size(), "hardly anybody waits in turn");
  }
}
