package io.redlock.trust;

import static io.redlock.testbed.Results.assertAcquired;
import static io.redlock.testbed.Results.assertUnavailable;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.AcquireResult;
import io.redlock.Lease;
import io.redlock.NodeStatus.State;
import io.redlock.Redlock;
import io.redlock.jedis.JedisRedlock;
import io.redlock.testbed.Await;
import io.redlock.testbed.RedisServers;
import io.redlock.testkit.JavaProgram;
import java.time.Duration;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Any number of masters will do, and what it is worth is said. */
@Tag("servers")
class NodeCountTest {

  private static final Duration TTL = Duration.ofSeconds(10);

  @ParameterizedTest
  @CsvSource({"1, 1", "2, 2", "3, 2", "4, 3"})
  void moreThanHalfOfThemAreNeeded(int nodes, int needed) throws Exception {
    try (RedisServers servers = RedisServers.start(nodes);
        Redlock redlock =
            JedisRedlock.builder()
                .node(String.join(",", servers.addresses()))
                .nodeTimeout(Duration.ofSeconds(4))
                .build()) {
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
    Await.until(
        "it is known to be down",
        () -> redlock.operations().nodes().get(node).state() == State.DOWN);
  }

  @Test
  void evenNumbersAndFewerThanThreeAreWarnedOfOnce() throws Exception {
    JavaProgram.Run run = JavaProgram.run(Deployments.class.getName(), "warn", "");
    assertEquals(0, run.exitCode(), run::toString);
    List<String> warnings =
        run.lines().stream()
            .filter(line -> line.contains("odd number"))
            .map(line -> line.replaceFirst(".* (?=\\d+ nodes)", ""))
            .toList();
    String advice = ": use an odd number, at least three";
    assertEquals(
        List.of(
            "1 nodes, 1 needed for a lease, survive the failure of 0" + advice,
            "2 nodes, 2 needed for a lease, survive the failure of 0" + advice,
            "4 nodes, 3 needed for a lease, survive the failure of 1" + advice),
        warnings,
        run::toString);
  }

  /** Uses deployments of one to five masters, none of which is there. */
  static final class Deployments {

    private Deployments() {}

    public static void main(String[] args) throws InterruptedException {
      for (int nodes = 1; nodes <= 5; nodes++) {
        String[] nowhere =
            IntStream.rangeClosed(1, nodes).mapToObj(i -> "127.0.0.1:" + i).toArray(String[]::new);
        try (Redlock redlock = JedisRedlock.connect(nowhere)) {
          redlock.tryAcquire("a", TTL);
          redlock.tryAcquire("b", TTL);
        }
      }
    }
  }
}
