package io.redlock.chaos;

import io.redlock.chaos.ChaosPlan.Strike;
import io.redlock.testbed.Await;
import io.redlock.testbed.RedisServer;
import java.time.Duration;
import redis.clients.jedis.Connection;
import redis.clients.jedis.HostAndPort;

/**
 * A master or its replica. One that was killed does not come back by itself before the other has
 * been promoted, as Redis recommends for servers that keep nothing on disk. Sentinels promote no
 * replica that was killed as well: then the operator gives up waiting, and the one that comes back
 * is still the master.
 */
record PairMember(ChaosNode node, ChaosNode other, Sentinels sentinels) implements ChaosServer {

  private static final long PATIENCE_NANOS = 10_000_000_000L;

  @Override
  public boolean isRunning() {
    return node.isRunning();
  }

  @Override
  public void begin(Strike strike) {
    node.begin(strike);
  }

  @Override
  public void end(Strike strike) {
    boolean wasKilled = strike.fault() == ChaosFault.NODE_KILL;
    if (wasKilled) {
      long startNanos = System.nanoTime();
      Await.until(
          other.name + " is the master, or cannot be",
          Duration.ofSeconds(60),
          () -> isOtherMaster() || System.nanoTime() - startNanos > PATIENCE_NANOS);
    }
    node.end(strike);
    if (wasKilled && isOtherMaster()) {
      RedisServer master = other.server;
      node.server.command("REPLICAOF", master.host(), Integer.toString(master.port()));
    }
  }

  private boolean isOtherMaster() {
    HostAndPort sentinel = HostAndPort.from(sentinels.addresses.get(0));
    try (Connection connection = RedisServer.connect(sentinel.getPort())) {
      String[] question = {"SENTINEL", "GET-MASTER-ADDR-BY-NAME", Sentinels.MASTER};
      return String.valueOf(RedisServer.command(connection, question))
          .contains(Integer.toString(other.server.port()));
    }
  }

  @Override
  public void close() {
    node.close();
  }
}
