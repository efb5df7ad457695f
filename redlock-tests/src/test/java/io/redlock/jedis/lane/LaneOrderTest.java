package io.redlock.jedis.lane;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.redlock.scenes.Scenes;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReply.Kind;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.NodeRequest.Grant;
import io.redlock.spi.NodeRequest.Release;
import io.redlock.testbed.Await;
import io.redlock.testbed.RedisServer;
import io.redlock.testbed.RequiresRedis;
import io.redlock.testkit.Together;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** What a lane does with the order of requests and replies, on a real server behind a gate. */
@RequiresRedis
class LaneOrderTest {

  /** Long enough for a busy machine not to find the node silent. */
  private static final Duration NODE_TIMEOUT = Duration.ofSeconds(5);

  private static final long TTL = 20_000;

  @AutoClose private static final RedisServer server = RedisServer.start();

  @AutoClose private LaneFixture fixture;

  @BeforeEach
  void connect() {
    server.command("FLUSHALL");
    server.founded();
    fixture = new LaneFixture(server.address(), NODE_TIMEOUT).up();
  }

  @TestFactory
  Stream<DynamicTest> scenes() {
    return Scenes.of("jedis/lane/Order.txt", LaneStage::new);
  }

  @Test
  void repliesComeToTheirRequestsThoughManyThreadsSend() throws Exception {
    Together.run(
        8,
        thread -> {
          for (int i = 0; i < 300; i++) {
            long token = fixture.token();
            String name = "thread:" + thread;
            String owner = name + ":" + i;
            CompletableFuture<NodeReply> granted = fixture.send(grant(name, owner, token));
            CompletableFuture<NodeReply> released = fixture.send(release(name, owner, token));
            assertEquals(Kind.GRANTED, Await.value("grant", granted).kind(), owner);
            assertEquals(NodeReply.RELEASED, Await.value("release", released), owner);
          }
        });
    assertEquals(List.of(), server.keys("thread:*"));
  }

  @Test
  void forgottenScriptsAreSentAgainInOrder() {
    for (int round = 0; round < 20; round++) {
      server.command("SCRIPT", "FLUSH");
      long token = fixture.token();
      String owner = "owner-" + round;
      CompletableFuture<NodeReply> granted = fixture.send(grant("flushed", owner, token));
      CompletableFuture<NodeReply> extended =
          fixture.send(new NodeRequest.Extend(List.of("flushed"), owner, token, TTL, token, false));
      CompletableFuture<NodeReply> released = fixture.send(release("flushed", owner, token));
      assertEquals(Kind.GRANTED, Await.value("grant", granted).kind());
      assertEquals(NodeReply.EXTENDED, Await.value("extend", extended));
      assertEquals(NodeReply.RELEASED, Await.value("release", released));
    }
    assertEquals(1, fixture.states.size(), () -> "up and never down: " + fixture.states);
  }

  private static Grant grant(String name, String owner, long token) {
    return new Grant(List.of(name), owner, token, TTL);
  }

  private static Release release(String name, String owner, long token) {
    return new Release(List.of(name), owner, token, 0, false, null, 0);
  }
}
