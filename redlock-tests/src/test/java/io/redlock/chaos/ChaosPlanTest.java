package io.redlock.chaos;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.chaos.ChaosPlan.Strike;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

class ChaosPlanTest {

  private static final Duration LENGTH = Duration.ofSeconds(30);

  @Test
  void seedDecidesWhatStrikesWhomAndWhen() {
    for (Schedule schedule : Schedules.all()) {
      assertEquals(ChaosPlan.of(schedule, 7), ChaosPlan.of(schedule, 7));
    }
    assertEquals(Schedules.mix(7, LENGTH), Schedules.mix(7, LENGTH));
  }

  /** Three to five, five to three, one of three swapped, or all. */
  @Test
  void seedDecidesHowTheMastersChange() {
    Schedule changing =
        Schedules.all().stream().filter(Schedule::changes).findFirst().orElseThrow();
    Set<ChaosMasters> changes = new HashSet<>();
    for (long seed = 0; seed < 200; seed++) {
      ChaosMasters masters = changing.drawn(seed).terms().masters();
      changes.add(masters);
      assertEquals(1, masters.tolerated());
      assertEquals(masters, changing.drawn(seed).terms().masters());
      assertOneAtATime(ChaosPlan.of(changing, seed).strikes());
    }
    assertEquals(
        Set.of(
            new ChaosMasters(0, 3, 2),
            new ChaosMasters(2, 3, 0),
            new ChaosMasters(1, 2, 1),
            new ChaosMasters(3, 0, 3)),
        changes);
  }

  /** So the majorities of both sets are well. */
  private static void assertOneAtATime(List<Strike> strikes) {
    List<Strike> ofNodes =
        strikes.stream().filter(strike -> strike.fault().target == ChaosFault.Target.NODE).toList();
    for (int i = 1; i < ofNodes.size(); i++) {
      Strike earlier = ofNodes.get(i - 1);
      Strike later = ofNodes.get(i);
      assertTrue(earlier.endMillis() <= later.beginMillis(), () -> earlier + " and " + later);
    }
  }

  @Test
  void nothingIsStruckAgainBeforeItHasRecovered() {
    for (long seed = 0; seed < 200; seed++) {
      List<Strike> strikes = ChaosPlan.of(Schedules.mix(seed, LENGTH), seed).strikes();
      for (int i = 0; i < strikes.size(); i++) {
        Strike later = strikes.get(i);
        for (Strike earlier : strikes.subList(0, i)) {
          boolean lasts = earlier.fault().mostMillis > 0;
          boolean momentaryAtLink =
              later.fault().mostMillis == 0 && later.fault().target == ChaosFault.Target.LINK;
          assertTrue(
              !lasts
                  || momentaryAtLink
                  || !later.meets(earlier)
                  || later.beginMillis() >= earlier.endMillis(),
              () -> later + " within " + earlier);
        }
      }
    }
  }
}
