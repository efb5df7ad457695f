package io.redlock.chaos;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.chaos.ChaosPlan.Strike;
import java.time.Duration;
import java.util.List;
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
