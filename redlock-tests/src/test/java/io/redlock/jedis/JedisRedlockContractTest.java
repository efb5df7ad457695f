package io.redlock.jedis;

import io.redlock.NodeStatus.State;
import io.redlock.Redlock;
import io.redlock.testbed.NodeView;
import io.redlock.testbed.RedisServer;
import io.redlock.testbed.RedisServers;
import io.redlock.testbed.RequiresRedis;
import io.redlock.testkit.DeploymentUnderTest;
import io.redlock.testkit.RedlockContract;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.AfterAll;

/** The front door, over five real servers. */
@RequiresRedis
class JedisRedlockContractTest extends RedlockContract {

  /** Started, and used by no test at the moment. */
  private static final Queue<RedisServers> IDLE = new ConcurrentLinkedQueue<>();

  @AfterAll
  static void stopServers() {
    IDLE.forEach(RedisServers::close);
    IDLE.clear();
  }

  @Override
  protected DeploymentUnderTest open() {
    RedisServers idle = IDLE.poll();
    return new OnRedis(idle != null ? idle : RedisServers.start(DeploymentUnderTest.NODES));
  }

  private static final class OnRedis implements DeploymentUnderTest {
    private final RedisServers servers;
    private final List<Redlock> clients = new ArrayList<>();

    OnRedis(RedisServers servers) {
      this.servers = servers;
    }

    @Override
    public Redlock connect(Duration nodeTimeout) {
      JedisRedlock.Builder builder = JedisRedlock.builder().nodeTimeout(nodeTimeout);
      for (String address : servers.addresses()) {
        builder.node(address);
      }
      Redlock client = builder.build();
      clients.add(client);
      for (int node = 0; node < NODES; node++) {
        if (servers.get(node).isAlive()) {
          NodeView.await(client, node, State.UP);
        }
      }
      return client;
    }

    @Override
    public int holders(String resource) {
      int holders = 0;
      for (RedisServer server : servers) {
        if (server.isAlive() && (Long) server.command("EXISTS", resource) == 1) {
          holders++;
        }
      }
      return holders;
    }

    @Override
    public int waiters(String resource) {
      long fewest = Integer.MAX_VALUE;
      for (RedisServer server : servers) {
        if (server.isAlive()) {
          fewest = Math.min(fewest, (Long) server.command("ZCARD", "redlock:queue:" + resource));
        }
      }
      return (int) fewest;
    }

    @Override
    public void set(int node, String resource, String owner, Duration ttl) {
      servers.get(node).command("SET", resource, owner, "PX", Long.toString(ttl.toMillis()));
    }

    @Override
    public void takeDown(int node) {
      servers.get(node).kill();
    }

    @Override
    public void close() {
      clients.forEach(Redlock::close);
      servers.restartDead();
      IDLE.add(servers);
    }
  }
}
