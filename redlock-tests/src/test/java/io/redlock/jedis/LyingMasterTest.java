package io.redlock.jedis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.Lease;
import io.redlock.Redlock;
import io.redlock.testbed.Await;
import io.redlock.testbed.JavaCommand;
import io.redlock.testbed.RedisServer;
import io.redlock.testbed.RedisServers;
import io.redlock.testbed.RequiresRedis;
import io.redlock.testbed.TalkingServer;
import io.redlock.testbed.TalkingServer.Talk;
import io.redlock.testbed.Unchecked;
import io.redlock.testkit.JavaProgram;
import java.io.IOException;
import java.io.OutputStream;
import java.lang.ProcessBuilder.Redirect;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** One master of three that sends anything but what it should. */
@RequiresRedis
@Execution(ExecutionMode.CONCURRENT)
class LyingMasterTest {

  private static final Duration PATIENCE = Duration.ofSeconds(60);

  /** The second part is repeated for as long as anybody reads. */
  private static final String[][] LIES = {
    {"$2000000000\r\n", ""},
    {"*2000000000\r\n", ""},
    {"%1000000000\r\n", ""},
    {"-", "x".repeat(1000)},
    {"", "*1\r\n"},
    {"*100000\r\n", "$10000000\r\n" + "x".repeat(10_000_000) + "\r\n"},
  };

  private final AtomicInteger lies = new AtomicInteger();

  /** A JVM in a container usually ends at the first lack of memory. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  @Tag("servers")
  void noAnnouncedSizeOfOneMasterEndsAClient(boolean isLieAfterHandshake) throws Exception {
    try (RedisServers servers = RedisServers.start(3);
        RedisServer behind = RedisServer.start()) {
      servers.get(2).kill();
      Talk lies = client -> lie(client, behind, isLieAfterHandshake);
      try (TalkingServer liar = new TalkingServer(servers.get(2).port(), lies)) {
        assertEquals(servers.get(2).address(), liar.address("redis://"));
        assertClientLives(List.of(servers.addresses()));
      }
    }
  }

  private void assertClientLives(List<String> masters) throws Exception {
    List<String> command = JavaCommand.likeThis(128, "-XX:+ExitOnOutOfMemoryError");
    command.add("-Dorg.slf4j.simpleLogger.defaultLogLevel=warn");
    command.add(Client.class.getName());
    command.addAll(masters);
    try (JavaProgram.Running client = JavaProgram.start(command, Redirect.DISCARD)) {
      Await.until(
          "all lies were told twice",
          PATIENCE,
          () -> lies.get() > 2 * LIES.length || !client.process.isAlive());
      assertTrue(client.process.isAlive(), () -> "it ended after lies: " + lies);
      client.ask("");
      assertEquals("acquired", client.answer());
    }
  }

  private void lie(Socket client, RedisServer behind, boolean isLieAfterHandshake)
      throws IOException {
    if (isLieAfterHandshake) {
      relay(2, client, behind);
    } else {
      client.getInputStream().read();
    }
    String[] lie = LIES[lies.getAndIncrement() % LIES.length];
    OutputStream out = client.getOutputStream();
    out.write(lie[0].getBytes(StandardCharsets.US_ASCII));
    byte[] repeated = lie[1].getBytes(StandardCharsets.US_ASCII);
    while (repeated.length > 0) {
      out.write(repeated);
    }
    client.getInputStream().transferTo(OutputStream.nullOutputStream());
  }

  /** Relays what a server answers, so many times; the handshake is the first. */
  private static void relay(int times, Socket client, RedisServer behind) throws IOException {
    try (Socket server = new Socket(InetAddress.getLoopbackAddress(), behind.port())) {
      Thread requests =
          new Thread(
              () ->
                  TalkingServer.talk(
                      with -> with.getInputStream().transferTo(server.getOutputStream()), client));
      requests.start();
      byte[] buffer = new byte[1 << 16];
      for (int i = 0; i < times; i++) {
        int count = server.getInputStream().read(buffer);
        client.getOutputStream().write(buffer, 0, Math.max(0, count));
      }
    }
  }

  /** Each byte comes in time; the reply never ends. */
  @ParameterizedTest
  @ValueSource(strings = {"+", "\26\3\3\77\177"})
  void serverThatDripsKeepsNoThreadNorSocket(String begin) throws Exception {
    AtomicInteger connections = new AtomicInteger();
    AtomicInteger ended = new AtomicInteger();
    CountDownLatch over = new CountDownLatch(1);
    Talk drip =
        client -> {
          connections.incrementAndGet();
          try {
            OutputStream out = client.getOutputStream();
            out.write(begin.getBytes(StandardCharsets.US_ASCII));
            while (!Unchecked.call(() -> over.await(20, TimeUnit.MILLISECONDS))) {
              out.write('x');
            }
          } finally {
            ended.incrementAndGet();
          }
        };
    String scheme = begin.equals("+") ? "" : "rediss://";
    try (TalkingServer server = new TalkingServer(0, drip)) {
      String address = server.address(scheme);
      try (Redlock redlock =
          JedisRedlock.builder().node(address).nodeTimeout(Duration.ofMillis(50)).build()) {
        assertFalse(redlock.operations().isAvailable());
        Await.until("an attempt has ended", PATIENCE, () -> ended.get() > 0);
        int now = connections.get();
        Await.until("the next one is under way", PATIENCE, () -> connections.get() > now);
      }
      String port = address.substring(address.lastIndexOf(':'));
      Await.until(
          "no thread is left",
          PATIENCE,
          () ->
              Thread.getAllStackTraces().keySet().stream()
                  .noneMatch(thread -> thread.getName().contains(port)));
      Await.until("all are closed", PATIENCE, () -> ended.get() == connections.get());
    } finally {
      over.countDown();
    }
  }

  /** Acquires leases all the time, and says so when it is asked. */
  static final class Client {

    private Client() {}

    public static void main(String[] masters) throws Exception {
      try (Redlock redlock =
          JedisRedlock.builder()
              .node(String.join(",", masters))
              .nodeTimeout(Duration.ofSeconds(1))
              .build()) {
        while (System.in.available() == 0) {
          acquire(redlock);
        }
        acquire(redlock);
        System.out.println("acquired");
      }
    }

    private static void acquire(Redlock redlock) throws Exception {
      try (Lease lease = redlock.acquire("r", Duration.ofSeconds(10), PATIENCE)) {
        lease.remaining();
      }
    }
  }
}
