package io.redlock.membership;

import static io.redlock.testbed.Results.assertExtended;
import static io.redlock.testbed.Results.assertUnavailable;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.AcquireResult;
import io.redlock.Lease;
import io.redlock.LockNotAcquiredException;
import io.redlock.NodeStatus.State;
import io.redlock.Redlock;
import io.redlock.ReleaseResult;
import io.redlock.Votes.NodeVote;
import io.redlock.Votes.Vote;
import io.redlock.jedis.JedisRedlock;
import io.redlock.testbed.Await;
import io.redlock.testbed.NodeView;
import io.redlock.testbed.RedisServer;
import java.io.IOException;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import redis.clients.jedis.Connection;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPortMapper;

/**
 * What a caller is told of every error that a real server can be brought to give. A deployment of
 * one master: its vote alone decides.
 */
@Tag("server-version")
@Execution(ExecutionMode.CONCURRENT)
class ErrorClassesTest {

  private static final String RESOURCE = "resource";
  private static final Duration TTL = Duration.ofSeconds(10);
  private static final Duration NODE_TIMEOUT = Duration.ofSeconds(4);

  /** For so long a call goes on trying. */
  private static final Duration WAIT = Duration.ofMillis(400);

  /** With pauses that double from 20 ms on there are six attempts or so in that time. */
  private static final int MAX_REQUESTS = 30;

  /** Until a connection that does not come about is given up. */
  private static final Duration CONNECT_TIMEOUT = Duration.ofMillis(500);

  private final AtomicInteger connects = new AtomicInteger();
  @AutoClose private RedisServer server = RedisServer.start().founded();
  @AutoClose private Redlock client;

  private void connect() {
    connect(server.address());
  }

  private void connect(String address) {
    client =
        JedisRedlock.builder().node(address).nodeTimeout(NODE_TIMEOUT).restartGuard(false).build();
  }

  /** Gives up soon, and counts how often it connects: the server cannot, where there is none. */
  private void connectCounting(String address) {
    HostAndPortMapper counter =
        hostAndPort -> {
          connects.incrementAndGet();
          return hostAndPort;
        };
    client =
        JedisRedlock.builder()
            .node(address)
            .nodeTimeout(Duration.ofMillis(40))
            .clientConfig(
                DefaultJedisClientConfig.builder()
                    .timeoutMillis((int) CONNECT_TIMEOUT.toMillis())
                    .hostAndPortMapper(counter)
                    .build())
            .restartGuard(false)
            .build();
  }

  /** It takes some time until it is known why there is no connection. */
  private void assertUnreachable(String words) {
    NodeView.await(client, 0, State.DOWN, words);
    connects.set(0);
    assertRefusedUncounted(Vote.UNREACHABLE, words);
    assertTrue(connects.get() <= MAX_REQUESTS, connects + " connections");
  }

  /** Calls, is refused with this vote and these words, and has not hammered the server. */
  private void assertRefused(Vote vote, String words) {
    long before = requests();
    assertRefusedUncounted(vote, words);
    long requests = requests() - before;
    assertTrue(requests <= MAX_REQUESTS, requests + " requests and connections");
  }

  private void assertRefusedUncounted(Vote vote, String words) {
    assertSays(vote, words, refused());
  }

  /** The server says why and hangs up: which of the two older Jedis finds out is luck. */
  private void assertRefusedAtTheDoor(Vote vote, String words) {
    NodeVote told = refused();
    if (told.detail().matches(".*(Connection reset|Unexpected end of stream|Broken pipe).*")) {
      assertEquals(Vote.UNREACHABLE, told.vote());
    } else {
      assertSays(vote, words, told);
    }
  }

  private NodeVote refused() {
    LockNotAcquiredException refusal =
        assertThrows(LockNotAcquiredException.class, () -> client.acquire(RESOURCE, TTL, WAIT));
    assertUnavailable(refusal.result());
    NodeVote told = refusal.result().votes().nodes().get(0);
    assertTrue(refusal.getMessage().contains(told.detail()), refusal::getMessage);
    return told;
  }

  private static void assertSays(Vote vote, String words, NodeVote told) {
    assertEquals(vote, told.vote(), told::toString);
    assertTrue(told.detail().contains(words), told::toString);
  }

  /** How many connections, scripts and commands that were refused the server has seen. */
  private long requests() {
    String info = server.command("INFO", "stats") + "\n" + server.command("INFO", "commandstats");
    return sum(info, "total_connections_received:(\\d+)")
        + server.calls("eval", "evalsha")
        + sum(info, "cmdstat_eval(?:sha)?:.*rejected_calls=(\\d+)");
  }

  private static long sum(String text, String expression) {
    long sum = 0;
    for (Matcher matcher = Pattern.compile(expression).matcher(text); matcher.find(); ) {
      sum += Long.parseLong(matcher.group(1));
    }
    return sum;
  }

  private void assertNothingIsLeft() {
    Await.until("no key is left", () -> server.keys(RESOURCE).isEmpty());
  }

  /** Nothing was left, and the next call succeeds without anybody's help. */
  private void assertRecovers() throws InterruptedException {
    assertNothingIsLeft();
    awaitAnswering();
    try (Lease lease = client.acquire(RESOURCE, TTL, Duration.ofMinutes(1))) {
      assertTrue(lease.isValid());
    }
    NodeView.await(client, 0, State.UP);
    assertNothingIsLeft();
  }

  private void awaitAnswering() {
    Await.until(
        "the node answers, not " + client.operations().nodes(),
        () -> {
          State state = NodeView.state(client, 0);
          return state != State.DOWN && state != State.CONNECTING;
        });
  }

  // Transient: nothing was executed, and it passes by itself.

  @Test
  void loading() throws Exception {
    server.restart(server.saveWhatLoadsSlowly(40, 400));
    connect();
    assertRefused(Vote.UNREACHABLE, "LOADING");
    Await.until("it is loaded", () -> server.serves("PING"));
    assertRecovers();
  }

  @Test
  void somebodysScriptRuns() throws Exception {
    connect();
    server.command("CONFIG", "SET", "lua-time-limit", "5");
    CompletableFuture<Boolean> script =
        CompletableFuture.supplyAsync(() -> server.serves("EVAL", "while true do end", "0"));
    AtomicInteger own = new AtomicInteger(10); // or so, besides these
    Await.until(
        "the server is busy",
        () -> {
          own.incrementAndGet();
          return !server.serves("PING");
        });
    assertRefusedUncounted(Vote.UNREACHABLE, "BUSY");
    server.command("SCRIPT", "KILL");
    assertEquals(false, Await.value("the script ends", script));
    long requests = requests() - own.get();
    assertTrue(requests <= MAX_REQUESTS, requests + " requests");
    assertRecovers();
  }

  @Test
  void tooManyClients() throws Exception {
    try (Connection guest = server.connect()) {
      RedisServer.command(guest, "CONFIG", "SET", "maxclients", "1");
      Await.until("nobody else is there", () -> !server.serves("PING"));
      connect();
      assertRefusedAtTheDoor(Vote.UNREACHABLE, "max number of clients reached");
      String stats = "" + RedisServer.command(guest, "INFO", "stats");
      long rejected = sum(stats, "rejected_connections:(\\d+)");
      assertTrue(rejected <= MAX_REQUESTS + 20, rejected + " connections");
      RedisServer.command(guest, "CONFIG", "SET", "maxclients", "100");
    }
    assertRecovers();
  }

  @Test
  void refusedConnection() throws Exception {
    connectCounting(server.address());
    server.kill();
    assertUnreachable("refused connection");
    server.restart();
    server.founded();
    assertRecovers();
  }

  @Test
  void unknownHost() {
    connectCounting("redis://no-such-host.invalid:6379");
    assertUnreachable("unknown host");
  }

  @Test
  void blackHole() throws Exception {
    try (ServerSocket hole = new ServerSocket(0, 1, InetAddress.getByName("127.0.0.1"))) {
      List<Socket> fill = fill(hole);
      try {
        connectCounting("redis://127.0.0.1:" + hole.getLocalPort());
        assertUnreachable("no connection in time");
        AcquireResult known = client.tryAcquire(RESOURCE, TTL);
        assertSays(Vote.UNREACHABLE, "no connection in time", known.votes().nodes().get(0));
      } finally {
        for (Socket each : fill) {
          each.close();
        }
      }
    }
  }

  /** Connects until nothing comes back any more: whoever tries next will be dropped. */
  private static List<Socket> fill(ServerSocket hole) throws IOException {
    List<Socket> sockets = new ArrayList<>();
    while (true) {
      Socket socket = new Socket();
      sockets.add(socket);
      try {
        socket.connect(new InetSocketAddress("127.0.0.1", hole.getLocalPort()), 200);
      } catch (SocketTimeoutException full) {
        return sockets;
      }
    }
  }

  @Test
  void forgottenScriptsAreSentAgain() throws Exception {
    connect();
    for (int i = 0; i < 3; i++) {
      server.command("SCRIPT", "FLUSH");
      long before = server.calls("eval", "evalsha");
      assertRecovers();
      long scripts = server.calls("eval", "evalsha") - before;
      assertTrue(scripts <= 15, scripts + " scripts");
    }
  }

  // Misconfigured: nothing was executed, and a person has to mend it.

  @Test
  void wrongPassword() throws Exception {
    connect("redis://app:geheim@127.0.0.1:" + server.port());
    assertRefused(Vote.MISCONFIGURED, "WRONGPASS");
    server.command("ACL", "SETUSER", "app", "on", ">geheim", "~*", "&*", "+@all");
    assertRecovers();
  }

  @Test
  void missingPermission() throws Exception {
    server.command("ACL", "SETUSER", "app", "on", ">geheim", "~*", "&*", "+@all", "-set");
    String mark = String.valueOf(server.command("GET", "redlock:birth"));
    server.command(
        "SET", "redlock:birth", mark.replaceFirst("\\w{40}", "another")); // so it is void
    connect("redis://app:geheim@127.0.0.1:" + server.port());
    NodeView.await(client, 0, State.MISCONFIGURED);
    assertRefused(Vote.MISCONFIGURED, "the server denies SET to this user");
    server.command("ACL", "SETUSER", "app", "+set");
    assertRecovers();
  }

  @Test
  void permissionThatIsMissingForOneNameConcernsThatNameOnly() throws Exception {
    server.command("ACL", "SETUSER", "app", "on", ">geheim", "~redlock:*", "~mine", "&*", "+@all");
    connect("redis://app:geheim@127.0.0.1:" + server.port());
    assertRefused(Vote.MISCONFIGURED, "the server denies a key");
    assertEquals(State.MISCONFIGURED, NodeView.state(client, 0), "no name is allowed so far");
    assertTrue(client.tryAcquire("mine", TTL).lease().isPresent());
    assertRefused(Vote.MISCONFIGURED, "the server denies a key");
    assertEquals(State.UP, NodeView.state(client, 0));
    assertNothingIsLeft();
  }

  @Test
  void failureToSave() throws Exception {
    connect();
    String folder = (String) ((List<?>) server.command("CONFIG", "GET", "dir")).get(1);
    Path inTheWay = Files.createDirectory(Path.of(folder, "dump.rdb"));
    server.command("CONFIG", "SET", "save", "3600 1");
    server.command("BGSAVE");
    Await.until("the save fails", () -> server.infoOf("rdb_last_bgsave_status").equals("err"));
    assertRefused(Vote.MISCONFIGURED, "MISCONF");
    assertEquals(State.MISCONFIGURED, NodeView.state(client, 0));
    Files.delete(inTheWay);
    server.command("SAVE");
    assertRecovers();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "CONFIG SET min-replicas-to-write 1 | NOREPLICAS | CONFIG SET min-replicas-to-write 0",
        "REPLICAOF 127.0.0.1 1 | replica | REPLICAOF NO ONE",
        "HSET resource field value | a key of another application has this name | DEL resource",
      })
  void commandThatAnOperatorUndoes(String command, String words, String undone) throws Exception {
    connect();
    server.command(command.split(" "));
    assertRefused(Vote.MISCONFIGURED, words);
    server.command(undone.split(" "));
    assertRecovers();
  }

  @Test
  void clusterMode() {
    server.close();
    server = RedisServer.start("--cluster-enabled", "yes");
    connect();
    assertRefused(Vote.MISCONFIGURED, "cluster");
    assertNothingIsLeft();
  }

  @Test
  void protectedMode() throws Exception {
    String address = ownAddress();
    String[] config = {"--bind", "127.0.0.1", address, "--protected-mode", "yes"};
    if (!server.isAtLeast(7)) {
      config = new String[] {RedisServer.UNBOUND, "--protected-mode", "yes"};
    }
    server.close();
    server = RedisServer.start(config).founded();
    connect("redis://" + address + ":" + server.port());
    assertRefusedAtTheDoor(Vote.MISCONFIGURED, "protected mode");
    server.command("CONFIG", "SET", "protected-mode", "no");
    assertRecovers();
  }

  /** An address of this machine that a server does not take for loopback. */
  private static String ownAddress() throws IOException {
    Optional<InetAddress> own =
        NetworkInterface.networkInterfaces()
            .flatMap(NetworkInterface::inetAddresses)
            .filter(each -> each instanceof Inet4Address && !each.isLoopbackAddress())
            .findFirst();
    Assumptions.assumeTrue(own.isPresent(), "this machine has no address but loopback");
    return own.get().getHostAddress();
  }

  // Unable.

  @Test
  void outOfMemory() throws Exception {
    connect();
    Lease extended = client.acquire("extended", TTL, TTL);
    Lease released = client.acquire("released", TTL, TTL);
    server.command("CONFIG", "SET", "maxmemory", "1");
    assertRefused(Vote.UNABLE, "out of memory");
    assertEquals(State.UP, NodeView.state(client, 0));
    assertTrue(NodeView.status(client, 0).lastError().orElse("").contains("out of memory"));
    Await.until("no lease can be granted", () -> !client.operations().isAvailable());
    assertEquals(State.UP, NodeView.state(client, 0));
    assertExtended(extended.extend(TTL));
    assertEquals(ReleaseResult.RELEASED, released.release());
    assertEquals(List.of(), server.keys("released"));
    server.command("CONFIG", "SET", "maxmemory", "0");
    Await.until("an audit finds memory", () -> client.operations().isAvailable());
    assertRecovers();
  }
}
