package io.redlock.jedis.lane;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.NodeStatus.State;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReply.Kind;
import io.redlock.spi.NodeRequest.Grant;
import io.redlock.spi.NodeRequest.Release;
import io.redlock.spi.NodeRequest.RemoveTicket;
import io.redlock.spi.NodeRequest.Ticket;
import io.redlock.testbed.AgainIfItStoodStill;
import io.redlock.testbed.Await;
import io.redlock.testbed.RedisServer;
import io.redlock.testbed.RequiresRedis;
import io.redlock.testkit.GateProxy;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.JedisClientConfig;
import redis.clients.jedis.exceptions.JedisException;

/** How a lane sees its node fall silent, die and come back. */
@RequiresRedis
@Execution(ExecutionMode.CONCURRENT)
@AgainIfItStoodStill
class LaneHealthTest {

  /** Long enough for a busy machine not to find the node silent. */
  private static final Duration NODE_TIMEOUT = Duration.ofMillis(700);

  private static final Duration SILENCE_TIMEOUT = NODE_TIMEOUT.multipliedBy(2);
  private static final String SILENT = "silent for more than 700ms";
  private static final long TTL = 20_000;

  /** Between two probes of a node that is away. */
  private static final Duration LONGEST_PAUSE = Duration.ofSeconds(1);

  @AutoClose private final RedisServer server = RedisServer.start().founded();

  @Test
  void silentNodeFailsFastAndRecoversWithTheConnectionItHad() {
    try (LaneFixture fixture = new LaneFixture(server.address(), NODE_TIMEOUT).up()) {
      long connections = connectionsReceived();
      server.pause();
      CompletableFuture<NodeReply> first = fixture.send(grant("first", fixture.token()));
      fixture.awaitState(State.SILENT);
      NodeReply refused = fixture.ask(grant("second", fixture.token()));
      assertEquals(NodeReply.unreachable(SILENT), refused);
      CompletableFuture<NodeReply> release = fixture.send(release("second", fixture.token()));
      NodeReply unknown = NodeReply.unknown(SILENT);
      assertEquals(unknown, Await.value("what was in flight", first));
      assertFalse(release.isDone());
      server.resume();
      assertEquals(NodeReply.NOT_HELD, Await.value("the release", release));
      fixture.awaitState(State.UP);
      assertEquals(NodeReply.GRANTED, fixture.ask(grant("third", fixture.token())));
      assertEquals(List.of(State.UP, State.SILENT, State.UP), List.copyOf(fixture.states));
      assertEquals(connections + 1, connectionsReceived(), "the question is the only new one");
    }
  }

  /** Its ticket would be in the way of others until it runs out. */
  @Test
  void silentNodeHearsOfAWaiterThatGaveUpOnceItWakes() {
    try (LaneFixture fixture = new LaneFixture(server.address(), NODE_TIMEOUT).up()) {
      Ticket first = new Ticket("client", 1, fixture.token(), 60_000);
      Ticket second = new Ticket("client", 2, fixture.token() + 1, 60_000);
      assertEquals(NodeReply.GRANTED, fixture.ask(fairGrant("held", fixture.token(), first)));
      assertEquals(Kind.HELD, fixture.ask(fairGrant("other", fixture.token(), second)).kind());
      assertEquals(NodeReply.RELEASED, fixture.ask(release("held", "name", fixture.token())));
      assertEquals(Kind.WAIT, fixture.ask(fairGrant("other", fixture.token(), second)).kind());
      server.pause();
      fixture.awaitState(State.SILENT);
      CompletableFuture<NodeReply> withdrawn =
          fixture.send(new RemoveTicket(List.of("name"), first));
      assertFalse(withdrawn.isDone());
      server.resume();
      assertEquals(NodeReply.NOT_HELD, Await.value("the withdrawal", withdrawn));
      assertEquals(NodeReply.GRANTED, fixture.ask(fairGrant("other", fixture.token(), second)));
    }
  }

  @Test
  void idleLaneFindsOutAtOnceThatItsNodeDied() {
    try (LaneFixture fixture = new LaneFixture(server.address(), NODE_TIMEOUT).up()) {
      server.kill();
      fixture.awaitState(State.DOWN);
      Await.until(
          "the refusal is told",
          () -> fixture.lane.status().reason().orElse("").equals("refused connection"));
      NodeReply refused = fixture.ask(grant("name", fixture.token()));
      assertEquals(NodeReply.unreachable("refused connection"), refused);
      server.restart();
      server.founded();
      fixture.awaitState(State.UP);
      assertEquals(NodeReply.GRANTED, fixture.ask(grant("name", fixture.token())));
    }
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
      assertFalse(serves(), "it loads");
      Await.until("it has loaded", this::serves);
      Await.until(
          "it is up, not " + fixture.lane.status(),
          LONGEST_PAUSE.multipliedBy(10), // of what is twice or more with each failure
          () -> fixture.lane.status().state() == State.UP);
    }
  }

  private boolean serves() {
    try {
      server.command("PING");
      return true;
    } catch (JedisException e) {
      return false;
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

  private long connectionsReceived() {
    String stats = String.valueOf(server.command("INFO", "stats"));
    String field = "total_connections_received:";
    int from = stats.indexOf(field) + field.length();
    return Long.parseLong(stats.substring(from, stats.indexOf('\r', from)));
  }

  private static Grant grant(String name, long token) {
    return new Grant(List.of(name), "owner", token, TTL);
  }

  private static Grant fairGrant(String owner, long token, Ticket ticket) {
    return new Grant(List.of("name"), owner, token, 0, TTL, ticket, 0);
  }

  private static Release release(String name, long token) {
    return release("owner", name, token);
  }

  private static Release release(String owner, String name, long token) {
    return new Release(List.of(name), owner, token);
  }
}
