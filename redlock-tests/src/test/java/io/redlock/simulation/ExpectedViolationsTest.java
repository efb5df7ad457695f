package io.redlock.simulation;

import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.EnumSet;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What no lease can prevent: it happens in the simulation too, and its checkers see it. */
class ExpectedViolationsTest {

  private static final int MOST_SEEDS = 100;

  /** A write that was sent under a good lease and arrives when somebody else has the next one. */
  @Test
  void lateWriteUndoesAnUpdateWhereTokensAreNotCheckedAndOnlyThere() {
    long lost = 0;
    for (long seed = 1; seed <= MOST_SEEDS && lost == 0; seed++) {
      SimPlan plan = SimPlan.of(seed).quick().only(SimFault.CLIENT_PAUSE, SimFault.SLOW);
      plan.clients = 4;
      plan.resources = 1;
      plan.thinkNanos = 10 * SimPlan.MILLI;
      SimWorld world = Simulation.run(plan);
      assertNull(world.violation(), plan::toString);
      lost = world.checker.unfencedLosses();
    }
    assertTrue(lost > 0, "no update was lost in " + MOST_SEEDS + " seeds");
  }

  /** A node whose clock is set, or which deletes a key, forgets a lease before its time. */
  @ParameterizedTest
  @EnumSource(names = {"NODE_CLOCK_STEP", "NODE_EVICT"})
  void nodeThatForgetsALeaseBeforeItsTimeGrantsItTwice(SimFault fault) {
    Set<SimInvariant> violated = EnumSet.noneOf(SimInvariant.class);
    for (long seed = 1; seed <= MOST_SEEDS && !violated.contains(SimInvariant.I1); seed++) {
      SimPlan plan = SimPlan.of(seed).only(fault);
      plan.nodes = 3;
      plan.fewVictims = false;
      plan.nodeFaultGapNanos = plan.maxTtlNanos() / 8;
      plan.assumesTiming = true;
      Violation violation = Simulation.run(plan).violation();
      if (violation != null) {
        violated.add(violation.invariant());
      }
    }
    // A look may see what the node forgot before a grant does.
    Set<SimInvariant> expected = EnumSet.of(SimInvariant.I1, SimInvariant.I21);
    assertTrue(violated.contains(SimInvariant.I1), violated::toString);
    assertTrue(expected.containsAll(violated), violated::toString);
  }
}
