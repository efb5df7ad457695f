package io.redlock.jedis.lane;

import io.redlock.scenes.KeptLog;
import io.redlock.scenes.Scenes;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The life of a lane. */
class LaneMachineTest {

  @RegisterExtension private final KeptLog log = new KeptLog();

  @TestFactory
  Stream<DynamicTest> scenes() {
    return Stream.of(
            "Handshake",
            "Connecting",
            "Writing",
            "Answers",
            "Silence",
            "Audits",
            "Wakes",
            "Closing")
        .flatMap(each -> Scenes.of("jedis/lane/" + each + ".txt", log.beside(LaneLife::new)));
  }
}
