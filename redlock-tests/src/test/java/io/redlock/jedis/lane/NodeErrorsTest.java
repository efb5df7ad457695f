package io.redlock.jedis.lane;

import io.redlock.scenes.Scenes;
import io.redlock.testbed.RequiresRedis;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.TestFactory;

/** What becomes of requests that a real server cannot or will not execute. */
@Tag("servers")
@Tag("server-version")
@RequiresRedis
class NodeErrorsTest {

  @TestFactory
  Stream<DynamicTest> scenes() {
    return Scenes.of("jedis/lane/Errors.txt", LaneStage::new);
  }
}
