package io.redlock.jedis.scripts;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.testbed.ClockShim;
import io.redlock.testbed.RequiresRedis;
import io.redlock.testkit.BrokenNode;
import io.redlock.testkit.NodeModel;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The model of a node, which explorer and simulator rest on, answers as the scripts do on a real
 * server and stores the same: command by command, to the millisecond.
 *
 * <p>{@code -Dfidelity.seed=S -Dfidelity.commands=N} for other commands, or more.
 */
@RequiresRedis
@Tag("servers")
@Tag("server-version")
class ModelFidelityTest {

  private static final long SEED = Long.getLong("fidelity.seed", 1);
  private static final int COMMANDS = Integer.getInteger("fidelity.commands", 30_000);
  private static final int LEAST_OF_EACH = COMMANDS / 500;

  /** The answers about leases of one holder and about those of readers. */
  private static final List<String> OF_ALL_LEASES =
      List.of(
          "GRANTED",
          "EXTENDED",
          "JOINED",
          "RELEASED",
          "HELD",
          "WAIT",
          "STALE",
          "ABSTAIN",
          "CLOCK",
          "NOT_HELD",
          "OUT_OF_MEMORY",
          "READONLY",
          "WRONGTYPE");

  @Test
  void modelAndScriptsAnswerAlikeAndStoreTheSame() {
    ModelComparison comparison = new ModelComparison(SEED, COMMANDS, NodeModel::new);
    Map<String, Integer> answers = comparison.run();
    System.out.println("fidelity: no difference in answers and data, " + answers);
    Set<String> all = new TreeSet<>(Set.of("INSPECTED", "LOOKED"));
    for (String each : OF_ALL_LEASES) {
      all.addAll(List.of(each, "shared " + each));
    }
    if (!comparison.isReplica()) {
      all.removeAll(Set.of("READONLY", "shared READONLY"));
    }
    assertEquals(all, answers.keySet());
    answers.forEach((answer, times) -> assertTrue(times >= LEAST_OF_EACH, answers::toString));
  }

  static Stream<BrokenNode> brokenModels() {
    return Stream.of(
        BrokenNode.WITHOUT_TOMBSTONES,
        BrokenNode.GRANTING_EQUAL_TOKENS,
        BrokenNode.FORGETTING_HIGHER_TOKENS,
        BrokenNode.SHORTENING_BY_EXTENDS,
        BrokenNode.SHORTENING_BY_GRANTS,
        BrokenNode.SHORTENING_TOMBSTONES,
        BrokenNode.RAISING_THE_FLOOR_BY_READERS,
        BrokenNode.DROPPING_TOMBSTONES_OF_READERS);
  }

  /** The comparison itself would notice. */
  @ParameterizedTest
  @MethodSource("brokenModels")
  void modelThatDiffersIsNoticed(BrokenNode broken) {
    Assumptions.assumeTrue(ClockShim.obstacle().isEmpty(), ClockShim::obstacle);
    ModelComparison comparison = new ModelComparison(SEED, COMMANDS, broken);
    AssertionError difference = assertThrows(AssertionError.class, comparison::run);
    assertTrue(difference.getMessage().startsWith("-Dfidelity.seed="), difference::toString);
  }
}
