package io.redlock.jedis.lane;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.NodeStatus.State;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReply.Kind;
import io.redlock.spi.NodeRequest.Grant;
import io.redlock.spi.NodeRequest.Release;
import io.redlock.testbed.AgainIfItStoodStill;
import io.redlock.testbed.Await;
import io.redlock.testbed.RedisServer;
import io.redlock.testbed.RequiresRedis;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** What a lane leaves behind. */
@RequiresRedis
@AgainIfItStoodStill // a lane whose node is silent connects once more, which closing does not end
class LaneCloseTest {

  private static final Duration NODE_TIMEOUT = Duration.ofMillis(500);
  private static final long TTL = 20_000;

  @AutoClose private final RedisServer server = RedisServer.start().founded();

  @Test
  void closeWaitsForTheRepliesToWhatWasGivenBefore() {
    LaneFixture fixture = new LaneFixture(server.address(), Duration.ofSeconds(20)).up();
    List<CompletableFuture<NodeReply>> releases = new ArrayList<>();
    for (int i = 0; i < 500; i++) {
      long token = fixture.token();
      fixture.send(grant("name:" + i, token));
      releases.add(fixture.send(release("name:" + i, token)));
    }
    fixture.close();
    for (CompletableFuture<NodeReply> release : releases) {
      assertEquals(NodeReply.RELEASED, release.getNow(null));
    }
    assertEquals(List.of(), server.keys("name:*"));
    assertNothingLeft(fixture);
  }

  @Test
  void closeOfALaneToADeadNodeAnswersEverythingAndLeavesNothing() {
    LaneFixture fixture = new LaneFixture(server.address(), NODE_TIMEOUT).up();
    server.kill();
    fixture.awaitState(State.DOWN);
    CompletableFuture<NodeReply> release = fixture.send(release("name", fixture.token()));
    fixture.close();
    assertEquals(Kind.UNREACHABLE, Await.value("the release", release).kind());
    assertNothingLeft(fixture);
  }

  @Test
  void closeOfALaneToAStoppedNodeIsBoundedAndLeavesNothing() {
    Duration silenceTimeout = Duration.ofMinutes(10); // beyond what is waited for below
    LaneFixture fixture =
        new LaneFixture(server.address(), NODE_TIMEOUT, silenceTimeout, null).up();
    server.pause();
    CompletableFuture<NodeReply> sent = fixture.send(grant("name", fixture.token()));
    long start = System.nanoTime();
    fixture.close();
    Duration took = Duration.ofNanos(System.nanoTime() - start);
    assertTrue(took.compareTo(silenceTimeout.dividedBy(4)) < 0, "took " + took);
    assertEquals(Kind.UNKNOWN, Await.value("the grant", sent).kind());
    assertEquals(Kind.UNREACHABLE, fixture.ask(release("name", fixture.token())).kind());
    Await.until("the worker ends", () -> workers(fixture) == 0);
    Await.until("the connection ends", () -> fixture.pool.getNumActive() == 0);
    server.resume();
    assertNothingLeft(fixture);
  }

  private void assertNothingLeft(LaneFixture fixture) {
    Await.until("the worker ends", () -> workers(fixture) == 0);
    Await.until("the pool is closed", fixture.pool::isClosed);
    assertEquals(0, fixture.pool.getNumActive());
    if (server.isAlive()) {
      Await.until(
          "no connection but this one is left",
          () -> String.valueOf(server.command("CLIENT", "LIST")).lines().count() == 1);
    }
  }

  private static long workers(LaneFixture fixture) {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(thread -> thread.isAlive() && thread.getName().contains(fixture.lane.name()))
        .count();
  }

  private static Grant grant(String name, long token) {
    return new Grant(List.of(name), "owner", token, TTL);
  }

  private static Release release(String name, long token) {
    return new Release(List.of(name), "owner", token, 0, false, null, 0);
  }
}
