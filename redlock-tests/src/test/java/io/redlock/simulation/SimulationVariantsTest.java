package io.redlock.simulation;

import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.redlock.simulation.BrokenRules.BrokenRule;
import io.redlock.testkit.VariantTable;
import java.io.IOException;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The simulation notices each broken rule, within so many seeds and by the invariant that the table
 * says, and nothing in the same plan with nothing broken.
 */
@Tag("search")
@Tag("ci")
class SimulationVariantsTest {

  private static final int MOST_SEEDS = 5_000;
  private static final VariantTable TABLE =
      new VariantTable("simulator", "seeds", SimulationVariantsTest.class);

  static Stream<BrokenRule> rules() {
    return BrokenRules.all();
  }

  @ParameterizedTest
  @MethodSource("rules")
  void brokenRuleIsNoticed(BrokenRule rule) {
    Violation violation = null;
    long seed = TABLE.firstToTry(rule.text()) - 1;
    while (violation == null && seed < MOST_SEEDS) {
      seed++;
      violation = Simulation.run(rule.plan(seed), rule.broken(), false).violation();
    }
    assertNotNull(violation, rule + " was not noticed in " + MOST_SEEDS + " seeds");
    SimPlan sound = rule.plan(seed);
    assertNull(Simulation.run(sound).violation(), "with nothing broken: " + sound);
    TABLE.noticed(rule.text(), violation.invariant(), seed);
  }

  @AfterAll
  static void finishTable() throws IOException {
    TABLE.finish(rules().count());
  }
}
