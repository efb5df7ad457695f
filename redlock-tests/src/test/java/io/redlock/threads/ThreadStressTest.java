package io.redlock.threads;

import io.redlock.testkit.Budget;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The scenes on real threads, again and again. Costs 3 to 4 s of processor: races are rare. */
@Tag("budget")
@Timeout(300)
class ThreadStressTest {

  @ParameterizedTest
  @EnumSource
  void threadsBreakNoRule(ThreadScenes scene) {
    SplittableRandom seeds = new SplittableRandom();
    int plays = Budget.of(60, 2_000);
    for (int play = 0; play < plays; play++) {
      scene.play(seeds.nextLong());
    }
  }
}
