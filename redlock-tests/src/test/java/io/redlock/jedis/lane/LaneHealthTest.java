package io.redlock.jedis.lane;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.NodeStatus.State;
import io.redlock.scenes.Scenes;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReply.Kind;
import io.redlock.spi.NodeRequest.Grant;
import io.redlock.testbed.AgainIfItStoodStill;
import io.redlock.testbed.Await;
import io.redlock.testbed.RedisServer;
import io.redlock.testbed.RequiresRedis;
import io.redlock.testkit.GateProxy;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.JedisClientConfig;

/** How a lane sees its node fall silent, die and come back. */
@RequiresRedis
@Execution(ExecutionMode.CONCURRENT)
@AgainIfItStoodStill
class LaneHealthTest {

  /** Long enough for a busy machine not to find the node silent. */
  private static final Duration NODE_TIMEOUT = Duration.ofMillis(700);

  private static final long TTL = 20_000;

  /** Between two probes of a node that is away. */
  private static final Duration LONGEST_PAUSE = Duration.ofSeconds(1);

  @AutoClose private final RedisServer server = RedisServer.start().founded();

  @TestFactory
  Stream<DynamicTest> scenes() {
    return Scenes.of("jedis/lane/Health.txt", LaneStage::new);
  }

  @Tag("servers")
  @Test
  void nodeThatWasAwayForLongIsUpWithinOneProbeOfItsReturn() {
    String[] slowly = server.saveWhatLoadsSlowly(20, 300);
    AtomicInteger probes = new AtomicInteger();
    JedisClientConfig counting =
        DefaultJedisClientConfig.builder()
            .hostAndPortMapper(
                address -> {
                  probes.incrementAndGet();
                  return address;
                })
            .build();
    try (LaneFixture fixture =
        new LaneFixture(server.address(), NODE_TIMEOUT, null, counting).up()) {
      server.kill();
      fixture.awaitState(State.DOWN);
      long downNanos = System.nanoTime();
      Await.until("its pauses are the longest", () -> probes.get() > 10);
      long awayNanos = System.nanoTime() - downNanos;
      Duration since = fixture.lane.status().sinceAgo();
      assertTrue(since.toNanos() >= awayNanos, "since it went down");
      server.restart(slowly);
      assertFalse(server.serves("PING"), "it loads");
      Await.until("it has loaded", () -> server.serves("PING"));
      Await.until(
          "it is up, not " + fixture.lane.status(),
          LONGEST_PAUSE.multipliedBy(10), // of what is twice or more with each failure
          () -> fixture.lane.status().state() == State.UP);
    }
  }

  @Test
  void nodeThatTakesConnectionsAndSaysNothingIsNotWaitedFor() {
    server.pause();
    try (LaneFixture fixture = new LaneFixture(server.address(), NODE_TIMEOUT).start()) {
      NodeReply refused = fixture.ask(grant("name", fixture.token()));
      assertEquals(NodeReply.unreachable("not yet connected"), refused);
      server.resume();
      fixture.awaitState(State.UP);
    }
  }

  @Test
  void connectionsCutAllTheTimeCostRepliesAndNothingElse() {
    try (GateProxy gate = GateProxy.to(server);
        LaneFixture fixture = new LaneFixture(gate.address(), NODE_TIMEOUT).up()) {
      int granted = 0;
      for (int i = 0; i < 40; i++) {
        if (i % 4 == 3) {
          gate.cut();
        }
        NodeReply reply = fixture.ask(grant("cut:" + i, fixture.token()));
        assertTrue(
            List.of(Kind.GRANTED, Kind.UNKNOWN, Kind.UNREACHABLE).contains(reply.kind()),
            reply.toString());
        if (reply.kind() == Kind.GRANTED) {
          granted++;
        } else {
          fixture.awaitState(State.UP);
        }
      }
      assertTrue(granted >= 20, granted + " of 40 granted");
      fixture.awaitState(State.UP);
      assertTrue(fixture.pool.getNumActive() <= 1, "connections leak");
    }
  }

  private static Grant grant(String name, long token) {
    return new Grant(List.of(name), "owner", token, TTL);
  }
}
