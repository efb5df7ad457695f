package io.redlock.jedis.lane;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.NodeStatus.State;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReply.Kind;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.NodeRequest.Extend;
import io.redlock.spi.NodeRequest.Grant;
import io.redlock.spi.NodeRequest.Release;
import io.redlock.spi.NodeRequest.Ticket;
import io.redlock.testbed.Await;
import io.redlock.testbed.RedisServer;
import io.redlock.testbed.RequiresRedis;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What becomes of requests that a real server cannot or will not execute. */
@Tag("server-version")
@RequiresRedis
class NodeErrorsTest {

  private static final long TTL = 20_000;

  private RedisServer server;
  private LaneFixture fixture;

  @BeforeEach
  void connect() {
    server = RedisServer.start().founded();
    fixture = new LaneFixture(server.address(), Duration.ofSeconds(4)).up();
  }

  @AfterEach
  void disconnect() {
    fixture.close();
    server.close();
  }

  @Test
  void withoutMemoryNothingIsGrantedButWhatIsHeldIsExtendedAndReleased() {
    long token = fixture.token();
    assertEquals(NodeReply.GRANTED, grant("held", token));
    assertEquals(NodeReply.GRANTED, grant("higher", token));
    server.command("CONFIG", "SET", "maxmemory", "1");

    assertEquals(Kind.OUT_OF_MEMORY, grant("free", token).kind());
    assertEquals(List.of(), server.keys("*free"));
    assertEquals(NodeReply.EXTENDED, extend("held", token));
    assertEquals(NodeReply.RELEASED, release("held", token));
    assertEquals(NodeReply.RELEASED, release("higher", token + 1));
    assertEquals(List.of(), server.keys("higher"));
    assertEquals(Long.toString(token + 1), server.command("GET", "redlock:fence:higher"));
    assertEquals(Kind.OUT_OF_MEMORY, release("unheard", token).kind());
    assertEquals(State.UP, fixture.lane.status().state());
  }

  @Test
  void withoutMemoryNobodyReadsButReadersAreExtendedAndReleased() {
    long token = fixture.token();
    assertEquals(NodeReply.GRANTED, read("held", "a", token));
    assertEquals(NodeReply.GRANTED, read("held", "b", token));
    assertEquals(NodeReply.GRANTED, read("was", "a", token));
    assertEquals(NodeReply.RELEASED, releaseReader("was", "a", token));
    server.command("CONFIG", "SET", "maxmemory", "1");

    assertEquals(Kind.OUT_OF_MEMORY, read("held", "c", token - 1).kind());
    assertEquals(Kind.OUT_OF_MEMORY, read("was", "c", token).kind(), "where others read once");
    assertEquals(Kind.OUT_OF_MEMORY, read("free", "c", token).kind());
    assertEquals(List.of(), server.keys("*free"));
    assertEquals(List.of(), server.keys("was"));
    NodeRequest extend = new Extend(List.of("held"), "a", token, 2 * TTL, token, true);
    assertEquals(NodeReply.EXTENDED, fixture.ask(extend));
    NodeRequest join = new Extend(List.of("held"), "c", token, TTL, token, true);
    assertEquals(Kind.OUT_OF_MEMORY, fixture.ask(join).kind());
    assertEquals(NodeReply.RELEASED, releaseReader("held", "a", token));
    assertEquals(Kind.STALE, read("held", "a", token + 1).kind(), "its tombstone is there");
    assertEquals(Kind.OUT_OF_MEMORY, releaseReader("held", "c", token).kind());
    assertEquals(NodeReply.RELEASED, releaseReader("held", "b", token));
    assertEquals(List.of(), server.keys("held"));
    assertEquals(State.UP, fixture.lane.status().state());
  }

  @Test
  void keysOfReadersNeverStayForEver() {
    long token = fixture.token();
    for (int i = 0; i < 3; i++) {
      assertEquals(NodeReply.GRANTED, read("name", "reader-" + i, token + i));
    }
    assertEquals(NodeReply.RELEASED, releaseReader("name", "reader-1", token));
    for (String key : List.of("name", "redlock:readers:name", "redlock:floor:name")) {
      assertTrue((Long) server.command("PTTL", key) > TTL / 2, key);
    }
    for (int i = 0; i < 3; i++) {
      releaseReader("name", "reader-" + i, token);
    }
    assertEquals(NodeReply.GRANTED, read("name", "another", token + 5));
    assertEquals(NodeReply.RELEASED, releaseReader("name", "another", token + 5));
    assertTrue((Long) server.command("PTTL", "redlock:readers:name") > 0);
    assertEquals(4L, server.command("ZCARD", "redlock:readers:name"), "tombstones");
  }

  @Test
  void keyOfAnotherApplicationUnderTheNameOfReadersConcernsThatNameOnly() {
    server.command("SET", "redlock:readers:a", "value");
    server.command("LPUSH", "redlock:floor:b", "value");
    for (String name : List.of("a", "b")) {
      NodeReply refused = read(name, "owner", fixture.token());
      assertEquals(Kind.MISCONFIGURED, refused.kind(), refused::toString);
      assertTrue(refused.detail().contains("redlock:readers:<key>"), refused::detail);
      assertEquals(NodeReply.GRANTED, grant(name, fixture.token()));
      assertEquals(NodeReply.RELEASED, release(name, fixture.token()));
    }
    assertEquals(NodeReply.GRANTED, read("c", "owner", fixture.token()));
    assertEquals(State.UP, fixture.lane.status().state());
  }

  private NodeReply read(String name, String owner, long token) {
    return fixture.ask(new Grant(List.of(name), owner, token, 0, TTL, null, token));
  }

  private NodeReply releaseReader(String name, String owner, long token) {
    return fixture.ask(new Release(List.of(name), owner, token, 0, false, null, TTL));
  }

  @ParameterizedTest
  @ValueSource(strings = {"set", "pexpire", "del", "zadd"})
  void rightThatIsGivenBackIsSeenWithTheNextRequest(String command) {
    server.command("ACL", "SETUSER", "app", "on", ">geheim", "~*", "&*", "+@all");
    String address = "redis://app:geheim@127.0.0.1:" + server.port();
    fixture.close();
    fixture = new LaneFixture(address, Duration.ofSeconds(4)).up();
    long token = fixture.token();
    assertEquals(NodeReply.GRANTED, grant("held", token));
    server.command("ACL", "SETUSER", "app", "-" + command);

    NodeReply denied = requestThatNeeds(command, token);
    assertEquals(Kind.DENIED, denied.kind(), denied::toString);
    assertTrue(denied.detail().endsWith("ACL SETUSER <user> +" + command), denied::detail);
    assertEquals(State.MISCONFIGURED, fixture.lane.status().state());
    NodeReply again = requestThatNeeds(command, token);
    assertEquals(Kind.DENIED, again.kind(), again::toString);
    awaitTold(State.UP, State.MISCONFIGURED);

    server.command("ACL", "SETUSER", "app", "+" + command);
    NodeReply reply = requestThatNeeds(command, token);
    assertTrue(
        List.of(Kind.GRANTED, Kind.EXTENDED, Kind.RELEASED).contains(reply.kind()),
        reply.toString());
    assertEquals(State.UP, fixture.lane.status().state());
    awaitTold(State.UP, State.MISCONFIGURED, State.UP);
  }

  /** An answer may come just before what it says of the node is reported. */
  private void awaitTold(State... states) {
    Await.until("so it is told", () -> List.copyOf(fixture.states).equals(List.of(states)));
  }

  private int names;

  private NodeReply requestThatNeeds(String command, long token) {
    return switch (command) {
      case "set" -> grant("free", token);
      case "pexpire" -> fixture.ask(new Extend(List.of("held"), "owner", token, 2 * TTL, token));
      case "del" -> {
        String name = "held" + names++;
        assertEquals(NodeReply.GRANTED, grant(name, token));
        yield release(name, token);
      }
      default -> {
        Ticket ticket = new Ticket("client", 1, token, 3_000);
        yield fixture.ask(new Grant(List.of("free"), "owner", token, 0, TTL, ticket, 0));
      }
    };
  }

  private NodeReply grant(String name, long token) {
    return fixture.ask(new Grant(List.of(name), "owner", token, TTL));
  }

  private NodeReply extend(String name, long token) {
    return fixture.ask(new Extend(List.of(name), "owner", token, TTL, token));
  }

  private NodeReply release(String name, long token) {
    return fixture.ask(new Release(List.of(name), "owner", token));
  }
}
