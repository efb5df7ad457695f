package io.redlock.jedis.lane;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.NodeStatus.State;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReply.Kind;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.NodeRequest.Grant;
import io.redlock.spi.NodeRequest.Release;
import io.redlock.testbed.Await;
import io.redlock.testbed.RedisServer;
import io.redlock.testbed.RequiresRedis;
import io.redlock.testkit.GateProxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What a lane does with the order of requests and replies, on a real server behind a gate. */
@RequiresRedis
class LaneOrderTest {

  /** Long enough for a busy machine not to find the node silent. */
  private static final Duration NODE_TIMEOUT = Duration.ofSeconds(5);

  private static final long TTL = 20_000;

  @AutoClose private static final RedisServer server = RedisServer.start();

  private GateProxy gate;
  private LaneFixture fixture;

  @BeforeEach
  void connect() {
    server.command("FLUSHALL");
    server.founded();
    gate = GateProxy.to(server);
    fixture = new LaneFixture(gate.address(), NODE_TIMEOUT).up();
  }

  @AfterEach
  void disconnect() {
    gate.requests().open();
    gate.replies().open();
    fixture.close();
    gate.close();
  }

  @Test
  void releaseReachesASlowNodeWhileTheReplyToItsGrantIsOutstanding() {
    long token = fixture.token();
    gate.replies().hold("slow");
    CompletableFuture<NodeReply> granted = fixture.send(grant("slow", "a", token));
    gate.replies().awaitHeld("slow");
    CompletableFuture<NodeReply> released = fixture.send(release("slow", "a", token));
    Await.until("the release is executed", () -> server.keys("slow").isEmpty());
    assertFalse(granted.isDone() || released.isDone());
    gate.replies().open();
    assertEquals(NodeReply.GRANTED, Await.value("grant", granted));
    assertEquals(NodeReply.RELEASED, Await.value("release", released));
  }

  @Test
  void repliesComeToTheirRequestsThoughManyThreadsSend() throws InterruptedException {
    List<Thread> threads = new ArrayList<>();
    List<String> wrong = new CopyOnWriteArrayList<>();
    for (int t = 0; t < 8; t++) {
      String name = "thread:" + t;
      Thread thread =
          new Thread(
              () -> {
                for (int i = 0; i < 300; i++) {
                  long token = fixture.token();
                  String owner = name + ":" + i;
                  CompletableFuture<NodeReply> granted = fixture.send(grant(name, owner, token));
                  CompletableFuture<NodeReply> released = fixture.send(release(name, owner, token));
                  if (!NodeReply.GRANTED.equals(Await.value("grant", granted))
                      || !NodeReply.RELEASED.equals(Await.value("release", released))) {
                    wrong.add(owner + " " + granted + " " + released);
                  }
                }
              });
      threads.add(thread);
      thread.start();
    }
    for (Thread thread : threads) {
      thread.join();
    }
    assertEquals(List.of(), wrong);
    assertEquals(List.of(), server.keys("thread:*"));
  }

  @Test
  void replyThatComesTwiceEndsTheConnectionAndIsCountedForNothing() {
    long token = fixture.token();
    gate.replies().duplicate("first");
    gate.replies().hold("first");
    CompletableFuture<NodeReply> first = fixture.send(grant("first", "a", token));
    CompletableFuture<NodeReply> second = fixture.send(grant("second", "b", token + 1));
    gate.replies().awaitHeld("second");
    gate.replies().open();
    assertEquals(NodeReply.GRANTED, Await.value("first", first));
    NodeReply unknown = Await.value("second", second);
    assertEquals(Kind.UNKNOWN, unknown.kind());
    assertTrue(unknown.detail().contains("out of step"), unknown.detail());
    fixture.awaitState(State.UP);
    assertEquals(NodeReply.RELEASED, fixture.ask(release("second", "b", token + 1)));
    assertTrue(fixture.states.contains(State.DOWN));
  }

  @Test
  void requestDeliveredTwiceDoesNotHarmTheLock() {
    long token = fixture.token();
    gate.requests().duplicate("twice");
    assertEquals(NodeReply.GRANTED, fixture.ask(grant("twice", "a", token)));
    Await.until("the connection is given up", () -> fixture.states.contains(State.DOWN));
    fixture.awaitState(State.UP);
    assertEquals(NodeReply.RELEASED, fixture.ask(release("twice", "a", token)));
    assertEquals(List.of(), server.keys("twice"));
  }

  @Test
  void whatWasInFlightWhenTheConnectionBrokeIsUnknown() {
    gate.replies().hold("lost");
    long token = fixture.token();
    CompletableFuture<NodeReply> lost = fixture.send(grant("lost", "a", token));
    gate.replies().awaitHeld("lost");
    gate.cut();
    assertEquals(Kind.UNKNOWN, Await.value("lost", lost).kind());
    assertEquals("a@" + token, server.command("GET", "lost"));
  }

  @Test
  void releaseGivenWhileTheNodeIsAwayIsTheFirstThingItHears() {
    long token = fixture.token();
    fixture.ask(grant("kept", "a", token));
    gate.close();
    fixture.awaitState(State.DOWN);
    Await.until(
        "grants are refused",
        () -> fixture.ask(grant("other", "b", token)).kind() == Kind.UNREACHABLE);
    CompletableFuture<NodeReply> release = fixture.send(release("kept", "a", token));
    assertFalse(release.isDone());
    assertEquals("a@" + token, server.command("GET", "kept"));
    gate = GateProxy.to(server, gate.port());
    assertEquals(NodeReply.RELEASED, Await.value("the release", release));
    fixture.awaitState(State.UP);
  }

  @Test
  void forgottenScriptsAreSentAgainInOrder() {
    for (int round = 0; round < 20; round++) {
      server.command("SCRIPT", "FLUSH");
      long token = fixture.token();
      String owner = "owner-" + round;
      CompletableFuture<NodeReply> granted = fixture.send(grant("flushed", owner, token));
      CompletableFuture<NodeReply> extended =
          fixture.send(new NodeRequest.Extend(List.of("flushed"), owner, token, TTL, token));
      CompletableFuture<NodeReply> released = fixture.send(release("flushed", owner, token));
      assertEquals(NodeReply.GRANTED, Await.value("grant", granted));
      assertEquals(NodeReply.EXTENDED, Await.value("extend", extended));
      assertEquals(NodeReply.RELEASED, Await.value("release", released));
    }
    assertEquals(1, fixture.states.size(), () -> "up and never down: " + fixture.states);
  }

  private static Grant grant(String name, String owner, long token) {
    return new Grant(List.of(name), owner, token, TTL);
  }

  private static Release release(String name, String owner, long token) {
    return new Release(List.of(name), owner, token);
  }
}
