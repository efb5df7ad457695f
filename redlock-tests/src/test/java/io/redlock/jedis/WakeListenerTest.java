package io.redlock.jedis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.RealTime;
import io.redlock.spi.LockNode.Observer;
import io.redlock.spi.NodeStatus;
import io.redlock.spi.Scheduler;
import io.redlock.testkit.Await;
import io.redlock.testkit.RedisServer;
import io.redlock.testkit.RequiresRedis;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.Connection;
import redis.clients.jedis.ConnectionPool;

/** What a connection for wake-ups is when its pool has it back. */
@RequiresRedis
class WakeListenerTest {

  private static final Duration POOLED_TIMEOUT = Duration.ofSeconds(44);

  @Test
  void subscriptionThatIsEndedTwiceLeavesNothingInItsConnection() {
    List<String> faults = new ArrayList<>();
    Duration nodeTimeout = Duration.ofMillis(500);
    LaneSettings settings =
        LaneSettings.derive(
            nodeTimeout, null, Duration.ofSeconds(30), Duration.ofSeconds(2), null, faults);
    CompletableFuture<Boolean> listening = new CompletableFuture<>();
    try (RedisServer server = RedisServer.start();
        Scheduler scheduler = RealTime.scheduler();
        ConnectionPool pool =
            NodePools.open(NodeAddress.parse(server.address(), 1, faults), null, POOLED_TIMEOUT)) {
      WakeListener listener =
          new WakeListener(
              "n", pool, settings, RealTime.ticker(), scheduler, new Listening(listening));
      listener.expect("client");
      listener.need();
      Await.value("the listener is subscribed", listening);
      server.pause();
      listener.close();
      listener.close(); // as when a beat, or a second one, finds that nobody waits
      server.resume();
      Await.until("the connection is given back", () -> pool.getNumIdle() == 1);
      try (Connection connection = pool.getResource()) {
        assertEquals(POOLED_TIMEOUT.toMillis(), connection.getSoTimeout());
        assertTrue(connection.ping());
      }
    }
    assertEquals(List.of(), faults);
  }

  private record Listening(CompletableFuture<Boolean> future) implements Observer {

    @Override
    public void onStateChange(NodeStatus status) {}

    @Override
    public void onListening() {
      future.complete(true);
    }
  }
}
