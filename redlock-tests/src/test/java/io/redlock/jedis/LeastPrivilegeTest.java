package io.redlock.jedis;

import static io.redlock.testbed.Results.assertContended;
import static io.redlock.testbed.Results.assertExtended;
import static io.redlock.testbed.Results.assertLost;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.AcquireResult;
import io.redlock.ExtendResult;
import io.redlock.FreeResult;
import io.redlock.Inspection.Held;
import io.redlock.Lease;
import io.redlock.LeaseRequest;
import io.redlock.NodeStatus;
import io.redlock.NodeStatus.State;
import io.redlock.Redlock;
import io.redlock.ReleaseResult;
import io.redlock.cli.CommandRun;
import io.redlock.cli.Doctor;
import io.redlock.jedis.deployment.DeploymentSettings;
import io.redlock.jedis.lane.LaneFixture;
import io.redlock.jedis.membership.BirthMark;
import io.redlock.settings.Setting;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest.Extend;
import io.redlock.spi.NodeRequest.Grant;
import io.redlock.spi.NodeRequest.Inspect;
import io.redlock.spi.NodeRequest.Release;
import io.redlock.spi.NodeRequest.Ticket;
import io.redlock.testbed.Await;
import io.redlock.testbed.NodeView;
import io.redlock.testbed.RedisServer;
import io.redlock.testbed.RedisServers;
import io.redlock.testbed.Repository;
import io.redlock.testbed.RequiresRedis;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import redis.clients.jedis.ConnectionPool;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.JedisClientConfig;

/** The ACL rule that operators are told to use, as it is written there, and each part of it. */
@RequiresRedis
@Tag("servers")
@Tag("server-version")
class LeastPrivilegeTest {

  private static final Pattern RULE =
      Pattern.compile("(?m)^ACL SETUSER locks on >(\\S+) (~locks:\\*.*)$");
  private static final String PREFIX = "locks:";

  /** What there is another way round. */
  private static final List<String> CONVENIENCES = List.of("+exists", "+client|setname");

  /** What only waiting in turn needs. */
  private static final List<String> FOR_QUEUES =
      List.of("+zadd", "+zrem", "+zrange", "+zrangebyscore", "+zscore", "+publish", "+subscribe");

  /** What only shared leases need, besides what waiting in turn does. */
  private static final String FOR_READERS = "+zremrangebyscore";

  /** What a pool of the user's needs besides. */
  private static final String FOR_POOLS = "+client|info";

  private static final Duration TTL = Duration.ofSeconds(10);

  /** What is said to a user who may not call something. */
  private static final Pattern DENIED = Pattern.compile("the server denies [A-Z ]+ to this user");

  private static Matcher rule() throws IOException {
    Matcher rule = RULE.matcher(Repository.read("docs/operations.md"));
    assertTrue(rule.find(), "the page has the rule");
    return rule;
  }

  private static List<String> rules() throws IOException {
    return List.of(rule().group(2).split(" "));
  }

  static List<String> neededCommands() throws IOException {
    return rules().stream()
        .filter(part -> part.startsWith("+"))
        .filter(part -> !CONVENIENCES.contains(part) && !FOR_QUEUES.contains(part))
        .filter(part -> !part.equals(FOR_READERS))
        .toList();
  }

  private static void addUser(RedisServer server, List<String> rules) throws IOException {
    List<String> command = new ArrayList<>(List.of("ACL", "SETUSER", "locks", "on"));
    command.add(">" + rule().group(1));
    command.addAll(rules);
    server.command(command.toArray(String[]::new));
  }

  private static String address(RedisServer server) throws IOException {
    return "redis://locks:" + rule().group(1) + "@127.0.0.1:" + server.port();
  }

  private static JedisRedlock.Builder builder(String addresses) {
    return JedisRedlock.builder()
        .node(addresses)
        .keyPrefix(PREFIX)
        .nodeTimeout(Duration.ofSeconds(4));
  }

  @Test
  void userWithJustThisRuleIsNeverDeniedAnything() throws Exception {
    try (RedisServers servers = RedisServers.startBrandNew(3)) {
      List<String> addresses = new ArrayList<>();
      for (RedisServer server : servers) {
        addUser(server, rules());
        addresses.add(address(server));
      }
      String all = String.join(",", addresses);
      AdoptReport report = builder(all).adoptNew();
      assertTrue(report.isComplete(), report::toString);
      String version = servers.get(0).nameAndVersion().split(" ")[1];
      assertTrue(diagnosis(all, 0).contains(" " + version + " "));
      try (Redlock redlock = builder(all).build();
          Redlock rival = builder(all).build()) {
        Lease listed = redlock.acquire("listed", TTL, TTL);
        Map<String, String> settings = Map.of("REDLOCK_NODES", all, "REDLOCK_KEY_PREFIX", PREFIX);
        CommandRun.of(settings, "list").assertExit(0).assertMatches("listed +yes .*");
        listed.release();
        live(redlock, rival, servers);
      }
      for (RedisServer server : servers) {
        assertEquals(List.of(), server.denials(), "denials");
        assertEquals(List.of(), server.keys(PREFIX + "*"));
      }
    }
  }

  @Test
  void prefixThatTheRightsDoNotCoverIsSeenInTheStateOfTheNodes() throws Exception {
    try (RedisServer server = RedisServer.start()) {
      addUser(server, rules());
      assertTrue(builder(address(server)).adoptNew().isComplete());
      try (Redlock redlock = builder(address(server)).keyPrefix("other:").build();
          Redlock right = builder(address(server)).build()) {
        redlock.tryAcquire("a", TTL);
        NodeStatus status = NodeView.status(redlock, 0);
        assertEquals(State.MISCONFIGURED, status.state());
        assertTrue(status.reason().orElse("").contains("the locks' own names"), status::toString);
        assertFalse(redlock.operations().isAvailable());
        right.acquire("a", TTL, TTL).release();
        assertTrue(right.operations().isAvailable());
      }
    }
  }

  /** Everything that leads a script another way. */
  private static void live(Redlock redlock, Redlock rival, RedisServers servers)
      throws InterruptedException {
    Lease lease = redlock.acquire("a", TTL, TTL);
    for (RedisServer server : servers) { // before the rival may take what a slower node still has
      Await.until("all hold it", () -> server.keys(PREFIX + "a").size() == 1);
    }
    assertContended(rival.tryAcquire("a", TTL));
    assertEquals(Held.YES, rival.operations().inspect("a").held());
    LeaseRequest any = LeaseRequest.anyOf(List.of("d", "e", "f"), TTL);
    List<Lease> permits = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      permits.add(rival.tryAcquire(any).lease().orElseThrow());
    }
    assertContended(rival.tryAcquire(any)); // looks
    permits.forEach(Lease::close);
    RedisServer emptied = servers.get(1);
    emptied.command("DEL", PREFIX + "a", "redlock:fence:" + PREFIX + "a");
    emptied.command("SCRIPT", "FLUSH");
    assertExtended(lease.extend(TTL));
    Await.until("it has joined", () -> emptied.keys(PREFIX + "a").size() == 1);
    LeaseRequest several = LeaseRequest.ofAll(List.of("b", "c"), TTL);
    Lease both = redlock.acquire(several.waitUpTo(TTL));
    assertEquals(ReleaseResult.RELEASED, both.release());
    assertEquals(ReleaseResult.RELEASED, lease.release());
    waitInTurn(redlock, rival, servers);
    setFree(redlock, rival, servers);
    assertTrue(rival.tryAcquire("a", TTL).lease().isPresent());
    emptied.command("FLUSHALL");
    for (Redlock each : List.of(redlock, rival)) {
      NodeView.await(each, 1, State.ABSTAINING);
    }
    for (RedisServer server : servers) {
      server.command("CLIENT", "KILL", "USER", "locks");
    }
    for (Redlock each : List.of(redlock, rival)) {
      NodeView.await(each, 0, State.UP);
      each.acquire("d", TTL, TTL).release();
    }
    servers.forEach(server -> server.command("DEL", PREFIX + "a"));
    for (RedisServer server : servers) {
      Await.until("all is released", () -> server.keys(PREFIX + "*").isEmpty());
    }
  }

  /** A majority is enough for a lease, and a rival is not refused by the others. */
  private static Lease onAllMasters(Redlock redlock, LeaseRequest request, RedisServers servers)
      throws InterruptedException {
    for (int tries = 0; tries < 10; tries++) {
      Lease held = redlock.acquire(request);
      try {
        for (RedisServer server : servers) {
          Await.until(
              "it is held there",
              Duration.ofSeconds(2),
              () -> !server.keys(PREFIX + "queue").isEmpty());
        }
        return held;
      } catch (AssertionError e) {
        held.release(); // a master was slow, or just being audited
      }
    }
    throw new AssertionError("no lease on all masters in ten tries");
  }

  /** Where the holder has a key, and where it could join. */
  private static void setFree(Redlock redlock, Redlock rival, RedisServers servers)
      throws InterruptedException {
    Lease lease = redlock.acquire("free", TTL, TTL);
    for (RedisServer server : servers) {
      Await.until("all hold it", () -> server.keys(PREFIX + "free").size() == 1);
    }
    servers.get(1).command("DEL", PREFIX + "free", "redlock:fence:" + PREFIX + "free");
    assertEquals(FreeResult.Outcome.FREED, rival.operations().free("free").outcome());
    assertLost(lease.extend(TTL));
    servers.forEach(server -> server.command("DEL", PREFIX + "free"));
  }

  private static void waitInTurn(Redlock redlock, Redlock rival, RedisServers servers)
      throws InterruptedException {
    LeaseRequest fair = LeaseRequest.of("queue", TTL).waitUpTo(TTL).fair();
    Lease held = onAllMasters(redlock, fair, servers);
    CompletableFuture<AcquireResult> next = rival.acquireAsync(fair);
    servers.forEach(LeastPrivilegeTest::awaitListener);
    assertTrue(
        redlock.operations().inspect("queue").nodes().get(0).waiting() > 0, "a queue is read, too");
    held.release();
    Await.value("the rival has its turn", next).lease().orElseThrow().release();
  }

  @ParameterizedTest
  @MethodSource("neededCommands")
  void withOneCommandLessItIsSaidThatOneIsMissing(String command) throws Exception {
    try (RedisServer server = serverWithout(List.of(command))) {
      List<String> complaints = complaints(address(server));
      assertFalse(complaints.isEmpty(), "nobody missed it");
      for (String complaint : complaints) {
        assertTrue(DENIED.matcher(complaint).find(), complaint);
        assertFalse(complaint.contains(rule().group(1)), complaint);
      }
    }
  }

  @Test
  void withoutWhatIsOnlyConvenientItGoesAsWell() throws Exception {
    List<String> dispensable = new ArrayList<>(CONVENIENCES);
    dispensable.addAll(FOR_QUEUES);
    dispensable.add(FOR_READERS);
    try (RedisServer server = serverWithout(dispensable)) {
      assertEquals(List.of(), complaints(address(server)));
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"+zadd", "+zrangebyscore", "+zrange", "+pexpire", "+pttl"})
  void fairRequestWithOneCommandLessIsRefusedAndNothingOfAQueueStaysForEver(String command)
      throws Exception {
    try (RedisServer server = serverWithout(List.of(command))) {
      assertTrue(builder(address(server)).adoptNew().isComplete());
      try (Redlock redlock = builder(address(server)).build()) {
        LeaseRequest fair = LeaseRequest.of("a", TTL).waitUpTo(Duration.ofMillis(1)).fair();
        String refusal = redlock.tryAcquire(fair).toString();
        assertTrue(DENIED.matcher(refusal).find(), refusal);
      }
      for (String key : server.keys("redlock:*")) {
        boolean expires = (Long) server.command("PTTL", key) != -1; // or has expired by now
        assertTrue(expires || key.equals(BirthMark.KEY), key);
      }
    }
  }

  static List<String> commandsForQueues() {
    return FOR_QUEUES;
  }

  @ParameterizedTest
  @MethodSource("commandsForQueues")
  void waitingInTurnMissesEachOfItsCommands(String command) throws Exception {
    try (RedisServer server = serverWithout(List.of(command))) {
      assertTrue(builder(address(server)).adoptNew().isComplete());
      try (Redlock redlock = builder(address(server)).build()) {
        LeaseRequest brief = LeaseRequest.of("a", TTL).waitUpTo(Duration.ofMillis(300)).fair();
        Await.until(
            "one of several waits comes to it",
            () -> {
              String ends = Long.toString(System.currentTimeMillis() + 15_000);
              server.command("ZADD", "redlock:queue:locks:a", "1", "somebody:1");
              server.command("ZADD", "redlock:ends:locks:a", ends, "somebody:1");
              redlock.acquireAsync(brief).join();
              return isDenied(server, command);
            });
      }
    }
  }

  static List<String> commandsForReaders() {
    return List.of(FOR_READERS, "+zadd", "+zrem", "+zrange", "+zrangebyscore", "+zscore");
  }

  @ParameterizedTest
  @MethodSource("commandsForReaders")
  void readersMissEachOfTheirCommandsAndWritersDoNot(String command) throws Exception {
    try (RedisServer server = serverWithout(List.of(command)).founded();
        LaneFixture user = new LaneFixture(address(server), Duration.ofSeconds(4)).up()) {
      String denied =
          answersToReaders(user).stream()
              .filter(each -> DENIED.matcher(each).find())
              .findFirst()
              .orElse("nobody missed it");
      assertTrue(denied.contains(command.substring(1).toUpperCase(Locale.ROOT)), denied);
      List<String> name = List.of(PREFIX + "written");
      long token = user.token();
      long ttlMillis = TTL.toMillis();
      assertEquals(NodeReply.GRANTED, user.ask(new Grant(name, "a", token, ttlMillis)));
      assertEquals(NodeReply.RELEASED, user.ask(new Release(name, "a", token, 0, false, null, 0)));
      for (String key : server.keys("*")) {
        boolean expires = (Long) server.command("PTTL", key) != -1;
        assertTrue(expires || key.equals(BirthMark.KEY), key);
      }
    }
  }

  @Test
  void userWithJustThisRuleMayRead() throws Exception {
    try (RedisServer server = serverWithout(List.of()).founded();
        LaneFixture user = new LaneFixture(address(server), Duration.ofSeconds(4)).up()) {
      for (String answer : answersToReaders(user)) {
        assertTrue(answer.matches("(GRANTED|EXTENDED|JOINED|HELD|RELEASED).*"), answer);
      }
      assertEquals(List.of(), server.denials());
    }
  }

  /** The answers to requests that lead the scripts of readers along all their ways. */
  private static List<String> answersToReaders(LaneFixture user) {
    List<String> name = List.of(PREFIX + "read");
    long token = user.token();
    long ttlMillis = TTL.toMillis();
    Ticket ticket = new Ticket("me", 1, token, ttlMillis, true);
    return Stream.of(
            new Grant(name, "a", token, 0, ttlMillis, null, token),
            new Grant(name, "b", token, 0, ttlMillis / 2, ticket, token),
            new Extend(name, "a", token, ttlMillis, token, true),
            new Extend(name, "c", token, ttlMillis, token, true),
            new Inspect(name, token),
            new Release(name, "c", token, 0, true, null, ttlMillis),
            new Release(name, "b", token, 0, true, ticket, ttlMillis),
            new Release(name, "a", token, 0, true, null, ttlMillis))
        .map(request -> user.ask(request).toString())
        .toList();
  }

  private static void awaitListener(RedisServer server) {
    Await.until("somebody listens", () -> isListenedTo(server));
  }

  private static boolean isListenedTo(RedisServer server) {
    return !((List<?>) server.command("PUBSUB", "CHANNELS", "redlock:*")).isEmpty();
  }

  private static boolean isDenied(RedisServer server, String command) {
    return server.denials().contains(command.substring(1));
  }

  @Test
  void poolOfTheUserNeedsToSayWhichDatabaseItIsOn() throws Exception {
    try (RedisServer server = RedisServer.start()) {
      List<String> more = new ArrayList<>(rules());
      addUser(server, more);
      assertTrue(builder(address(server)).adoptNew().isComplete());
      String reason = stateOfPool(server).reason().orElse("");
      assertTrue(reason.contains("the server denies CLIENT"), reason); // before 7 all of it
      more.add(FOR_POOLS);
      addUser(server, more);
      assertEquals(State.UP, stateOfPool(server).state());
    }
  }

  private static NodeStatus stateOfPool(RedisServer server) throws IOException {
    JedisClientConfig login =
        DefaultJedisClientConfig.builder().user("locks").password(rule().group(1)).build();
    try (ConnectionPool pool = server.pool(login);
        Redlock redlock =
            JedisRedlock.builder()
                .node("pooled", pool)
                .keyPrefix(PREFIX)
                .nodeTimeout(Duration.ofSeconds(4))
                .build()) {
      return NodeView.status(redlock, 0);
    }
  }

  private static RedisServer serverWithout(List<String> commands) throws IOException {
    RedisServer server = RedisServer.start();
    List<String> rest = new ArrayList<>(rules());
    assertEquals(!commands.isEmpty(), rest.removeAll(commands), commands::toString);
    addUser(server, rest);
    return server;
  }

  private static String diagnosis(String addresses, int exitCode) {
    DeploymentSettings deployment = new DeploymentSettings();
    deployment.set(Setting.NODES, addresses);
    ByteArrayOutputStream printed = new ByteArrayOutputStream();
    assertEquals(exitCode, Doctor.run(deployment, null, new PrintStream(printed)));
    return printed.toString(StandardCharsets.UTF_8);
  }

  /** What goes wrong, in the words of those who notice. */
  private static List<String> complaints(String address) throws InterruptedException {
    List<String> complaints = new ArrayList<>();
    String diagnosis = diagnosis(address, 1);
    if (!diagnosis.contains("no set is founded")) {
      complaints.add(diagnosis);
    }
    AdoptReport report = builder(address).adoptNew();
    if (!report.isComplete()) {
      complaints.add(report.toString());
      return complaints;
    }
    try (Redlock redlock = builder(address).build()) {
      AcquireResult result = redlock.tryAcquire("a", TTL);
      if (result.lease().isEmpty()) {
        complaints.add(result.toString());
        return complaints;
      }
      Lease lease = result.lease().get();
      ExtendResult extended = lease.extend(TTL.plusSeconds(5)); // so that there is something to do
      if (!(extended.outcome() == ExtendResult.Outcome.EXTENDED)) {
        complaints.add(extended.toString());
      }
      if (lease.release() != ReleaseResult.RELEASED) {
        NodeStatus status = NodeView.status(redlock, 0);
        assertEquals(State.MISCONFIGURED, status.state(), status::toString);
        complaints.add(status.toString());
      }
    }
    return complaints;
  }
}
