package io.redlock.spi;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class QuorumTest {

  @ParameterizedTest
  @CsvSource({"1,1", "2,2", "3,2", "4,3", "5,3", "6,4", "7,4", "8,5", "9,5", "14,8", "15,8"})
  void majorityIsMoreThanHalf(int nodes, int majority) {
    assertEquals(majority, Quorum.majority(nodes));
    Quorum quorum = Quorum.of(nodes);
    assertEquals(majority, quorum.least());
    assertEquals(nodes, quorum.nodes());
    for (int set = 0; set < 1 << nodes; set++) {
      int yes = Integer.bitCount(set);
      assertEquals(2 * yes > nodes, quorum.isReachedBy(set));
      assertEquals(2 * (nodes - yes) <= nodes, quorum.isRuledOutBy(set));
    }
  }

  /** Checks every pair of groups of up to six nodes, whatever they share. */
  private static void everyPairOfGroups(Consumer<Quorum> check) {
    int nodes = 6;
    for (int present = 1; present < 1 << nodes; present++) {
      for (int future = 1; future < 1 << nodes; future++) {
        int union = present | future;
        if ((union & union + 1) == 0 && present != future) {
          check.accept(new Quorum(present, future));
        }
      }
    }
  }

  private static boolean hasMajority(int set, int group) {
    return 2 * Integer.bitCount(set & group) > Integer.bitCount(group);
  }

  @Test
  void twoGroupsNeedAMajorityOfEach() {
    everyPairOfGroups(
        quorum -> {
          int all = (1 << quorum.nodes()) - 1;
          int least = Integer.MAX_VALUE;
          for (int set = 0; set <= all; set++) {
            boolean both = hasMajority(set, quorum.present()) && hasMajority(set, quorum.future());
            assertEquals(both, quorum.isReachedBy(set), quorum::toString);
            assertEquals(quorum.isReachedBy(all & ~set), !quorum.isRuledOutBy(set));
            least = both ? Math.min(least, Integer.bitCount(set)) : least;
          }
          assertEquals(least, quorum.least(), quorum::toString);
        });
  }

  @Test
  void quorumOfTwoGroupsSharesANodeWithEachMajorityOfEitherGroup() {
    everyPairOfGroups(
        quorum -> {
          int all = (1 << quorum.nodes()) - 1;
          for (int set = 0; set <= all; set++) {
            for (int other = 0; other <= all && quorum.isReachedBy(set); other++) {
              if (hasMajority(other, quorum.present()) || hasMajority(other, quorum.future())) {
                assertTrue((set & other) != 0, quorum::toString);
              }
            }
          }
        });
  }

  @Test
  void quorumsAreNamedByTheirMajorities() {
    assertEquals("3 of 5", Quorum.of(5).toString());
    Quorum growing = new Quorum(0b00111, 0b11111);
    assertEquals("2 of 3 old masters and 3 of 5 new ones", growing.toString());
    assertTrue(growing.isJoint());
    assertFalse(Quorum.of(5).isJoint());
  }

  @Test
  void futureNodesFollowThePresentOnes() {
    assertEquals(Quorum.of(3), Quorum.of(List.of("a", "b", "c"), List.of()));
    assertEquals(
        new Quorum(0b00111, 0b11010), Quorum.of(List.of("a", "b", "c"), List.of("d", "b", "e")));
    assertEquals(new Quorum(0b111, 0b001), Quorum.of(List.of("a", "b", "c"), List.of("a")));
  }
}
