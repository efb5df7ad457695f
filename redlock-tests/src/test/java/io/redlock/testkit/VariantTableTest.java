package io.redlock.testkit;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** The table of broken rules in the documentation. */
class VariantTableTest {

  /** Ways to get such a protocol wrong that are known, by number. */
  private static final int KNOWN = 25;

  @Test
  void everyKnownMistakeIsNoticedBySomeLayer() {
    Set<Integer> noticed =
        VariantTable.page().stream()
            .map(row -> Integer.valueOf(VariantTable.cell(row, 1).substring(0, 2)))
            .collect(Collectors.toCollection(TreeSet::new));
    Set<Integer> known =
        IntStream.rangeClosed(1, KNOWN).boxed().collect(Collectors.toCollection(TreeSet::new));
    assertEquals(known, noticed);
  }
}
