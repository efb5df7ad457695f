package io.redlock.simulation;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.simulation.Simulation.Result;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.NodeRequest.Ticket;
import io.redlock.testkit.BrokenNodes;
import io.redlock.testkit.NodeModel;
import io.redlock.testkit.NodeModel.Cell;
import io.redlock.testkit.NodeModel.Place;
import java.util.List;
import java.util.function.BiFunction;
import java.util.function.LongFunction;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** First come, first served, in virtual time: order, patience, and every fault there is. */
@Tag("search")
class FairSimulationTest {

  @Test
  @Tag("budget")
  void withoutFaultsFairWaitersAreServedInTheOrderOfTheirTickets() {
    run("in order", seeds(4, 20), seed -> crowd(seed).only());
  }

  /** Nodes have its lower ticket between two rounds of the attempt that wins. */
  @Test
  void whoComesWhileAnAttemptIsUnderWayIsNotPassedByIt() {
    SimPlan plan = crowd(2424).only();
    assertNull(Simulation.run(plan, new Parts(), false).violation(), plan::toString);
  }

  /** A node counts as silent, just when a waiter gives up whose ticket it has. */
  @Test
  void ticketThatIsGivenUpWhileANodeIsSilentIsInNobodysWay() {
    SimPlan plan = crowd(3574).only();
    assertNull(Simulation.run(plan, new Parts(), false).violation(), plan::toString);
  }

  @Test
  @Tag("budget")
  void noWaiterIsHeldUpForLongByOthersThatStandStillLeaveOrDie() {
    run("patient", seeds(4, 20), seed -> crowd(seed).only(SimPlan.FAULTS_OF_CLIENTS));
  }

  @Test
  @Tag("budget")
  void nothingIsViolatedWhereSomeAreFairAndSomeAreNot() {
    run("mixed", seeds(8, 40), seed -> SimPlan.of(seed).fair(seed % 2 == 0 ? 100 : 50));
  }

  @Test
  void nodeThatGrantsPastItsQueueIsNoticed() {
    assertEquals(
        SimInvariant.I13,
        firstViolation(seed -> crowd(seed).only(), BrokenNodes.PassingTheQueueBy::new));
  }

  @Test
  void nodeThatWakesNobodyIsNoticed() {
    assertEquals(
        SimInvariant.I14,
        firstViolation(
            seed -> crowd(seed).only(),
            (skewMicros, retentionMillis) ->
                new NodeModel(skewMicros, retentionMillis) {
                  @Override
                  protected List<String> woken(
                      List<Cell> before, List<Cell> after, @Nullable Ticket ticket) {
                    return List.of();
                  }
                }));
  }

  @Test
  void nodeThatKeepsTheTicketsOfTheDeadIsNoticed() {
    assertEquals(
        SimInvariant.I14,
        firstViolation(
            FairSimulationTest::patientCrowd,
            (skewMicros, retentionMillis) ->
                new NodeModel(skewMicros, retentionMillis) {
                  @Override
                  protected Outcome grant(
                      List<Cell> cells,
                      NodeRequest.Grant request,
                      Standing standing,
                      long nowMicros) {
                    Outcome outcome = super.grant(cells, request, standing, nowMicros);
                    return new Outcome(
                        outcome.cells().stream().map(FairSimulationTest::endless).toList(),
                        outcome.reply());
                  }
                }));
  }

  /** The same cell with tickets that do not run out. */
  private static Cell endless(Cell cell) {
    return cell.queued(
        cell.queue().stream()
            .map(place -> new Place(place.waiter(), place.micros(), Long.MAX_VALUE))
            .toList());
  }

  private static SimInvariant firstViolation(
      LongFunction<SimPlan> plans, BiFunction<Long, Long, NodeModel> model) {
    for (long seed = 1; seed <= 200; seed++) {
      Violation violation =
          Simulation.run(plans.apply(seed), Variants.nodes(model), false).violation();
      if (violation != null) {
        return violation.invariant();
      }
    }
    throw new AssertionError("nobody noticed");
  }

  @Test
  @Tag("long")
  void nothingIsViolatedInThirtyThousandRuns() {
    run("in order", seeds(5_000), seed -> crowd(seed).only());
    run("patient", seeds(5_000), seed -> crowd(seed).only(SimPlan.FAULTS_OF_CLIENTS));
    run("mixed", seeds(20_000), seed -> SimPlan.of(seed).fair(seed % 2 == 0 ? 100 : 50));
  }

  /** All want the same, and all are fair. */
  private static SimPlan crowd(long seed) {
    SimPlan plan = SimPlan.of(seed);
    plan.resources = 1;
    plan.clients = Math.max(plan.clients, 3);
    plan.fairPercent = 100;
    return plan;
  }

  /** Some die, and the others wait for longer than that should take. */
  private static SimPlan patientCrowd(long seed) {
    SimPlan plan =
        crowd(seed).only(SimFault.CLIENT_CRASH).unchecked(SimInvariant.I7, SimInvariant.I12);
    plan.maxTtlMillis = 300;
    plan.nodeTimeoutNanos = 10 * SimPlan.MILLI;
    plan.maxWaitNanos = 60_000 * SimPlan.MILLI;
    plan.chaosNanos = 90_000 * SimPlan.MILLI;
    plan.clients = 3;
    return plan;
  }

  private static List<Long> seeds(int brief, int all) {
    return Seeds.of("simulation.fairSeeds", brief, all);
  }

  private static List<Long> seeds(int count) {
    return Seeds.of("simulation.fairSeeds", count);
  }

  private static void run(String what, List<Long> seeds, LongFunction<SimPlan> plans) {
    long served = 0;
    long queued = 0;
    long leases = 0;
    for (long seed : seeds) {
      Result result = Simulation.run(plans.apply(seed), new Parts(), false);
      SimPlan plan = result.plan();
      assertNull(result.violation(), () -> plan + "\n" + trace(plans.apply(plan.seed)));
      served += result.served();
      queued += result.queued();
      leases += result.leases();
    }
    assertTrue(queued > seeds.size(), "hardly anybody had to wait");
    System.out.printf(
        "fair simulation, %s: %d seeds, %d leases, %d of them in turn, %d waited for, no violation%n",
        what, seeds.size(), leases, served, queued);
  }

  /** The end of the same run, told. */
  private static String trace(SimPlan plan) {
    Result told = Simulation.run(plan, new Parts(), true);
    int lines = told.trace().lines().size();
    return String.join("\n", told.trace().lines().subList(Math.max(0, lines - 150), lines));
  }
}
