package io.redlock.membership;

import static io.redlock.testbed.Results.assertExtended;
import static io.redlock.testbed.Results.assertUnavailable;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.AcquireResult;
import io.redlock.Lease;
import io.redlock.LeaseEnd;
import io.redlock.LockNotAcquiredException;
import io.redlock.NodeStatus;
import io.redlock.NodeStatus.State;
import io.redlock.Redlock;
import io.redlock.jedis.JedisRedlock;
import io.redlock.testbed.AgainIfItStoodStill;
import io.redlock.testbed.Await;
import io.redlock.testbed.ClockShim;
import io.redlock.testbed.NodeView;
import io.redlock.testbed.RedisServer;
import io.redlock.testbed.RedisServers;
import io.redlock.testkit.GateProxy;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Assertions;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** What a client finds out about its masters, and what it makes of it. */
@Tag("servers")
@Execution(ExecutionMode.CONCURRENT)
class AuditTest {

  private static final Duration TTL = Duration.ofSeconds(20);

  /** No call fails because the machine stands still for 3 s, and no master is silent. */
  private static final Duration NODE_TIMEOUT = Duration.ofSeconds(4);

  private final NodeNews told = new NodeNews();
  @AutoClose private RedisServers servers;
  @AutoClose private Redlock client;

  private void connect(JedisRedlock.Builder settings, String... addresses) {
    client =
        settings.node(String.join(",", addresses)).nodeTimeout(NODE_TIMEOUT).listener(told).build();
  }

  private static JedisRedlock.Builder unguarded() {
    return JedisRedlock.builder().restartGuard(false);
  }

  private NodeStatus status(int node) {
    return NodeView.status(client, node);
  }

  private void await(int node, State state) {
    NodeView.await(client, node, state);
  }

  private void assertRefused(int node, String reason) {
    NodeView.await(client, node, State.MISCONFIGURED, reason);
  }

  // Misconfigured masters.

  @Test
  void serverBehindTwoAddressesIsOneNode() throws Exception {
    servers = RedisServers.startBrandNew(2);
    try (GateProxy proxy = GateProxy.to(servers.get(0))) {
      connect(unguarded(), servers.get(0).address(), proxy.address(), servers.get(1).address());
      // A list that names one server twice is the set of nobody.
      Await.until("one of the two is refused", () -> states(State.MISCONFIGURED) == 1);
      Await.until("the others abstain", () -> states(State.ABSTAINING) == 2);
      int refused = status(0).state() == State.MISCONFIGURED ? 0 : 1;
      NodeView.await(client, 1 - refused, State.ABSTAINING, "all must answer first");
      assertRefused(refused, "it is the same server as node " + status(1 - refused).name());
      AcquireResult result = client.tryAcquire("a", TTL);
      assertUnavailable(result);
      assertTrue(result.votes().toString().contains("list every master once"), result::toString);
      servers.forEach(server -> assertEquals(List.of(), server.keys("*")));
    }
  }

  private long states(State state) {
    return client.operations().nodes().stream().filter(node -> node.state() == state).count();
  }

  @Test
  void masterThatMayEvictLocksIsRefusedUntilItMayNot() throws Exception {
    servers = RedisServers.startBrandNew(3).founded();
    RedisServer evicting = servers.get(1);
    evicting.command("CONFIG", "SET", "maxmemory-policy", "allkeys-lru");
    evicting.command("CONFIG", "SET", "maxmemory", "100mb");
    connect(unguarded(), servers.addresses());
    assertRefused(1, "set maxmemory-policy noeviction");
    await(0, State.UP);
    evicting.command("CONFIG", "SET", "maxmemory-policy", "noeviction");
    await(0, State.UP);
    evicting.command("CONFIG", "SET", "maxmemory-policy", "allkeys-lru");
    assertRefused(1, "set maxmemory-policy noeviction");
    Lease lease = client.acquire("a", TTL, TTL);
    assertEquals(List.of(), evicting.keys("a"));
    evicting.command("CONFIG", "SET", "maxmemory-policy", "noeviction");
    await(1, State.UP);
    lease.extend(TTL);
    Await.until("it has joined", () -> evicting.keys("a").size() == 1);
    evicting.command("CONFIG", "SET", "maxmemory-policy", "volatile-ttl");
    assertRefused(1, "volatile-ttl");
    lease.release();
    Await.until("releases go to masters that may not vote", () -> evicting.keys("a").isEmpty());
  }

  @Test
  void clockFarFromTheMedianIsRefusedUntilItIsSet() {
    try (ClockShim clock = ClockShim.create();
        RedisServer wrong = RedisServer.start(clock)) {
      clock.set(Duration.ofMinutes(-10));
      servers = RedisServers.startBrandNew(2);
      RedisServers.found(servers.get(0), servers.get(1), wrong);
      connect(unguarded(), servers.get(0).address(), servers.get(1).address(), wrong.address());
      assertRefused(2, "s behind the median of the nodes, more than the skew of 2.0s");
      assertRefused(2, "node 1");
      assertRefused(2, "median 1");
      clock.set(Duration.ZERO);
      await(2, State.UP);
      clock.set(Duration.ofMinutes(-10));
      assertRefused(2, "s behind the median of the nodes");
      await(0, State.UP);
      await(1, State.UP);
    }
  }

  // Lost pasts.

  @Test
  void lossOfDataIsToldOnce() throws Exception {
    servers = RedisServers.start(3);
    connect(JedisRedlock.builder(), servers.addresses());
    Lease lease = client.acquire("a", TTL, TTL);
    servers.get(0).command("FLUSHALL");
    await(0, State.ABSTAINING);
    awaitLosses(1);
    servers.get(1).restart();
    await(1, State.ABSTAINING);
    awaitLosses(2);
    try (RedisServer empty = RedisServer.start()) {
      servers.get(2).command("REPLICAOF", empty.host(), Integer.toString(empty.port()));
      assertRefused(2, "it is a replica");
      servers.get(2).command("REPLICAOF", "NO", "ONE");
    }
    await(2, State.ABSTAINING);
    List<String> losses =
        List.of(
            status(0).name() + ": its data, or its birth mark, was deleted",
            status(1).name() + ": it was restarted or replaced by another server");
    awaitLosses(3);
    assertEquals(losses, told.losses().subList(0, 2));
    assertTrue(told.losses().get(2).contains("its replication history"), told.losses()::toString);
    Await.until("the lease has ended", () -> !lease.isValid());
    assertEquals(3, told.losses().size(), told.losses()::toString);
  }

  /**
   * As a nightly backup does, which is a first copy, and as the end of all copies does in the
   * second in which the master gives up waiting for another one.
   */
  @Test
  @AgainIfItStoodStill // a mark is carried within three seconds
  void mastersThatAreCopiedLoseNothingAndGoOnVoting() throws Exception {
    servers = RedisServers.start(3, "--repl-backlog-ttl", "1");
    connect(JedisRedlock.builder(), servers.addresses());
    Lease lease = client.acquire("a", TTL, TTL);
    List<String> alone = histories();
    List<Socket> copies = new ArrayList<>();
    try {
      for (RedisServer server : servers) {
        Socket copy = new Socket(server.host(), server.port());
        copies.add(copy);
        copy.getOutputStream().write("SYNC\r\n".getBytes(StandardCharsets.US_ASCII));
      }
      awaitMarksOfOthersThan(alone);
    } finally {
      for (Socket copy : copies) {
        copy.close();
      }
    }
    awaitMarksOfOthersThan(histories());
    assertExtended(lease.extend(TTL));
    lease.close();
    assertEquals(List.of(), told.losses());
    for (int node = 0; node < 3; node++) {
      assertFalse(told.states(status(node).name()).contains(State.ABSTAINING), told::toString);
    }
  }

  private List<String> histories() {
    List<String> histories = new ArrayList<>();
    servers.forEach(server -> histories.add(server.infoOf("master_replid")));
    return histories;
  }

  private void awaitMarksOfOthersThan(List<String> before) {
    Await.until(
        "each mark names another history than " + before,
        () -> {
          List<String> now = histories();
          boolean areCarried = true;
          for (int node = 0; node < 3; node++) {
            areCarried &= !now.get(node).equals(before.get(node));
            Object mark = servers.get(node).command("GET", "redlock:birth");
            areCarried &= String.valueOf(mark).contains(now.get(node));
          }
          return areCarried;
        });
  }

  private void awaitLosses(int count) {
    Await.until(count + " losses are told", () -> told.losses().size() >= count);
  }

  @Test
  void stepsOfTwoClocksAreToldOnceAndEndTheLeaseThatRestsOnThem() throws Exception {
    try (ClockShim clock = ClockShim.create();
        RedisServer first = RedisServer.start(clock);
        RedisServer second = RedisServer.start(clock)) {
      servers = RedisServers.startBrandNew(1);
      RedisServers.found(servers.get(0), first, second);
      connect(
          unguarded().clockSkew(Duration.ofMinutes(1)),
          servers.get(0).address(),
          first.address(),
          second.address());
      NodeView.awaitAllUp(client);
      Lease lease = client.acquire("a", TTL, TTL);
      Await.until("all hold it", () -> first.keys("a").size() + second.keys("a").size() == 2);
      clock.set(TTL.plusSeconds(5)); // the keys have run out
      LeaseEnd end = Await.value("the end", lease.ended().toCompletableFuture());
      assertEquals(LeaseEnd.Cause.REFUSED, end.cause());
      awaitLosses(2);
      clock.set(Duration.ZERO);
      awaitLosses(4);
      for (int node = 1; node <= 2; node++) {
        String name = status(node).name();
        List<String> steps = told.losses().stream().filter(loss -> loss.startsWith(name)).toList();
        assertTrue(steps.get(0).contains("its clock stepped by 2"), steps::toString);
        assertTrue(steps.get(1).contains("its clock stepped by -2"), steps::toString);
      }
      Thread.sleep(2_500); // two more audits
      assertEquals(4, told.losses().size(), told.losses()::toString);
    }
  }

  @Test
  void leaseThatRestsOnAClockThatStepsIsExtendedAtOnce() throws Exception {
    try (ClockShim clock = ClockShim.create();
        RedisServer stepping = RedisServer.start(clock)) {
      servers = RedisServers.startBrandNew(2);
      RedisServers.found(servers.get(0), servers.get(1), stepping);
      try (GateProxy gate = GateProxy.to(servers.get(0))) {
        connect(
            unguarded().clockSkew(Duration.ofMinutes(1)),
            gate.address(),
            servers.get(1).address(),
            stepping.address());
        NodeView.awaitAllUp(client);
        Lease lease = client.acquire("stepped", TTL, TTL);
        Await.until("it holds the key", () -> stepping.keys("stepped").size() == 1);
        Await.until("the grant has passed", () -> asked(gate, "stepped") > 0);
        long asked = asked(gate, "stepped");
        clock.set(TTL.plusSeconds(5));
        assertEquals(List.of(), stepping.keys("stepped"), "its key has run out");
        Await.until(
            "the others are asked whether they hold it", () -> asked(gate, "stepped") > asked);
        awaitLosses(1);
        assertEquals(1, told.losses().size(), told.losses()::toString);
        assertTrue(lease.isValid());
      }
    }
  }

  private static long asked(GateProxy gate, String resource) {
    return gate.requests().passed("\r\n" + resource + "\r\n").size();
  }

  // Abstention.

  @Test
  void failureBecauseMastersAbstainSaysForHowLongAndWhatToDo() {
    servers = RedisServers.start(3);
    servers.forEach(server -> server.command("SAVE"));
    servers.forEach(server -> server.restart());
    connect(JedisRedlock.builder(), servers.addresses());
    for (int node = 0; node < 3; node++) {
      await(node, State.ABSTAINING);
    }
    LockNotAcquiredException failure =
        Assertions.assertThrows(
            LockNotAcquiredException.class, () -> client.acquire("a", TTL, Duration.ZERO));
    String message = failure.getMessage();
    assertTrue(message.matches(".*abstains [23]\\ds more: its data is new.*"), message);
    for (RedisServer server : servers) {
      assertEquals(List.of(), server.keys("*a"));
    }
  }

  @Test
  void masterThatAbstainsExtendsAndReleasesWhatItHolds() throws Exception {
    servers = RedisServers.start(3);
    connect(JedisRedlock.builder(), servers.addresses());
    Lease lease = client.acquire("a", TTL, TTL);
    RedisServer forgetful = servers.get(1);
    Await.until("all hold it", () -> forgetful.keys("a").size() == 1);
    forgetful.command("DEL", "redlock:birth");
    await(1, State.ABSTAINING);
    servers.get(2).kill();
    assertExtended(lease.extend(TTL)); // by 0 and 1
    lease.release();
    Await.until("it is released", () -> forgetful.keys("a").isEmpty());
  }

  // What a status says.

  @Test
  void statusTellsOfRoundTripsAndTheLastError() throws Exception {
    servers = RedisServers.start(3);
    connect(JedisRedlock.builder(), servers.addresses());
    servers.get(2).command("HSET", "wrong", "field", "value");
    client.tryAcquire("wrong", TTL);
    for (int i = 0; i < 20; i++) {
      client.acquire("a", TTL, TTL).release();
    }
    Await.until("the error is noted", () -> status(2).lastError().orElse("").contains("WRONGTYPE"));
    assertEquals(State.UP, status(2).state());
    assertEquals(Optional.empty(), status(0).lastError());
    NodeStatus status = status(0);
    assertTrue(status.roundTripMedian().orElseThrow().toNanos() > 0, status::toString);
    assertTrue(
        status.roundTrip99().orElseThrow().compareTo(status.roundTripMedian().orElseThrow()) >= 0,
        status::toString);
    Await.until("a release that nobody waits for is answered", () -> status(0).queued() == 0);
    servers.get(1).kill();
    await(1, State.DOWN);
    assertTrue(status(1).lastError().isPresent());
    String dead = status(1).name();
    Await.until("its end is told", () -> told.states(dead).contains(State.DOWN));
    int end = told.states(dead).indexOf(State.DOWN);
    assertEquals(List.of(State.UP, State.DOWN), told.states(dead).subList(end - 1, end + 1));
  }
}
