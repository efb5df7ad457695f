package io.redlock.testkit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.testbed.Await;
import io.redlock.testbed.RedisServer;
import io.redlock.testbed.RequiresRedis;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.Connection;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.exceptions.JedisException;
import redis.clients.jedis.util.SafeEncoder;

@RequiresRedis
class GateProxyTest {

  private static RedisServer server;
  private GateProxy gate;
  private Connection client;

  @BeforeAll
  static void startServer() {
    server = RedisServer.start();
  }

  @AfterAll
  static void stopServer() {
    server.close();
  }

  @BeforeEach
  void connect() {
    server.command("FLUSHALL");
    gate = GateProxy.to(server);
    client = new Connection(new HostAndPort("127.0.0.1", gate.port()));
    assertEquals("PONG", command("PING"));
  }

  @AfterEach
  void disconnect() {
    client.close();
    gate.close();
  }

  @Test
  void heldRequestReachesTheServerWhenTheGateOpens() {
    gate.requests().hold("key");
    assertEquals("PONG", command("PING"));
    CompletableFuture<Object> reply = commandLater("SET", "key", "1");
    gate.requests().awaitHeld("key");
    assertEquals(List.of(), server.keys("*"));
    gate.requests().open();
    assertEquals("OK", Await.value("SET is answered", reply));
    assertEquals(List.of("key"), server.keys("*"));
  }

  @Test
  void narrowGateLetsSoManyBytesThroughInASecond() {
    gate.requests().limit(10_000);
    long startNanos = System.nanoTime();
    assertEquals("OK", command("SET", "key", "x".repeat(2_000)));
    assertTrue(System.nanoTime() - startNanos > TimeUnit.MILLISECONDS.toNanos(200));
    CompletableFuture<Object> blocked = commandLater("SET", "key", "x".repeat(600_000));
    Await.until("it is on its way", () -> gate.requests().passed("key").size() == 2);
    gate.requests().limit(0);
    assertFalse(blocked.isDone());
  }

  @Test
  void heldReplyMeansExecutedAndUnanswered() {
    gate.replies().hold("key");
    assertEquals("PONG", command("PING"));
    CompletableFuture<Object> reply = commandLater("SET", "key", "1");
    gate.replies().awaitHeld("key");
    assertEquals(List.of("key"), server.keys("*"));
    assertFalse(reply.isDone());
    gate.replies().open();
    assertEquals("OK", Await.value("SET is answered", reply));
  }

  @Test
  void cutLosesHeldRepliesAndBreaksTheConnection() {
    gate.replies().hold("key");
    CompletableFuture<Object> reply = commandLater("SET", "key", "1");
    gate.replies().awaitHeld("key");
    gate.cut();
    assertThrows(AssertionError.class, () -> Await.value("SET fails", reply));
    assertEquals(List.of("key"), server.keys("*"));
  }

  @Test
  void requestHeldOverACutArrivesLate() {
    gate.requests().hold("key");
    CompletableFuture<Object> reply = commandLater("SET", "key", "1");
    gate.requests().awaitHeld("key");
    gate.cut();
    assertThrows(AssertionError.class, () -> Await.value("SET fails", reply));
    assertEquals(List.of(), server.keys("*"));
    gate.requests().open();
    Await.until("the late request is answered", () -> !gate.replies().passed("key").isEmpty());
    assertEquals(List.of("+OK\r\n"), gate.replies().passed("key"));
    assertEquals(List.of("key"), server.keys("*"));
  }

  @Test
  void newConnectionPassesWhileTheOldOnesRequestIsHeld() {
    gate.requests().hold("key");
    CompletableFuture<Object> late = commandLater("SET", "key", "late");
    gate.requests().awaitHeld("key");
    gate.cut();
    assertThrows(AssertionError.class, () -> Await.value("SET fails", late));
    try (Connection next = new Connection(new HostAndPort("127.0.0.1", gate.port()))) {
      next.executeCommand(arguments("SET", "key", "early"));
      gate.requests().open();
      Await.until("both are answered", () -> gate.replies().passed("key").size() == 2);
      assertEquals("late", text(next.executeCommand(arguments("GET", "key"))));
    }
  }

  @Test
  void droppedRequestNeverArrives() {
    gate.requests().hold("key");
    CompletableFuture<Object> reply = commandLater("SET", "key", "1");
    gate.requests().awaitHeld("key");
    gate.requests().drop();
    gate.cut();
    gate.requests().open();
    assertThrows(AssertionError.class, () -> Await.value("SET fails", reply));
    assertEquals(List.of(), server.keys("*"));
  }

  @Test
  void lostRequestsAreNotAnswered() {
    gate.requests().lose();
    CompletableFuture<Object> reply = commandLater("SET", "key", "1");
    gate.cut();
    assertThrows(AssertionError.class, () -> Await.value("SET fails", reply));
    assertEquals(List.of(), server.keys("*"));
  }

  @Test
  void duplicatedRequestIsExecutedTwiceAndAnsweredTwice() {
    gate.requests().duplicate("counter");
    assertEquals("1", command("INCR", "counter"));
    assertEquals("2", text(client.getOne()));
    assertEquals("3", command("INCR", "counter"));
  }

  @Test
  void delayKeepsOrderAndTakesItsTime() {
    gate.requests().delay(Duration.ofMillis(30));
    long start = System.nanoTime();
    client.sendCommand(arguments("SET", "key", "1"));
    client.sendCommand(arguments("GET", "key"));
    List<Object> replies = client.getMany(2);
    assertTrue(System.nanoTime() - start >= TimeUnit.MILLISECONDS.toNanos(30));
    assertEquals("1", text(replies.get(1)));
    gate.requests().delay(Duration.ZERO);
    assertEquals("1", command("GET", "key"));
  }

  @Test
  void deadServerEndsTheClientsConnection() {
    try (RedisServer mortal = RedisServer.start();
        GateProxy before = GateProxy.to(mortal)) {
      Connection toMortal = new Connection(new HostAndPort("127.0.0.1", before.port()));
      toMortal.executeCommand(arguments("PING"));
      mortal.kill();
      assertThrows(JedisException.class, () -> toMortal.executeCommand(arguments("PING")));
      toMortal.close();
    }
  }

  private Object command(String... words) {
    return text(client.executeCommand(arguments(words)));
  }

  private CompletableFuture<Object> commandLater(String... words) {
    return CompletableFuture.supplyAsync(() -> command(words));
  }

  private static Object text(Object reply) {
    return reply instanceof byte[] bytes ? SafeEncoder.encode(bytes) : String.valueOf(reply);
  }

  private static CommandArguments arguments(String... words) {
    CommandArguments arguments =
        new CommandArguments(() -> words[0].getBytes(StandardCharsets.UTF_8));
    for (int i = 1; i < words.length; i++) {
      arguments.add(words[i]);
    }
    return arguments;
  }

  /** A connection that was subscribed for a while goes back to a pool and serves others. */
  @ParameterizedTest
  @ValueSource(ints = {2, 3})
  void repliesAfterASubscriptionAreToldWithTheirOwnRequests(int protocol) throws IOException {
    Queue<GateProxy.Exchange> seen = new ConcurrentLinkedQueue<>();
    try (GateProxy observed = GateProxy.to(server, seen::add);
        Socket socket = new Socket(server.host(), observed.port())) {
      BufferedReader answers =
          new BufferedReader(
              new InputStreamReader(socket.getInputStream(), StandardCharsets.US_ASCII));
      for (String command :
          List.of("HELLO " + protocol, "SUBSCRIBE c", "UNSUBSCRIBE c", "ECHO one", "ECHO two")) {
        StringBuilder request = new StringBuilder();
        String[] words = command.split(" ");
        request.append('*').append(words.length).append("\r\n");
        for (String word : words) {
          request.append('$').append(word.length()).append("\r\n").append(word).append("\r\n");
        }
        socket.getOutputStream().write(request.toString().getBytes(StandardCharsets.US_ASCII));
      }
      String line;
      do {
        line = answers.readLine();
      } while (!"two".equals(line));
    }
    List<String> replies =
        seen.stream()
            .filter(exchange -> exchange.request().contains("ECHO"))
            .map(GateProxy.Exchange::reply)
            .toList();
    assertEquals(List.of("$3\r\none\r\n", "$3\r\ntwo\r\n"), replies);
  }
}
