package io.redlock.jedis;

import static io.redlock.testbed.Results.assertUnavailable;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.AcquireResult;
import io.redlock.Lease;
import io.redlock.NodeStatus;
import io.redlock.NodeStatus.State;
import io.redlock.Redlock;
import io.redlock.testbed.Await;
import io.redlock.testbed.NodeView;
import io.redlock.testbed.RedisServer;
import io.redlock.testbed.RedisServers;
import io.redlock.testbed.RequiresRedis;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.Connection;
import redis.clients.jedis.ConnectionPool;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.JedisClientConfig;

/** Clients on different databases of the same masters would both hold a lock. */
@RequiresRedis
@Tag("servers")
@Tag("server-version")
class DatabaseTest {

  private static final Duration TTL = Duration.ofSeconds(10);
  private static final Duration NODE_TIMEOUT = Duration.ofSeconds(4);

  private final List<ConnectionPool> pools = new ArrayList<>();
  @AutoClose private final RedisServers servers = RedisServers.start(3);

  @AfterEach
  void closePools() {
    pools.forEach(ConnectionPool::close);
  }

  private static JedisClientConfig database(int database) {
    return DefaultJedisClientConfig.builder().database(database).build();
  }

  private JedisRedlock.Builder byPools(JedisClientConfig config) {
    JedisRedlock.Builder builder = JedisRedlock.builder().nodeTimeout(NODE_TIMEOUT);
    for (RedisServer server : servers) {
      pools.add(server.pool(config));
      builder.node("node-" + pools.size(), pools.get(pools.size() - 1));
    }
    return builder;
  }

  private void select(int database) {
    for (ConnectionPool pool : pools) {
      try (Connection connection = pool.getResource()) {
        RedisServer.command(connection, "SELECT", Integer.toString(database));
      }
    }
  }

  private static void assertRefused(Redlock redlock, int database) {
    for (NodeStatus node : redlock.operations().nodes()) {
      assertEquals(State.MISCONFIGURED, node.state(), node::toString);
      assertTrue(
          node.reason()
              .orElse("")
              .startsWith("its pool is on database " + database + ": use a pool on"),
          node::toString);
    }
  }

  @Test
  void clientWhosePoolIsOnAnotherDatabaseIsRefusedWhileAnotherHoldsTheLock() throws Exception {
    try (Redlock redlock = servers.patientClient().build();
        Redlock astray = byPools(database(3)).build();
        Lease lease = redlock.acquire("a", TTL, TTL)) {
      AcquireResult result = astray.tryAcquire("a", TTL);
      assertUnavailable(result);
      assertTrue(result.votes().toString().contains("database 3"), result::toString);
      assertRefused(astray, 3);
      assertTrue(lease.isValid());
    }
  }

  @Test
  void refusedConnectionGoesBackWholeAndOnItsDatabase() throws Exception {
    byPools(database(3)).build().close();
    for (ConnectionPool pool : pools) {
      Await.until("it is back", () -> pool.getNumActive() == 0);
      assertEquals(1, pool.getCreatedCount(), "connections made");
      try (Connection connection = pool.getResource()) {
        String info = RedisServer.command(connection, "CLIENT", "INFO").toString();
        assertTrue(info.contains(" db=3 "), info);
      }
    }
  }

  @Test
  void eachConnectionOfAPoolIsAskedAnew() throws Exception {
    try (Redlock redlock = byPools(database(0)).build()) {
      assertTrue(redlock.tryAcquire("a", TTL).lease().isPresent());
    }
    pools.forEach(pool -> Await.until("it is back", () -> pool.getNumActive() == 0));
    select(5);
    JedisRedlock.Builder again = JedisRedlock.builder().nodeTimeout(NODE_TIMEOUT);
    pools.forEach(pool -> again.node("again-" + pools.indexOf(pool), pool));
    try (Redlock redlock = again.build()) {
      assertRefused(redlock, 5);
      select(0);
      NodeView.awaitAllUp(redlock);
    }
  }

  @Test
  void mastersAreNotAdoptedThroughAnotherDatabase() {
    AdoptReport report = byPools(database(2)).adoptNew();
    assertFalse(report.isComplete(), report::toString);
    assertTrue(report.toString().contains("its pool is on database 2"), report::toString);
    for (RedisServer server : servers) {
      assertFalse(server.command("INFO", "keyspace").toString().contains("db2"));
    }
  }
}
