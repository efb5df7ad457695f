package io.redlock.lease;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.AcquireResult;
import io.redlock.Inspection;
import io.redlock.Inspection.Answer;
import io.redlock.Inspection.Held;
import io.redlock.Inspection.Node;
import io.redlock.Lease;
import io.redlock.LeaseRequest;
import io.redlock.NodeStatus.State;
import io.redlock.Redlock;
import io.redlock.spi.HolderLabel;
import io.redlock.testbed.Await;
import io.redlock.testbed.RedisServer;
import io.redlock.testbed.RedisServers;
import io.redlock.testbed.RequiresRedis;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** An inspection over real masters, adopted and guarded, in every state that they can be in. */
@RequiresRedis
@Tag("servers")
class InspectTest {

  private static final String HOLDER = "billing@pod-7:4211";
  private static final Duration TTL = Duration.ofSeconds(20);

  private RedisServers servers;
  private Redlock holder;
  private Redlock operator;

  @BeforeEach
  void start() {
    servers = RedisServers.start(3);
    holder = connect(HOLDER);
    operator = connect("operator@laptop:1");
  }

  @AfterEach
  void stop() {
    holder.close();
    operator.close();
    for (RedisServer server : servers) {
      if (server.isAlive()) {
        server.resume();
      }
    }
    servers.close();
  }

  private Redlock connect(String label) {
    Redlock redlock = servers.patientClient().holder(label).build();
    Await.until(
        "all are up",
        () -> redlock.operations().nodes().stream().allMatch(node -> node.state() == State.UP));
    return redlock;
  }

  private Lease onAllMasters(String resource) throws InterruptedException {
    Lease lease = holder.acquire(LeaseRequest.of(resource, TTL).waitUpTo(TTL));
    for (RedisServer server : servers) {
      Await.until("all hold it", () -> server.command("GET", resource) != null);
    }
    return lease;
  }

  private Inspection inspect(String resource) {
    return Await.value("the answers", operator.operations().inspectAsync(resource));
  }

  private static String line(Inspection inspection, int node) {
    Node one = inspection.nodes().get(node);
    assertTrue(one.toString().startsWith(one.name() + " "), one::toString);
    return one.detail();
  }

  @Test
  void heldResourceNamesItsHolderTokenAndTimeLeft() throws Exception {
    Lease lease = onAllMasters("held");
    Inspection inspection = inspect("held");
    assertEquals(Held.YES, inspection.held(), inspection::toString);
    assertEquals(Optional.of(HOLDER), inspection.holder());
    assertEquals(OptionalLong.of(lease.fencingToken()), inspection.token());
    assertEquals(
        Optional.of(HolderLabel.owner(String.valueOf(servers.get(0).command("GET", "held")))),
        inspection.ownerId());
    Duration left = inspection.remaining().orElseThrow();
    assertTrue(left.compareTo(lease.remaining()) > 0, "not before the holder's own deadline");
    assertTrue(left.compareTo(TTL) <= 0, left::toString);
    for (int node = 0; node < 3; node++) {
      assertTrue(
          line(inspection, node).matches("held for 1\\ds more by " + HOLDER), "" + inspection);
    }
    assertFalse(inspection.toString().contains(inspection.ownerId().orElseThrow()), "a secret");
    lease.release();
    Await.until("it is free", () -> inspect("held").held() == Held.NO);
    assertEquals("free", line(inspect("held"), 0));
  }

  @Test
  void inspectionChangesNothingOnAnyMaster() throws Exception {
    Lease lease = onAllMasters("held");
    List<List<String>> keys = new ArrayList<>();
    servers.forEach(server -> keys.add(server.keys("*")));
    servers.forEach(server -> server.command("CONFIG", "RESETSTAT"));
    long leftBefore = (Long) servers.get(0).command("PTTL", "held");
    for (int i = 0; i < 20; i++) {
      inspect("held");
      assertEquals(Held.NO, inspect("never locked").held());
    }
    List<List<String>> after = new ArrayList<>();
    servers.forEach(server -> after.add(server.keys("*")));
    assertEquals(keys, after);
    assertTrue((Long) servers.get(0).command("PTTL", "held") <= leftBefore);
    for (RedisServer server : servers) {
      String commands = String.valueOf(server.command("INFO", "commandstats"));
      assertFalse(
          commands.matches("(?s).*cmdstat_(set|del|pexpire|zadd|zrem|publish):.*"), commands);
    }
    assertTrue(lease.isValid());
  }

  @Test
  void fairWaitersAreListedByTheirLabelsInTheirOrder() throws Exception {
    onAllMasters("queue");
    List<Redlock> waiters = new ArrayList<>();
    List<CompletableFuture<AcquireResult>> calls = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      Redlock waiter = connect("waiter-" + i);
      waiters.add(waiter);
      calls.add(
          waiter.acquireAsync(LeaseRequest.of("queue", TTL).waitUpTo(TTL.multipliedBy(3)).fair()));
      int count = i + 1;
      Await.until(
          "it waits everywhere",
          () -> inspect("queue").nodes().stream().allMatch(node -> node.waiting() == count));
    }
    Inspection inspection = inspect("queue");
    for (Node node : inspection.nodes()) {
      assertEquals(List.of("waiter-0", "waiter-1", "waiter-2"), node.waiters());
      assertTrue(node.detail().endsWith(" by " + HOLDER + ", 3 waiting"), node::toString);
    }
    calls.forEach(call -> call.cancel(true));
    Await.until(
        "all have left",
        () -> inspect("queue").nodes().stream().allMatch(node -> node.waiting() == 0));
    waiters.forEach(Redlock::close);
  }

  @Test
  void longQueueIsCountedAndCut() throws Exception {
    long untilMillis = System.currentTimeMillis() + 600_000;
    for (RedisServer server : servers) {
      List<String> queue = new ArrayList<>(List.of("ZADD", "redlock:queue:long"));
      List<String> ends = new ArrayList<>(List.of("ZADD", "redlock:ends:long"));
      for (int i = 0; i < 1_500; i++) {
        String waiter = "w-" + i + "/0123456789abcdef0123456789abcdef:1";
        queue.addAll(List.of(Integer.toString(i), waiter));
        ends.addAll(List.of(Long.toString(i < 5 ? 1 : untilMillis), waiter));
      }
      server.command(queue.toArray(String[]::new));
      server.command(ends.toArray(String[]::new));
    }
    Node node = inspect("long").nodes().get(0);
    assertEquals(1_000, node.waiting());
    List<String> first = Stream.iterate(5, i -> i + 1).limit(20).map(i -> "w-" + i).toList();
    assertEquals(first, node.waiters(), "those whose tickets have expired are left out");
  }

  @Test
  void hungMasterDelaysAnInspectionByANodeTimeoutAndIsNamed() throws Exception {
    onAllMasters("held");
    servers.get(0).pause();
    Inspection inspection = inspect("held");
    assertEquals(Held.YES, inspection.held(), inspection::toString);
    assertEquals(Answer.NONE, inspection.nodes().get(0).answer());
    assertTrue(
        line(inspection, 0).matches("no answer in \\d\\.\\ds|not sent in time|silent for .*"),
        inspection::toString);
    Await.until("it is silent", () -> operator.operations().nodes().get(0).state() == State.SILENT);
    assertEquals("silent for more than 4000ms", line(inspect("held"), 0));
    servers.get(0).resume();
    Await.until("it answers again", () -> inspect("held").nodes().get(0).answer() != Answer.NONE);
  }

  @Test
  void masterThatLostItsDataIsNoWitnessThatTheResourceIsFree() throws Exception {
    onAllMasters("held");
    servers.get(2).command("DEL", "held");
    assertEquals(Held.YES, inspect("held").held());
    servers.get(1).command("FLUSHALL");
    Inspection inspection = inspect("held");
    assertEquals(Held.UNKNOWN, inspection.held(), inspection::toString);
    assertEquals(Answer.DOUBTFUL, inspection.nodes().get(1).answer());
    Await.until(
        "it abstains", () -> operator.operations().nodes().get(1).state() == State.ABSTAINING);
    Inspection later = inspect("held");
    assertEquals(Answer.FREE, later.nodes().get(2).answer());
    assertTrue(line(later, 1).startsWith("free, but abstains: "), later::toString);
    assertEquals(Held.UNKNOWN, later.held(), later::toString);
  }

  @Test
  void keyOfAnotherClientOrVersionIsCalledWhatItIs() throws Exception {
    String unlabelled = "0123456789abcdef0123456789abcdef";
    List<String> values = List.of(unlabelled, "3;v9 a value with blanks", "x".repeat(100_000));
    for (int node = 0; node < 3; node++) {
      servers.get(node).command("SET", "foreign", values.get(node), "PX", "20000");
    }
    Inspection inspection = inspect("foreign");
    assertEquals(Held.NO, inspection.held(), "three owners, one key each");
    assertTrue(line(inspection, 0).endsWith(" by a client without a label"), "" + inspection);
    String other = " by another Redlock client, or another version of this one";
    assertTrue(line(inspection, 1).endsWith(other), inspection::toString);
    assertTrue(line(inspection, 2).endsWith(other), inspection::toString);
    assertTrue(
        inspection.nodes().get(2).ownerId().orElseThrow().startsWith("sha1:"), "no answer is long");
    assertFalse(inspection.toString().contains("blanks"), "values are not shown");

    servers.forEach(server -> server.command("SET", "foreign", values.get(1)));
    Inspection held = inspect("foreign");
    assertEquals(Held.YES, held.held());
    assertEquals(Optional.empty(), held.holder());
    assertEquals(Optional.empty(), held.remaining(), "it has no end");
    assertEquals(OptionalLong.empty(), held.token());
    assertTrue(line(held, 0).startsWith("held without limit by another"), held::toString);
  }

  @Test
  void keyOfAnotherTypeAndForeignCounterAreNamedAndHarmNoNode() throws Exception {
    servers.get(0).command("HSET", "odd", "field", "value");
    servers.get(1).command("SET", "redlock:fence:odd", "not a number");
    servers.get(2).command("SET", "redlock:ends:odd", "no sorted set");
    Inspection inspection = inspect("odd");
    assertTrue(
        line(inspection, 0).contains("a key of another application has this name"),
        "" + inspection);
    assertTrue(
        line(inspection, 1).contains("redlock:fence:<key> holds no counter"), "" + inspection);
    assertTrue(line(inspection, 2).contains("redlock:ends:<key>"), inspection::toString);
    assertEquals(Held.UNKNOWN, inspection.held());
    operator
        .operations()
        .nodes()
        .forEach(node -> assertEquals(State.UP, node.state(), node::toString));
  }

  @Test
  void userWithoutTheRightToReadQueuesHasNoFaultyNode() throws Exception {
    onAllMasters("held");
    servers.get(0).command("ACL", "SETUSER", "default", "-zrange", "-zrangebyscore");
    assertTrue(line(inspect("held"), 0).endsWith(" by " + HOLDER), "nobody waits");
    servers.get(0).command("ZADD", "redlock:ends:held", "9999999999999", "x:1");
    assertTrue(line(inspect("held"), 0).contains("allow it with ACL SETUSER"), "it says so");
    assertEquals(State.UP, operator.operations().nodes().get(0).state());
  }

  @Test
  void replicaIsNoWitness() throws Exception {
    onAllMasters("held");
    servers.get(0).command("REPLICAOF", "127.0.0.1", "1");
    Await.until(
        "it is refused", () -> operator.operations().nodes().get(0).state() == State.MISCONFIGURED);
    Inspection inspection = inspect("held");
    assertEquals(Answer.NONE, inspection.nodes().get(0).answer());
    assertTrue(line(inspection, 0).contains("it is a replica"), inspection::toString);
  }
}
