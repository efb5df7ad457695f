package io.redlock.jedis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.ExtendResult;
import io.redlock.Lease;
import io.redlock.LeaseRequest;
import io.redlock.LockNotAcquiredException;
import io.redlock.Redlock;
import io.redlock.Votes.NodeVote;
import io.redlock.Votes.Vote;
import io.redlock.cli.Doctor;
import io.redlock.jedis.deployment.DeploymentSettings;
import io.redlock.settings.Setting;
import io.redlock.testbed.Await;
import io.redlock.testbed.NodeView;
import io.redlock.testbed.RedisServer;
import io.redlock.testbed.Repository;
import io.redlock.testbed.RequiresRedis;
import io.redlock.testbed.TalkingServer;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.regex.Pattern;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.JedisClientConfig;

/**
 * The sentences that say what is wrong with a server and how to fix it, wherever a user sees them.
 */
@Tag("server-version")
@RequiresRedis
@Execution(ExecutionMode.CONCURRENT)
class FaultSentencesTest {

  private static final String RESOURCE = "resource";
  private static final Duration TTL = Duration.ofSeconds(10);
  private static final Duration PATIENCE = Duration.ofMillis(100);
  private static final Duration NODE_TIMEOUT = Duration.ofSeconds(4);

  /** What a sentence tells its reader to do. */
  private static final Pattern FIX =
      Pattern.compile(
          ": .*\\b(add|address|allow|choose|correct|delete|give|name|set|undo|use|write)\\b");

  private static final String NO_REDIS =
      "what answers there is no Redis server: correct host and port";
  private static final String CLOSED =
      "the server closes new connections: it is stopping, expects TLS (write rediss://), asks for a client"
          + " certificate (add a key store to clientConfig), or is no Redis server (correct host and"
          + " port)";
  private static final String MUTE =
      "the server accepted the connection and answered nothing: it hangs, expects TLS (write"
          + " rediss://), or is no Redis server (correct host and port)";
  private static final String COUNTER =
      "the key redlock:fence:<key> holds no counter: delete it on this node";
  private static final String FAR_COUNTER =
      "the counter redlock:fence:resource is more than a year ahead of the clock: set it to the value"
          + " that the other masters have, with SET ... KEEPTTL, and do not delete it";
  private static final String FOREIGN_KEY =
      "a key of another application has this name: choose another name or a keyPrefix, or delete the"
          + " key (WRONGTYPE)";
  private static final String FOREIGN_QUEUE =
      "a key of another application has the name redlock:queue:<key> or redlock:ends:<key>: delete"
          + " it on this node (WRONGTYPE)";
  private static final String FOREIGN_READERS =
      "a key of another application has the name redlock:readers:<key> or redlock:floor:<key>:"
          + " delete it on this node (WRONGTYPE)";
  private static final String NO_TLS =
      "TLS failed: the server did not answer the handshake: name its port for TLS, or write"
          + " redis:// to do without";

  private static Certificate certificate;
  private static Certificate ofAnotherHost;

  @BeforeAll
  static void makeCertificates(@TempDir Path right, @TempDir Path wrong) throws Exception {
    certificate = Certificate.create(right, "ip:127.0.0.1");
    ofAnotherHost = Certificate.create(wrong, "ip:127.0.0.2");
  }

  // Renamed commands.

  private static String unknown(String command) {
    return "the server does not know "
        + command
        + ": undo its rename-command, or address a Redis master from version 6.2 on";
  }

  /** A set is founded where that can be done without the command. */
  private static RedisServer without(String command) {
    RedisServer server = RedisServer.start("--rename-command", command, "");
    return List.of("EVAL", "TIME").contains(command) ? server : server.founded();
  }

  @ParameterizedTest
  @ValueSource(strings = {"EVALSHA", "EVAL", "GET", "TIME"})
  void commandThatTheServerRenamedIsNamed(String command) throws Exception {
    try (RedisServer server = without(command)) {
      assertNodeSays(unknown(command), Vote.MISCONFIGURED, server.address());
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"EVAL", "GET", "TIME"})
  void doctorAndAdoptNameTheCommandThatTheServerRenamed(String command) {
    try (RedisServer server = without(command)) {
      assertOperatorReads(unknown(command), server.address(), null);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"SET", "SCAN"})
  void adoptNamesTheCommandThatOnlyItMisses(String command) {
    try (RedisServer server = RedisServer.start("--rename-command", command, "")) {
      String report = JedisRedlock.adoptNew(server.address()).toString();
      assertTrue(report.contains(unknown(command)), report);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"PEXPIRE", "PTTL"})
  void extensionNamesTheCommandThatTheServerRenamed(String command) throws Exception {
    try (RedisServer server = without(command);
        Redlock redlock = builder(server.address(), null).build()) {
      Lease lease = redlock.acquire(RESOURCE, TTL, TTL);
      ExtendResult extended = lease.extend(TTL.plusSeconds(5));
      assertTrue(extended.toString().contains(unknown(command)), extended::toString);
      assertEquals(unknown(command), NodeView.reason(redlock, 0));
    }
  }

  @Test
  void releaseNamesTheCommandThatTheServerRenamed() throws Exception {
    try (RedisServer server = without("DEL");
        Redlock redlock = builder(server.address(), null).build()) {
      redlock.acquire(RESOURCE, TTL, TTL).release();
      assertEquals(unknown("DEL"), NodeView.reason(redlock, 0));
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"ZADD", "ZRANGE", "ZRANGEBYSCORE", "PEXPIRE"})
  void fairRequestNamesTheCommandThatTheServerRenamed(String command) {
    try (RedisServer server = without(command);
        Redlock redlock = builder(server.address(), null).build()) {
      NodeVote vote = vote(redlock, LeaseRequest.of(RESOURCE, TTL).fair());
      assertEquals(unknown(command), vote.detail());
    }
  }

  // Keys of somebody else.

  @ParameterizedTest
  @ValueSource(strings = {"text", ""})
  void counterThatIsNoNumberIsNamedAndConcernsOneResourceOnly(String counter) throws Exception {
    assertCounterIsRefused(COUNTER, "SET", "redlock:fence:" + RESOURCE, counter);
  }

  @ParameterizedTest
  @ValueSource(strings = {"9007199254740988", "1e30", "99999999999999999999"})
  void counterThatIsFarAheadIsNamedAndConcernsOneResourceOnly(String counter) throws Exception {
    assertCounterIsRefused(FAR_COUNTER, "SET", "redlock:fence:" + RESOURCE, counter);
  }

  @Test
  void counterOfAnotherTypeIsNamedAndConcernsOneResourceOnly() throws Exception {
    assertCounterIsRefused(COUNTER, "LPUSH", "redlock:fence:" + RESOURCE, "value");
  }

  private static void assertCounterIsRefused(String sentence, String... write) throws Exception {
    try (RedisServer server = RedisServer.start().founded();
        Redlock redlock = builder(server.address(), null).build()) {
      server.command(write);
      assertIsExplained(sentence);
      LeaseRequest request = LeaseRequest.of(RESOURCE, TTL);
      List<LeaseRequest> requests =
          List.of(request, request.fair(), LeaseRequest.ofAll(List.of("another", RESOURCE), TTL));
      for (LeaseRequest each : requests) {
        NodeVote vote = vote(redlock, each);
        assertEquals(sentence, vote.detail(), each::toString);
        assertEquals(Vote.MISCONFIGURED, vote.vote());
        assertEquals(sentence, NodeView.status(redlock, 0).lastError().orElse(""));
      }
      redlock.acquire("free", TTL, TTL).release(); // the node serves other resources
      Await.until("nothing is left", () -> server.keys(RESOURCE).isEmpty());
      assertEquals(List.of(), server.keys("another"));
      server.command("DEL", "redlock:fence:" + RESOURCE);
      redlock.acquire(RESOURCE, TTL, TTL).release(); // the fix is one
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "queue", "ends", "readers", "floor"})
  void keyOfAnotherApplicationUnderTheNameOfOneOfOurs(String part) throws Exception {
    LeaseRequest request = LeaseRequest.of(RESOURCE, TTL);
    String key = part.isEmpty() ? RESOURCE : "redlock:" + part + ":" + RESOURCE;
    try (RedisServer server = RedisServer.start().founded();
        Redlock redlock = builder(server.address(), null).build()) {
      server.command("LPUSH", key, "value");
      String sentence =
          switch (part) {
            case "" -> FOREIGN_KEY;
            case "queue", "ends" -> FOREIGN_QUEUE;
            default -> FOREIGN_READERS;
          };
      LeaseRequest meeting =
          sentence.equals(FOREIGN_QUEUE)
              ? request.fair()
              : sentence.equals(FOREIGN_READERS) ? request.shared() : request;
      assertIsExplained(sentence);
      assertEquals(sentence, vote(redlock, meeting).detail());
    }
  }

  @Test
  void keyOfAnotherApplicationUnderTheNameOfTheBirthMark() throws Exception {
    try (RedisServer server = RedisServer.start()) {
      server.command("LPUSH", "redlock:birth", "value");
      assertToldEverywhere(
          "redlock:birth holds a value that is no birth mark: delete the key",
          Vote.MISCONFIGURED,
          server.address());
    }
  }

  // No Redis.

  @ParameterizedTest
  @ValueSource(
      strings = {
        "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n400 Bad Request",
        "ERROR\r\n", // as memcached says
        "SSH-2.0-OpenSSH_9.2p1\r\n",
        "J\0\0\0\n8.0.39\0", // as MySQL begins
        "+OK\r\n",
        "$5\r\nhello\r\n",
        ":1\r\n",
        "%1\r\n$1\r\na\r\n$1\r\nb\r\n",
      })
  void serverThatIsNoRedis(String answer) throws Exception {
    try (TalkingServer impostor = impostor(answer)) {
      assertToldEverywhere(NO_REDIS, Vote.UNREACHABLE, impostor.address("redis://"));
    }
  }

  @Test
  void serverThatClosesEveryConnection() throws Exception {
    try (TalkingServer impostor = impostor(null)) {
      assertToldEverywhere(CLOSED, Vote.UNREACHABLE, impostor.address("redis://"));
    }
  }

  @Test
  void serverThatAnswersNothing() throws Exception {
    try (TalkingServer impostor = impostor("")) {
      assertToldEverywhere(MUTE, Vote.UNREACHABLE, impostor.address("redis://"), impatient());
    }
  }

  // Logins.

  @Test
  void passwordThatIsMissing() throws Exception {
    try (RedisServer server = RedisServer.start("--requirepass", "geheim").founded()) {
      assertToldEverywhere(
          "NOAUTH, the server requires a password: give it in clientConfig or in the environment"
              + " (REDLOCK_NODES)",
          Vote.MISCONFIGURED,
          server.address());
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {":falsch", "nobody:falsch", "disabled:falsch"})
  void passwordThatIsWrong(String login) throws Exception {
    try (RedisServer server = RedisServer.start("--requirepass", "geheim").founded()) {
      server.command("ACL", "SETUSER", "disabled", "off", ">falsch");
      assertToldEverywhere(
          "WRONGPASS, the server refuses this user with this password: correct them in clientConfig"
              + " or in the environment (REDLOCK_NODES), or enable the user",
          Vote.MISCONFIGURED,
          "redis://" + login + "@127.0.0.1:" + server.port());
    }
  }

  private static String denied(String command) {
    return "NOPERM, the server denies "
        + command.toUpperCase(Locale.ROOT)
        + " to this user: allow it with ACL SETUSER <user> +"
        + command;
  }

  /** The server has seen no script: those that it knows run without EVAL. */
  @ParameterizedTest
  @ValueSource(strings = {"eval", "evalsha", "set"})
  void userWithoutTheRightToACommand(String command) throws Exception {
    try (RedisServer server = RedisServer.start().founded()) {
      assertNodeSays(
          denied(command), Vote.MISCONFIGURED, userOf(server, "~*", "+@all", "-" + command));
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"eval", "get"})
  void doctorAndAdoptNameTheCommandThatIsDenied(String command) {
    try (RedisServer server = RedisServer.start()) {
      assertOperatorReads(denied(command), userOf(server, "~*", "+@all", "-" + command), null);
    }
  }

  @Test
  void userWithoutTheRightToTheKeys() throws Exception {
    try (RedisServer server = RedisServer.start().founded()) {
      assertToldEverywhere(
          "NOPERM, the server denies a key to this user: allow redlock:* and the locks' own names"
              + " with ACL SETUSER <user> ~redlock:* ~<names>",
          Vote.MISCONFIGURED,
          userOf(server, "~app:*", "+@all"));
    }
  }

  private static String userOf(RedisServer server, String... rules) {
    server.command("ACL", "SETUSER", "app", "reset", "on", ">geheim", "&*");
    for (String rule : rules) {
      server.command("ACL", "SETUSER", "app", rule);
    }
    return "redis://app:geheim@127.0.0.1:" + server.port();
  }

  // TLS.

  @Test
  void clientWithTlsAndServerWithout() throws Exception {
    try (RedisServer server = RedisServer.start().founded()) {
      String address = "rediss://127.0.0.1:" + server.port();
      assertToldEverywhere(NO_TLS, Vote.UNREACHABLE, address, impatient());
    }
  }

  @Test
  void clientWithTlsAndServerThatIsNoRedis() throws Exception {
    try (TalkingServer impostor = impostor("HTTP/1.1 400 Bad Request\r\n\r\n")) {
      assertToldEverywhere(NO_TLS, Vote.UNREACHABLE, "rediss://127.0.0.1:" + impostor.port());
    }
  }

  @Test
  void serverWithTlsAndClientWithout() throws Exception {
    try (TlsServer server = TlsServer.start(certificate)) {
      assertToldEverywhere(CLOSED, Vote.UNREACHABLE, "redis://127.0.0.1:" + server.tlsPort());
    }
  }

  @Test
  void certificateThatIsNotTrusted() throws Exception {
    String sentence =
        "TLS failed: the server's certificate is not trusted: add its issuer to the trust store in"
            + " clientConfig, or to that of the JVM";
    try (TlsServer server = TlsServer.start(certificate)) {
      assertToldEverywhere(sentence, Vote.UNREACHABLE, server.address());
      JedisClientConfig config = ofAnotherHost.trusting();
      assertToldEverywhere(sentence, Vote.UNREACHABLE, server.address(), config);
    }
  }

  @Test
  void certificateOfAnotherHost() throws Exception {
    try (TlsServer server = TlsServer.start(ofAnotherHost)) {
      for (String host : List.of("127.0.0.1", "localhost")) {
        assertToldEverywhere(
            "TLS failed: the server's certificate is for another host: address the server by a name"
                + " that the certificate has, or give it one for this host",
            Vote.UNREACHABLE,
            "rediss://" + host + ":" + server.tlsPort(),
            ofAnotherHost.trusting());
      }
    }
  }

  /** With TLS 1.3 the refusal comes after the handshake: which end comes first is luck. */
  @Test
  void clientCertificateThatIsMissing() throws Exception {
    String asked =
        "TLS failed: the server asks for a client certificate: add a key store to clientConfig";
    try (TlsServer server = TlsServer.start(certificate)) {
      server.redis().command("CONFIG", "SET", "tls-auth-clients", "yes");
      try (Redlock redlock = builder(server.address(), certificate.trusting()).build()) {
        Await.until(
            "the sentence comes, not " + redlock.operations().nodes(),
            () -> List.of(asked, CLOSED).contains(NodeView.reason(redlock, 0)));
      }
    }
  }

  // Who reads it.

  /** Does not wait for long where the test is that nothing comes. */
  private static JedisClientConfig impatient() {
    return DefaultJedisClientConfig.builder().timeoutMillis(300).build();
  }

  private static JedisRedlock.Builder builder(String address, JedisClientConfig config) {
    JedisRedlock.Builder builder =
        JedisRedlock.builder().node(address).nodeTimeout(NODE_TIMEOUT).restartGuard(false);
    return config == null ? builder : builder.clientConfig(config);
  }

  private static void assertToldEverywhere(String sentence, Vote vote, String address)
      throws Exception {
    assertToldEverywhere(sentence, vote, address, null);
  }

  private static void assertToldEverywhere(
      String sentence, Vote vote, String address, JedisClientConfig config) throws Exception {
    assertNodeSays(sentence, vote, address, config);
    assertOperatorReads(sentence, address, config);
  }

  private static void assertNodeSays(String sentence, Vote vote, String address) throws Exception {
    assertNodeSays(sentence, vote, address, null);
  }

  /** The status of the node, its vote, and the exception. */
  private static void assertNodeSays(
      String sentence, Vote vote, String address, JedisClientConfig config) throws Exception {
    try (Redlock redlock = builder(address, config).build()) {
      long start = System.nanoTime();
      String reason = NodeView.reason(redlock, 0);
      while (!sentence.equals(reason) && System.nanoTime() - start < TTL.toNanos()) {
        redlock.tryAcquire(RESOURCE, TTL); // what only a request brings to light
        reason = NodeView.reason(redlock, 0);
      }
      assertEquals(sentence, reason);
      assertIsExplained(sentence);
      LockNotAcquiredException refusal =
          assertThrows(
              LockNotAcquiredException.class,
              () -> redlock.acquire(LeaseRequest.of(RESOURCE, TTL)));
      NodeVote told = refusal.result().votes().nodes().get(0);
      assertEquals(sentence, told.detail());
      assertEquals(vote, told.vote());
      String message = refusal.getMessage();
      assertTrue(message.endsWith("(" + told.node() + " " + sentence + ")"), message);
      assertNoSecret(redlock.operations().nodes() + message);
    }
  }

  private static NodeVote vote(Redlock redlock, LeaseRequest request) {
    return assertThrows(
            LockNotAcquiredException.class, () -> redlock.acquire(request.waitUpTo(PATIENCE)))
        .result()
        .votes()
        .nodes()
        .get(0);
  }

  /** What {@code doctor} and {@code adopt} print. */
  private static void assertOperatorReads(
      String sentence, String address, JedisClientConfig config) {
    String adopted = builder(address, config).restartGuard(true).adopt().toString();
    assertTrue(adopted.endsWith(" (" + sentence + ")"), adopted);
    DeploymentSettings deployment = new DeploymentSettings();
    deployment.set(Setting.NODES, address);
    if (config != null) {
      deployment.clientConfig(config);
    } else {
      deployment.set(Setting.SILENCE_TIMEOUT, TTL); // the machine may stand still
    }
    ByteArrayOutputStream printed = new ByteArrayOutputStream();
    assertEquals(1, Doctor.run(deployment, null, new PrintStream(printed)));
    String lines = printed.toString(StandardCharsets.UTF_8);
    assertTrue(lines.contains("  " + sentence + "\n"), lines);
    assertNoSecret(adopted + lines);
  }

  /** The sentence says what to do after what is wrong, or the page on troubles does. */
  private static void assertIsExplained(String sentence) throws IOException {
    if (FIX.matcher(sentence).find()) {
      return;
    }
    assertTrue(
        Pattern.compile("(?m)^- `([^`]+)`: ")
            .matcher(Repository.read("docs/troubleshooting.md"))
            .results()
            .map(row -> "\\Q" + row.group(1).replace("…", "\\E.+\\Q") + "\\E")
            .filter(row -> !row.equals("\\QTLS failed: \\E.+\\Q\\E")) // whatever else fails
            .anyMatch(row -> Pattern.compile(row).matcher(sentence).find()),
        () -> "no fix in it, and not in docs/troubleshooting.md: " + sentence);
  }

  private static void assertNoSecret(String text) {
    assertTrue(!text.contains("geheim") && !text.contains("falsch"), text);
  }

  /** Says the same to everybody; nothing at all if that is empty, and hangs up if it is null. */
  private static TalkingServer impostor(String answer) throws IOException {
    return new TalkingServer(
        0,
        client -> {
          byte[] buffer = new byte[1 << 14];
          while (client.getInputStream().read(buffer) > 0 && answer != null) {
            client.getOutputStream().write(answer.getBytes(StandardCharsets.ISO_8859_1));
          }
        });
  }
}
