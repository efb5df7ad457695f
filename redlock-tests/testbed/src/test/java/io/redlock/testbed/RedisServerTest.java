package io.redlock.testbed;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.exceptions.JedisException;

@RequiresRedis
class RedisServerTest {

  @Test
  void restartComesBackEmptyOnTheSamePortAsAnotherProcess() {
    try (RedisServer server = RedisServer.start()) {
      long pid = server.pid();
      server.command("SET", "k", "v");
      assertEquals(List.of("k"), server.keys("*"));
      server.restart("--maxmemory", "64mb");
      assertNotEquals(pid, server.pid());
      assertEquals(List.of(), server.keys("*"));
      assertEquals(List.of("maxmemory", "67108864"), server.command("CONFIG", "GET", "maxmemory"));
    }
  }

  @Test
  void everyTestProcessTakesPortsOfItsOwnThatTheSystemHandsOutToNobody() {
    List<Integer> ranges =
        IntStream.rangeClosed(1, 7).mapToObj(n -> RedisServer.range("process " + n)).toList();
    assertEquals(List.of(0, 1, 2, 3, 4, 5, 0), ranges);
  }

  @Test
  void killedServerRefusesConnections() {
    try (RedisServer server = RedisServer.start()) {
      server.kill();
      assertFalse(server.isAlive());
      assertThrows(JedisException.class, () -> server.command("PING"));
    }
  }

  @Test
  void pausedServerAnswersOnlyAfterResume() {
    try (RedisServer server = RedisServer.start()) {
      server.pause();
      CompletableFuture<Object> answer =
          CompletableFuture.supplyAsync(() -> server.command("PING"));
      assertFalse(answer.isDone());
      server.resume();
      assertEquals("PONG", Await.value("the resumed server answers", answer));
    }
  }

  @Test
  void pausedServerCanBeClosed() {
    RedisServer server = RedisServer.start();
    server.pause();
    server.close();
    assertFalse(server.isAlive());
  }

  @Test
  void serverWithPasswordStarts() {
    try (RedisServer server = RedisServer.start("--requirepass", "s3cret")) {
      assertEquals("PONG", server.command("PING"));
    }
  }

  @Test
  void badConfigurationFailsWithTheServersOwnWords() {
    Exception e =
        assertThrows(IllegalStateException.class, () -> RedisServer.start("--no-such-option", "1"));
    assertTrue(e.getMessage().contains("no-such-option"), e::getMessage);
  }

  @Test
  void groupHasServersOfItsOwn() {
    try (RedisServers servers = RedisServers.startBrandNew(3)) {
      assertEquals(3, servers.size());
      servers.get(0).command("SET", "k", "v");
      assertEquals(List.of(), servers.get(1).keys("*"));
    }
  }
}
