package io.redlock.chaos;

import io.redlock.chaos.ChaosPlan.Strike;
import io.redlock.testkit.Await;
import io.redlock.testkit.RedisServer;
import java.time.Duration;
import redis.clients.jedis.Connection;
import redis.clients.jedis.HostAndPort;

/**
 * A master or its replica. One that was killed does not come back by itself before the other has
 * been promoted, as Redis recommends for servers that keep nothing on disk.
 */
record PairMember(ChaosNode node, ChaosNode other, Sentinels sentinels) implements ChaosServer {

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
    if (strike.fault() == ChaosFault.NODE_KILL) {
      Await.until(other.name + " is the master", Duration.ofSeconds(60), this::isOtherMaster);
    }
    node.end(strike);
    if (strike.fault() == ChaosFault.NODE_KILL) {
      RedisServer master = other.server;
      node.server.command("REPLICAOF", master.host(), Integer.toString(master.port()));
    }
  }

  private boolean isOtherMaster() {
    HostAndPort sentinel = HostAndPort.from(sentinels.addresses.get(0));
    try (Connection connection = new Connection(sentinel.getHost(), sentinel.getPort())) {
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
