package io.redlock.jedis.lane;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.redlock.NodeStatus;
import io.redlock.spi.LockNode.Observer;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReply.Kind;
import io.redlock.spi.NodeRequest.Grant;
import io.redlock.spi.NodeRequest.Release;
import io.redlock.spi.NodeRequest.Ticket;
import io.redlock.testbed.Await;
import io.redlock.testbed.RedisServer;
import io.redlock.testbed.RequiresRedis;
import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import redis.clients.jedis.ConnectionPool;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.RedisProtocol;

/** Wake-ups between the answers of one connection, as a server sends them. */
@RequiresRedis
@Tag("servers")
class WakesTest {

  private static final String CHANNEL = Wakes.CHANNEL_PREFIX + "client";
  private static final int MANY = 1_000;

  /** A lane with a user's pool of this protocol, and what it hears. */
  private static final class Bed implements AutoCloseable, Observer {
    final RedisServer server = RedisServer.start().founded();
    final Queue<String> heard = new ConcurrentLinkedQueue<>();
    final ConnectionPool pool;
    final LaneFixture fixture;

    Bed(RedisProtocol protocol) {
      pool = server.pool(DefaultJedisClientConfig.builder().protocol(protocol).build());
      String name = server.host() + ":" + server.port();
      fixture = new LaneFixture(name, pool, Duration.ofSeconds(4));
      fixture.lane.start(fixture.ticker, fixture.scheduler, this);
    }

    @Override
    public void onStateChange(NodeStatus status) {
      heard.add(status.state().toString());
    }

    @Override
    public void onListening() {
      heard.add("listening");
    }

    @Override
    public void onWake(long waiter) {
      heard.add("wake " + waiter);
    }

    void awaitHeard(String what) {
      Await.until(what + " is heard", () -> heard.contains(what));
    }

    Grant grant(String name, boolean isFair) {
      Ticket ticket = isFair ? new Ticket("client", 17, fixture.token(), 3_000, false) : null;
      return new Grant(List.of(name), name, fixture.token(), 0, 20_000, ticket, 0);
    }

    /** A fair waiter is refused, and listens. */
    void listen() {
      awaitHeard("UP");
      server.command("SET", "held", "somebody", "PX", "60000");
      assertEquals(Kind.HELD, fixture.ask(grant("held", true)).kind());
      awaitHeard("listening");
    }

    long publish(String text) {
      return (Long) server.command("PUBLISH", CHANNEL, text);
    }

    @Override
    public void close() {
      fixture.close();
      Await.until("the connection is back", () -> pool.getNumActive() == 0);
      Await.until("nobody listens in a pool", () -> publish("1") == 0);
      pool.close();
      server.close();
    }
  }

  @ParameterizedTest
  @EnumSource(RedisProtocol.class)
  void connectionOfAnyPoolHearsWakeUpsBesideItsAnswers(RedisProtocol protocol) {
    try (Bed bed = new Bed(protocol)) {
      bed.awaitHeard("UP");
      assertEquals(0, bed.publish("1"), "nobody has waited");
      bed.listen();
      assertEquals(1, bed.publish("no number of a waiter"));
      for (int wave = 0; wave < MANY; wave += 100) {
        CompletableFuture<NodeReply> last = null;
        for (int number = wave; number < wave + 100; number++) {
          last = bed.fixture.send(bed.grant("free-" + number, false));
          assertEquals(1, bed.publish(Integer.toString(number)));
        }
        assertEquals(Kind.GRANTED, Await.value("the last answer", last).kind());
      }
      bed.awaitHeard("wake " + (MANY - 1));
      assertEquals(MANY, bed.heard.stream().filter(each -> each.startsWith("wake ")).count());
      assertEquals(1, bed.pool.getCreatedCount(), "connections");
      bed.server.command("CLIENT", "KILL", "TYPE", "pubsub");
      bed.awaitHeard("DOWN");
      Await.until(
          "it listens again", () -> bed.heard.stream().filter("listening"::equals).count() == 2);
      assertEquals(1, bed.publish("1"));
    }
  }

  /** A release wakes a waiter of the client that releases, over the connection of both. */
  @Test
  void clientWakesItself() {
    try (Bed bed = new Bed(RedisProtocol.RESP3)) {
      bed.listen();
      long token = bed.fixture.token();
      assertEquals(
          Kind.GRANTED, bed.fixture.ask(new Grant(List.of("a"), "first", token, 20_000)).kind());
      assertEquals(Kind.HELD, bed.fixture.ask(bed.grant("a", true)).kind());
      assertEquals(
          Kind.RELEASED,
          bed.fixture.ask(new Release(List.of("a"), "first", token, 0, false, null, 0)).kind());
      bed.awaitHeard("wake 17");
    }
  }
}
