package io.redlock.testkit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.scenes.Scenes;
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
import java.util.stream.Stream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import redis.clients.jedis.Connection;
import redis.clients.jedis.Protocol;
import redis.clients.jedis.exceptions.JedisException;
import redis.clients.jedis.util.SafeEncoder;

@RequiresRedis
class GateProxyTest {

  @AutoClose private static final RedisServer server = RedisServer.start();

  @TestFactory
  Stream<DynamicTest> scenes() {
    return Scenes.of("testkit/GateProxy.txt", Gated::new);
  }

  /**
   * A client, a gate and a server. Words in capitals are sent to the server, {@code later} on a
   * thread of its own; {@code answer} waits for what comes of that.
   */
  private static final class Gated extends Scenes.Teller {
    private final GateProxy gate;
    private Connection client;
    private CompletableFuture<String> answer = new CompletableFuture<>();

    Gated() {
      server.command("FLUSHALL");
      gate = GateProxy.to(server);
      connect();
      assertEquals("PONG", command("PING"));
    }

    private void connect() {
      client = RedisServer.connect(gate.port());
    }

    @Override
    public void close() {
      client.close();
      gate.close();
    }

    private String command(String... words) {
      return String.valueOf(RedisServer.command(client, words));
    }

    private CompletableFuture<String> later(String... words) {
      return CompletableFuture.supplyAsync(() -> command(words));
    }

    @Override
    protected void perform(String command, String rest) {
      String[] words = rest.split(" ");
      GateProxy.Gate way = words[0].equals("replies") ? gate.replies() : gate.requests();
      switch (command) {
        case "hold" -> way.hold(words[1]);
        case "held" -> way.awaitHeld(words[1]);
        case "open" -> way.open();
        case "drop" -> way.drop();
        case "lose" -> way.lose();
        case "duplicate" -> way.duplicate(words[1]);
        case "cut" -> gate.cut();
        case "anew" -> connect();
        case "later" -> answer = later(words);
        case "answer" -> tell(Await.value("it ends", answer.exceptionally(failure -> "broken")));
        case "answered?" -> tell(answer.isDone() ? "answered" : "not answered");
        case "one-more" -> tell(String.valueOf(SafeEncoder.encodeObject(client.getOne())));
        case "keys?" -> tell(server.keys("*").toString());
        case "passed" -> {
          int count = Integer.parseInt(words[2]);
          Await.until("so many passed", () -> way.passed(words[1]).size() == count);
          tell(way.passed(words[1]).stream().map(String::strip).toList());
        }
        default -> tell(command((command + " " + rest).strip().split(" ")));
      }
    }
  }

  @Test
  void narrowGateLetsSoManyBytesThroughInASecond() {
    try (Gated gated = new Gated()) {
      gated.gate.requests().limit(10_000);
      long startNanos = System.nanoTime();
      assertEquals("OK", gated.command("SET", "key", "x".repeat(2_000)));
      assertTrue(System.nanoTime() - startNanos > TimeUnit.MILLISECONDS.toNanos(200));
      CompletableFuture<String> blocked = gated.later("SET", "key", "x".repeat(600_000));
      Await.until("it is on its way", () -> gated.gate.requests().passed("key").size() == 2);
      gated.gate.requests().limit(0);
      assertFalse(blocked.isDone());
    }
  }

  @Test
  void delayKeepsOrderAndTakesItsTime() {
    try (Gated gated = new Gated()) {
      gated.gate.requests().delay(Duration.ofMillis(30));
      long start = System.nanoTime();
      gated.client.sendCommand(Protocol.Command.SET, "key", "1");
      gated.client.sendCommand(Protocol.Command.GET, "key");
      List<Object> replies = gated.client.getMany(2);
      assertTrue(System.nanoTime() - start >= TimeUnit.MILLISECONDS.toNanos(30));
      assertEquals("1", SafeEncoder.encodeObject(replies.get(1)));
      gated.gate.requests().delay(Duration.ZERO);
      assertEquals("1", gated.command("GET", "key"));
    }
  }

  @Test
  void deadServerEndsTheClientsConnection() {
    try (RedisServer mortal = RedisServer.start();
        GateProxy before = GateProxy.to(mortal)) {
      Connection toMortal = RedisServer.connect(before.port());
      RedisServer.command(toMortal, "PING");
      mortal.kill();
      assertThrows(JedisException.class, () -> RedisServer.command(toMortal, "PING"));
      toMortal.close();
    }
  }

  /** A connection that was subscribed, or refused a channel, serves others. */
  @ParameterizedTest
  @ValueSource(ints = {2, 3})
  void repliesAfterASubscriptionAreToldWithTheirOwnRequests(int protocol) throws IOException {
    server.command("ACL", "SETUSER", "guest", "on", "nopass", "+@all", "resetchannels", "&c");
    Queue<GateProxy.Exchange> seen = new ConcurrentLinkedQueue<>();
    try (GateProxy observed = GateProxy.to(server, seen::add);
        Socket socket = new Socket(server.host(), observed.port())) {
      BufferedReader answers =
          new BufferedReader(
              new InputStreamReader(socket.getInputStream(), StandardCharsets.US_ASCII));
      for (String command :
          List.of(
              "HELLO " + protocol + " AUTH guest any",
              "SUBSCRIBE c",
              "UNSUBSCRIBE c",
              "SUBSCRIBE denied",
              "ECHO one",
              "ECHO two")) {
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
