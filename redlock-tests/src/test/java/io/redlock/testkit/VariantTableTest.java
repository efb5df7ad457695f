package io.redlock.testkit;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.redlock.testbed.Text;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** The list of broken rules. */
class VariantTableTest {

  /** Ways to get such a protocol wrong that are known, by number. */
  private static final int KNOWN = 44;

  /** Ways to get a lane wrong, by number. */
  private static final int KNOWN_OF_LANES = 15;

  @Test
  void everyKnownMistakeIsNoticedBySomeLayer() {
    Set<String> noticed =
        VariantTable.all().stream()
            .map(row -> row.number().replaceFirst("^([LU]?\\d\\d).*", "$1"))
            .collect(Collectors.toCollection(TreeSet::new));
    Set<String> known = new TreeSet<>();
    IntStream.rangeClosed(1, KNOWN).forEach(i -> known.add(Text.of("%02d", i)));
    IntStream.rangeClosed(1, KNOWN_OF_LANES).forEach(i -> known.add(Text.of("L%02d", i)));
    known.add("U01"); // the one way known to get callbacks wrong
    assertEquals(known, noticed);
  }
}
