package io.redlock.chaos;

import io.redlock.scenes.Scenes;
import io.redlock.testbed.RequiresRedis;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** Masters that die and stop in the middle of an acquire, and requests that are late. */
@RequiresRedis
@Tag("servers")
@Execution(ExecutionMode.CONCURRENT)
class GatedMastersTest {

  @TestFactory
  Stream<DynamicTest> scenes() {
    return Stream.of("KilledNodes", "LateGrants", "StoppedNodes")
        .flatMap(file -> Scenes.of("chaos/" + file + ".txt", GatedMasters::new));
  }
}
