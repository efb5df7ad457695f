package io.redlock.jedis.lane;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.NodeStatus;
import io.redlock.driver.RealTime;
import io.redlock.jedis.connection.NodeAddress;
import io.redlock.jedis.connection.NodePools;
import io.redlock.spi.LockNode.Observer;
import io.redlock.spi.Scheduler;
import io.redlock.spi.Ticker;
import io.redlock.testbed.Await;
import io.redlock.testbed.RedisServer;
import io.redlock.testbed.RequiresRedis;
import io.redlock.testkit.FakeScheduler;
import io.redlock.testkit.FakeTicker;
import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.Connection;
import redis.clients.jedis.ConnectionPool;

/** When there is a connection for wake-ups, and what it is when its pool has it back. */
@RequiresRedis
class WakeListenerTest {

  private static final Duration POOLED_TIMEOUT = Duration.ofSeconds(44);

  /** A listener with a pool of its own, and what it hears. */
  private static final class Bed implements AutoCloseable, Observer {
    final RedisServer server = RedisServer.start().founded();
    final Queue<String> heard = new ConcurrentLinkedQueue<>();
    final ConnectionPool pool;
    final WakeListener listener;

    Bed(Ticker ticker, Scheduler scheduler) {
      LaneSettings settings = LaneFixture.settings(Duration.ofMillis(500), null);
      NodeAddress address = LaneFixture.address(server.address());
      pool = NodePools.open(address, null, "test", POOLED_TIMEOUT);
      Dialer dialer = new JedisDialer("redlock-wake-n", pool, false, settings);
      listener = new WakeListener("n", dialer, settings, ticker, scheduler, this);
    }

    @Override
    public void onStateChange(NodeStatus status) {}

    @Override
    public void onListening() {
      heard.add("listening");
    }

    @Override
    public void onWake(long waiter) {
      heard.add("wake " + waiter);
    }

    void awaitHeard(String... all) {
      Await.until(List.of(all) + " is heard", () -> List.copyOf(heard).equals(List.of(all)));
    }

    long publish(String waiter) {
      return (Long) server.command("PUBLISH", WakeMachine.CHANNEL_PREFIX + "client", waiter);
    }

    void awaitGivenBack() {
      Await.until("the connection is given back", () -> pool.getNumIdle() == 1);
    }

    @Override
    public void close() {
      listener.close();
      pool.close();
      server.close();
    }
  }

  @Test
  void subscriptionEndsWhenNobodyWaitsAndComesBackAtNeed() {
    FakeTicker ticker = new FakeTicker();
    FakeScheduler scheduler = new FakeScheduler(ticker);
    try (Bed bed = new Bed(ticker, scheduler)) {
      assertEquals(0, bed.publish("1"), "nobody has waited");
      bed.listener.need("client");
      bed.awaitHeard("listening");
      for (int second = 1; second < 10; second++) {
        scheduler.runFor(Duration.ofSeconds(1));
        assertEquals(1, bed.publish(String.valueOf(second)));
        String wake = "wake " + second;
        Await.until(wake + " is heard", () -> bed.heard.contains(wake)); // so is the probe
      }
      scheduler.runFor(Duration.ofSeconds(1));
      bed.awaitGivenBack();
      assertEquals(0, bed.publish("10"));
      bed.heard.clear();
      bed.listener.need("client");
      bed.awaitHeard("listening");
      assertEquals(1, bed.publish("11"));
      bed.awaitHeard("listening", "wake 11");
    }
  }

  @Test
  void connectionStandsHoweverOftenItIsProbed() {
    FakeTicker ticker = new FakeTicker();
    FakeScheduler scheduler = new FakeScheduler(ticker);
    try (Bed bed = new Bed(ticker, scheduler)) {
      bed.listener.need("client");
      bed.awaitHeard("listening");
      for (int second = 0; second < 100; second++) {
        scheduler.runFor(Duration.ofSeconds(1));
        bed.listener.need("client");
        assertEquals(1, bed.publish(String.valueOf(second)));
        String wake = "wake " + second;
        Await.until(wake + " is heard", () -> bed.heard.contains(wake));
      }
      assertEquals(1, bed.heard.stream().filter("listening"::equals).count());
    }
  }

  @Test
  void subscriptionThatIsEndedTwiceLeavesNothingInItsConnection() {
    try (Scheduler scheduler = RealTime.scheduler();
        Bed bed = new Bed(RealTime.ticker(), scheduler)) {
      bed.listener.need("client");
      bed.awaitHeard("listening");
      bed.server.pause();
      bed.listener.close();
      bed.listener.close(); // as when a beat, or a second one, finds that nobody waits
      bed.server.resume();
      bed.awaitGivenBack();
      try (Connection connection = bed.pool.getResource()) {
        assertEquals(POOLED_TIMEOUT.toMillis(), connection.getSoTimeout());
        assertTrue(connection.ping());
      }
    }
  }
}
