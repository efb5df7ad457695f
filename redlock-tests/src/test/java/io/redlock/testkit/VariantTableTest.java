package io.redlock.testkit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.testbed.Repository;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** The list of broken rules, and what the documentation says of it. */
class VariantTableTest {

  /** Ways to get such a protocol wrong that are known, by number. */
  private static final int KNOWN = 31;

  /** Ways to get a lane wrong, by number. */
  private static final int KNOWN_OF_LANES = 15;

  @Test
  void everyKnownMistakeIsNoticedBySomeLayer() {
    Set<String> noticed =
        VariantTable.all().stream()
            .map(row -> row.number().replaceFirst("^([LU]?\\d\\d).*", "$1"))
            .collect(Collectors.toCollection(TreeSet::new));
    Set<String> known = new TreeSet<>();
    IntStream.rangeClosed(1, KNOWN).forEach(i -> known.add(String.format("%02d", i)));
    IntStream.rangeClosed(1, KNOWN_OF_LANES).forEach(i -> known.add(String.format("L%02d", i)));
    known.add("U01"); // the one way known to get callbacks wrong
    assertEquals(known, noticed);
  }

  @Test
  void pageSaysHowManyEachLayerNotices() throws IOException {
    String page = Repository.read("docs/verification.md");
    Map<String, Long> counts =
        VariantTable.all().stream()
            .collect(Collectors.groupingBy(VariantTable.Row::layer, Collectors.counting()));
    counts.forEach(
        (layer, count) -> assertTrue(page.contains("| " + layer + " | " + count + " |"), layer));
    List<String> shown = new ArrayList<>();
    for (VariantTable.Row row : VariantTable.all()) {
      if (page.contains("| " + row.rule() + " | " + row.layer() + " | " + row.noticed() + " |")) {
        shown.add(row.rule());
      }
    }
    assertEquals(5, shown.size(), shown::toString);
  }
}
