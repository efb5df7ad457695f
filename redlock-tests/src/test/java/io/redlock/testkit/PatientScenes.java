package io.redlock.testkit;

import io.redlock.scenes.Scenes;
import io.redlock.testbed.StandStill;
import java.time.Duration;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.function.Executable;

/** Scenes that are played again if this process stood still: some have ttls of 40 ms. */
public final class PatientScenes {

  private static final Duration TOO_LONG = Duration.ofMillis(20);
  private static final int MOST_TIMES = 10;

  private PatientScenes() {}

  /** Returns a test for each scene of a file below the module's resources for tests. */
  public static Stream<DynamicTest> of(String file, Supplier<? extends Scenes.Actor> actors) {
    return Scenes.of(file, actors)
        .map(
            scene ->
                DynamicTest.dynamicTest(scene.getDisplayName(), () -> play(scene.getExecutable())));
  }

  private static void play(Executable scene) throws Throwable {
    for (int times = 1; ; times++) {
      try (StandStill machine = StandStill.watching()) {
        try {
          scene.execute();
          return;
        } catch (AssertionError e) {
          if (times == MOST_TIMES || machine.longest().compareTo(TOO_LONG) <= 0) {
            throw e;
          }
        }
      }
    }
  }
}
