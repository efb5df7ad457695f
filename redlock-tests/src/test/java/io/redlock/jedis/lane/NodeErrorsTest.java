package io.redlock.jedis.lane;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.NodeStatus.State;
import io.redlock.jedis.trust.BirthMark;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReply.Kind;
import io.redlock.spi.NodeRequest.Extend;
import io.redlock.spi.NodeRequest.Grant;
import io.redlock.spi.NodeRequest.Release;
import io.redlock.spi.NodeRequest.Ticket;
import io.redlock.testbed.Await;
import io.redlock.testbed.RedisServer;
import io.redlock.testbed.RequiresRedis;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import redis.clients.jedis.exceptions.JedisException;

/** What becomes of requests that a real server cannot or will not execute. */
@Tag("server-version")
@RequiresRedis
class NodeErrorsTest {

  private static final long TTL = 20_000;

  private RedisServer server;
  private LaneFixture fixture;

  @BeforeEach
  void connect() {
    server = RedisServer.start();
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
  void replicaIsAMistakeOfTheConfigurationUntilItIsPromoted() {
    server.command("REPLICAOF", "127.0.0.1", "1");
    NodeReply refused = grant("name", fixture.token());
    if (!refused.detail().contains("it is a replica")) { // the audit was not faster
      assertMisconfigured(refused, "READONLY");
    }
    server.command("CLIENT", "KILL", "TYPE", "normal");
    Await.until(
        "the audit finds the replica",
        () -> fixture.lane.status().reason().orElse("").contains("it is a replica"));
    assertMisconfigured(grant("name", fixture.token()), "it is a replica");
    assertMisconfigured(release("name", fixture.token()), "READONLY");
    assertTrue(
        fixture.lane.status().reason().orElse("").contains("it is a replica"), "says it better");
    server.command("REPLICAOF", "NO", "ONE");
    fixture.awaitState(State.UP);
    assertEquals(NodeReply.GRANTED, grant("name", fixture.token()));
  }

  @Test
  void tooFewReplicasAreAMistakeOfTheConfiguration() {
    server.command("CONFIG", "SET", "min-replicas-to-write", "1");
    assertMisconfigured(grant("name", fixture.token()), "NOREPLICAS");
    server.command("CONFIG", "SET", "min-replicas-to-write", "0");
    assertEquals(NodeReply.GRANTED, grant("name", fixture.token()));
    assertEquals(State.UP, fixture.lane.status().state(), "a grant shows it at once");
  }

  @Test
  void failureToSaveIsAMistakeOfTheConfiguration() throws IOException {
    String dir = (String) ((List<?>) server.command("CONFIG", "GET", "dir")).get(1);
    Files.createDirectory(Path.of(dir, "dump.rdb")); // no file can take its place
    server.command("CONFIG", "SET", "save", "3600 1");
    server.command("BGSAVE");
    Await.until(
        "the save fails",
        () ->
            String.valueOf(server.command("INFO", "persistence"))
                .contains("rdb_last_bgsave_status:err"));
    assertMisconfigured(grant("name", fixture.token()), "MISCONF");
    assertEquals(State.MISCONFIGURED, fixture.lane.status().state());
    server.command("CONFIG", "SET", "save", "");
    assertEquals(NodeReply.GRANTED, grant("name", fixture.token()));
    fixture.awaitState(State.UP);
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
    assertTrue(denied.detail().contains("can't run this command"), denied::detail);
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
        yield fixture.ask(new Grant(List.of("free"), "owner", token, TTL, ticket));
      }
    };
  }

  @Test
  void nodeThatRunsSomebodysScriptIsUnreachableForAWhile() {
    server.command("CONFIG", "SET", "lua-time-limit", "5");
    CompletableFuture<Void> script =
        CompletableFuture.runAsync(
            () -> {
              try {
                server.command("EVAL", "while true do end", "0");
              } catch (JedisException e) {
                // killed below
              }
            });
    Await.until("the server is busy", () -> busy().contains("BUSY"));
    NodeReply reply = grant("name", fixture.token());
    assertEquals(Kind.UNREACHABLE, reply.kind());
    assertTrue(reply.detail().startsWith("BUSY"), reply.detail());
    server.command("SCRIPT", "KILL");
    Await.value("the script ends", script);
    assertEquals(NodeReply.GRANTED, grant("name", fixture.token()));
  }

  private String busy() {
    try {
      return String.valueOf(server.command("PING"));
    } catch (JedisException e) {
      return String.valueOf(e.getMessage());
    }
  }

  @Test
  void keyOfAnotherApplicationConcernsItsNameOnly() {
    server.command("LPUSH", "list", "value");
    assertMisconfigured(grant("list", fixture.token()), "a key of another application");
    assertEquals(State.UP, fixture.lane.status().state());
    assertEquals(List.of("list", BirthMark.KEY), server.keys("*"));
  }

  @Test
  void nodeThatTakesNoMoreClientsIsUnreachable() {
    server.command("CONFIG", "SET", "maxclients", "2");
    try (LaneFixture second = new LaneFixture(server.address(), Duration.ofSeconds(4)).up();
        LaneFixture third = new LaneFixture(server.address(), Duration.ofSeconds(4)).start()) {
      third.awaitState(State.DOWN);
      String reason = third.lane.status().reason().orElse("");
      // The server says why and hangs up; what is read first is a matter of luck in older Jedis.
      assertTrue(
          reason.matches(
              ".*(max number of clients|Connection reset|Unexpected end of stream|Broken pipe).*"),
          reason);
      assertEquals(
          Kind.UNREACHABLE,
          third.ask(new Grant(List.of("name"), "owner", third.token(), TTL)).kind());
      second.lane.close();
      third.awaitState(State.UP);
    }
  }

  private static void assertMisconfigured(NodeReply reply, String detail) {
    assertEquals(Kind.MISCONFIGURED, reply.kind(), reply.toString());
    assertTrue(reply.detail().contains(detail), reply.detail());
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
