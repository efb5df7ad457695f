package io.redlock.membership;

import static io.redlock.testbed.Results.assertAcquired;
import static io.redlock.testbed.Results.assertUnavailable;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.AcquireResult;
import io.redlock.Lease;
import io.redlock.NodeStatus.State;
import io.redlock.Redlock;
import io.redlock.testbed.NodeView;
import io.redlock.testbed.RedisServers;
import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Any number of masters will do. */
@Tag("servers")
class NodeCountTest {

  private static final Duration TTL = Duration.ofSeconds(10);

  @ParameterizedTest
  @CsvSource({"1, 1", "2, 2", "3, 2", "4, 3"})
  void moreThanHalfOfThemAreNeeded(int nodes, int needed) throws Exception {
    try (RedisServers servers = RedisServers.start(nodes);
        Redlock redlock = servers.patientClient().build()) {
      for (int node = needed; node < nodes; node++) {
        kill(servers, node, redlock);
      }
      try (Lease lease = redlock.acquire("a", TTL, TTL)) {
        assertTrue(lease.isValid());
      }
      assertAcquired(redlock.tryAcquire("b", TTL));
      kill(servers, 0, redlock);
      AcquireResult result = redlock.tryAcquire("c", TTL);
      assertUnavailable(result);
      String votes = result.votes().toString();
      assertTrue(votes.contains(" of " + nodes + " granted, " + needed + " needed "), votes);
    }
  }

  private static void kill(RedisServers servers, int node, Redlock redlock) {
    servers.get(node).kill();
    NodeView.await(redlock, node, State.DOWN);
  }
}
