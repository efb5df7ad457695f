package io.redlock.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.redlock.NodeStatus.State;
import io.redlock.spi.Quorum;
import io.redlock.spi.StatusOfNode;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class QuorumWatchTest {

  private final QuorumWatch watch = new QuorumWatch(Quorum.of(3), 3);

  private @Nullable String becomes(int node, State state) {
    String name = List.of("a", "b", "c").get(node);
    return watch.changed(node, new StatusOfNode(name, state, Duration.ZERO, ""));
  }

  @Test
  void nodeThatIsUpAndGrantsNothingIsNoneOfTheMajority() {
    becomes(0, State.UP);
    becomes(1, State.UP);
    assertEquals(
        "No majority of masters grants leases: b grants nothing: full",
        watch.changed(1, new StatusOfNode("b", State.UP, Duration.ZERO, "grants nothing: full")));
    assertEquals("A majority of masters grants leases again", becomes(1, State.UP));
  }

  @Test
  void startSaysNothing() {
    assertNull(becomes(1, State.DOWN));
    assertNull(becomes(0, State.UP));
    assertNull(becomes(2, State.UP));
  }

  @Test
  void lossOfTheMajorityIsSaidOnceAndItsReturnToo() {
    for (int node = 0; node < 3; node++) {
      becomes(node, State.UP);
    }
    assertNull(becomes(1, State.SILENT), "two are enough");
    assertEquals(
        "No majority of masters grants leases: b is SILENT, c is DOWN", becomes(2, State.DOWN));
    assertNull(becomes(0, State.DOWN));
    assertNull(becomes(1, State.UP));
    assertEquals("A majority of masters grants leases again", becomes(2, State.UP));
    assertNull(becomes(0, State.UP));
  }
}
