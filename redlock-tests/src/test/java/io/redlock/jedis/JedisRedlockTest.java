package io.redlock.jedis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.Lease;
import io.redlock.Redlock;
import io.redlock.testbed.Await;
import io.redlock.testbed.NodeView;
import io.redlock.testbed.RedisServer;
import io.redlock.testbed.RedisServers;
import io.redlock.testbed.RequiresRedis;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.Connection;
import redis.clients.jedis.ConnectionPool;
import redis.clients.jedis.DefaultJedisClientConfig;

/** The front door, on real servers. */
@RequiresRedis
class JedisRedlockTest {

  private static final Duration TTL = Duration.ofSeconds(10);
  private static final Duration NODE_TIMEOUT = Duration.ofSeconds(4);

  @AutoClose private static final RedisServers servers = RedisServers.start(3);

  @Test
  void oneStringMayNameAllMastersAndClosingEndsAllConnections() {
    try (Redlock redlock = JedisRedlock.connect(String.join(", ", servers.addresses()))) {
      assertEquals(3, redlock.operations().nodes().size());
      NodeView.awaitAllUp(redlock);
    }
    for (RedisServer server : servers) {
      Await.until(
          "no connection but this one is left",
          () -> String.valueOf(server.command("CLIENT", "LIST")).lines().count() == 1);
    }
  }

  @Test
  void counterLivesAsLongAsTheUserSays() throws InterruptedException {
    Duration retention = Duration.ofSeconds(38);
    try (Redlock redlock = servers.patientClient().fenceRetention(retention).build();
        Lease lease = redlock.acquire("brief", Duration.ofSeconds(9), Duration.ofMinutes(1))) {
      assertTrue(lease.isValid());
      assertCounterLives("brief", retention);
    }
    try (Redlock redlock = servers.patientClient().build();
        Lease lease = redlock.acquire("usual", Duration.ofSeconds(9), Duration.ofMinutes(1))) {
      assertTrue(lease.isValid());
      assertCounterLives("usual", Duration.ofMinutes(10));
    }
  }

  private static void assertCounterLives(String resource, Duration retention) {
    for (RedisServer server : servers) {
      Await.until("it has it", () -> server.keys("redlock:fence:" + resource).size() == 1);
      long leftMillis = (Long) server.command("PTTL", "redlock:fence:" + resource);
      assertTrue(
          leftMillis > retention.toMillis() / 2 && leftMillis <= retention.toMillis(),
          () -> leftMillis + " ms");
    }
  }

  @Test
  void poolsOfTheUserAreUsedAndLeftOpen() throws InterruptedException {
    JedisRedlock.Builder builder = JedisRedlock.builder().nodeTimeout(NODE_TIMEOUT);
    List<ConnectionPool> pools = new ArrayList<>();
    for (RedisServer server : servers) {
      ConnectionPool pool =
          server.pool(DefaultJedisClientConfig.builder().socketTimeoutMillis(1_234).build());
      builder.node("node-" + pools.size(), pool);
      pools.add(pool);
    }
    try (Redlock redlock = builder.build()) {
      assertTrue(redlock.tryAcquire("pooled", TTL).lease().isPresent());
      assertEquals("node-1", redlock.operations().nodes().get(1).name());
      for (ConnectionPool pool : pools) {
        Await.until("one connection is used", () -> pool.getNumActive() == 1);
      }
    }
    for (ConnectionPool pool : pools) {
      Await.until("the connection is back", () -> pool.getNumActive() == 0);
      assertFalse(pool.isClosed());
      try (Connection connection = pool.getResource()) {
        assertTrue(connection.ping());
        assertEquals(1_234, connection.getSoTimeout());
      }
      pool.close();
    }
  }
}
