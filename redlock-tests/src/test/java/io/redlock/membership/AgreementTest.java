package io.redlock.membership;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.AcquireResult;
import io.redlock.Lease;
import io.redlock.LeaseEnd;
import io.redlock.LeaseEnd.Cause;
import io.redlock.NodeStatus;
import io.redlock.Redlock;
import io.redlock.jedis.JedisRedlock;
import io.redlock.jedis.deployment.DeploymentSettings;
import io.redlock.jedis.deployment.DeploymentSettings.Word;
import io.redlock.jedis.membership.MasterChange.Command;
import io.redlock.jedis.membership.MasterSet;
import io.redlock.jedis.membership.TrustRules;
import io.redlock.settings.Setting;
import io.redlock.testbed.Await;
import io.redlock.testbed.NodeView;
import io.redlock.testbed.RedisServer;
import io.redlock.testbed.RedisServers;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import redis.clients.jedis.exceptions.JedisDataException;

/** Which masters form the set, as an agreement that no client and no restart breaks. */
@Tag("servers")
@Execution(ExecutionMode.CONCURRENT)
class AgreementTest extends OperatedMasters {

  private static final Duration MAX_TTL = Duration.ofMillis(900);
  private static final Duration SKEW = Duration.ofMillis(200);

  /** Nothing but an audit asks for the facts of a server, section by section. */
  private static final int SECTIONS = 4;

  private final Map<Integer, Integer> asked = new TreeMap<>(); // how often, by the node

  AgreementTest() {
    super(MAX_TTL, SKEW);
  }

  /** The client audits its masters three times, is refused or abstains, and changes nothing. */
  private void assertKeptOut(Redlock client, String reason, int... nodes)
      throws InterruptedException {
    List<String> marks = marks();
    Map<Integer, Long> after = new TreeMap<>();
    for (int node : nodes) {
      after.put(node, audits(node) + 3L * SECTIONS * clients.size());
    }
    for (int node : nodes) {
      Await.until("it is audited", () -> audits(node) >= after.get(node));
      assertFalse(
          client.tryAcquire("a", MAX_TTL).outcome() == AcquireResult.Outcome.ACQUIRED,
          "a second holder");
    }
    assertEquals(marks, marks());
    String reasons =
        client.operations().nodes().stream().map(NodeStatus::reason).toList().toString();
    assertTrue(reasons.contains(reason), reasons);
  }

  private long audits(int node) {
    return servers.get(node).calls("info") - asked.merge(node, 1, Integer::sum); // this one
  }

  private static void awaitLease(Redlock client, Duration ttl) throws InterruptedException {
    client.acquire("a", ttl, PATIENCE).release();
  }

  // Clients that do not belong.

  @Test
  void clientThatWasForgottenInAChangeNeverComesBack() throws Exception {
    servers = RedisServers.startBrandNew(5);
    adopt(list(0, 1, 2));
    Redlock forgotten = client(list(0, 1, 2));
    awaitLease(forgotten);
    assertResized(list(0, 1, 2), list(0, 1, 2, 3, 4));
    for (int node = 0; node < 2; node++) { // with all data
      servers.get(node).command("SAVE");
      servers.get(node).restart();
    }
    assertKeptOut(forgotten, "is not the set of its masters", 0, 1, 2);
    Redlock moved = client(list(0, 1, 2, 3, 4));
    NodeView.awaitAllUp(moved);
    assertKeptOut(forgotten, "is not the set of its masters", 0, 1, 2);
    awaitLease(moved);
  }

  @Test
  void clientWithoutTheGuardMarksNoMasterOfAGuardedSet() throws Exception {
    servers = RedisServers.startBrandNew(3);
    adopt(list(0, 1, 2));
    Redlock unguarded = client(settings(list(0, 1, 2)).restartGuard(false));
    servers.get(0).restart();
    servers.get(1).restart();
    assertKeptOut(
        unguarded, "agreed on restartGuard(true), this client has restartGuard(false)", 0, 1, 2);
    NodeView.awaitAllUp(client(list(0, 1, 2)));
    assertKeptOut(unguarded, "restartGuard(true)", 0, 1, 2);
  }

  @Test
  void operatorChangesTheTermsOfAllClients() throws Exception {
    servers = RedisServers.startBrandNew(3);
    adopt(list(0, 1, 2));
    Duration longer = MAX_TTL.multipliedBy(2);
    Redlock before = client(list(0, 1, 2));
    NodeView.awaitAllUp(before);
    Redlock after = client(settings(list(0, 1, 2)).maxTtl(longer));
    assertKeptOut(after, "agreed on maxTtl 900ms, this client has maxTtl 1.8s", 0, 1, 2);
    awaitLease(before);
    DeploymentSettings operator = operator(list(0, 1, 2));
    operator.set(Setting.MAX_TTL, longer);
    assertTrue(operator.agree(Word.NONE, System.out::println));
    NodeView.awaitAllUp(after);
    awaitLease(after, longer);
    awaitLease(before);
    servers.get(1).command("SET", "redlock:fence:app/a", "1");
    servers.get(1).command("SET", "app/a", "somebody", "PX", "600000");
    List<String> marks = marks();
    assertFalse(operator(list(0, 1, 2)).agree(Word.NONE, saying()::println));
    assertTrue(said().strip().endsWith("or add --force: app/a"), this::said);
    assertEquals(marks, marks(), "nothing was written");
  }

  // Lost data.

  @Test
  void masterThatEvictedKeysAbstainsThoughItsPolicyIsFixed() throws Exception {
    Await.inTime(MAX_TTL.multipliedBy(2), this::assertAbstainsAfterItEvicted);
  }

  private Void assertAbstainsAfterItEvicted(Duration maxTtl) throws Exception {
    servers = RedisServers.startBrandNew(3);
    JedisRedlock.Builder settings = settings(list(0, 1, 2)).maxTtl(maxTtl);
    assertTrue(settings.silenceTimeout(PATIENCE).adoptNew().isComplete());
    Redlock holder = client(settings(list(0, 1, 2)).maxTtl(maxTtl));
    NodeView.awaitAllUp(holder);
    Lease lease = holder.acquire("a", maxTtl, PATIENCE);
    holder.close(); // without letting go of what it holds for others to see
    servers.get(2).command("SET", "a", "somebody", "PX", "60000");
    for (int node = 0; node < 2; node++) {
      RedisServer full = servers.get(node);
      full.command("SET", "a", "somebody", "PX", "60000");
      full.command("CONFIG", "SET", "maxmemory-policy", "volatile-lru");
      full.command("CONFIG", "SET", "maxmemory", "1");
      try {
        full.command("SET", "x", "y");
      } catch (JedisDataException e) {
        assertTrue(e.getMessage().startsWith("OOM"), e::getMessage);
      }
      full.command("CONFIG", "SET", "maxmemory", "0");
      full.command("CONFIG", "SET", "maxmemory-policy", "noeviction");
      assertEquals(List.of(), full.keys("a"), "evicted");
    }
    Redlock rival = client(settings(list(0, 1, 2)).maxTtl(maxTtl));
    assertFalse(
        rival.tryAcquire("a", maxTtl).outcome() == AcquireResult.Outcome.ACQUIRED,
        "beside " + lease);
    assertTrue(NodeView.reason(rival, 0).contains("its data is new"), rival::toString);
    NodeView.awaitAllUp(rival);
    return null;
  }

  @Test
  void leaseIsLostAtOnceOnlyIfMastersThatRefuseItsHolderHaveForgottenIt() throws Exception {
    servers = RedisServers.startBrandNew(4);
    Duration ttl = Duration.ofMinutes(1);
    JedisRedlock.Builder settings = settings(list(0, 1, 2)).maxTtl(ttl).silenceTimeout(PATIENCE);
    assertTrue(settings.adoptNew().isComplete());
    Redlock holder = client(settings(list(0, 1, 2)).maxTtl(ttl));
    NodeView.awaitAllUp(holder);
    CompletableFuture<LeaseEnd> end =
        holder.acquire("a", ttl, PATIENCE).ended().toCompletableFuture();
    for (boolean isKept : new boolean[] {true, false}) {
      for (int node = 0; node < 2; node++) {
        servers.get(node).command(isKept ? "EXISTS" : "DEL", "a");
        RedisServers.found(
            new MasterSet("q" + isKept, List.of(name(node), name(3))),
            TrustRules.of(true, ttl, 0, 0, "").terms(),
            servers.get(node));
        assertKeptOut(holder, "is not the set of its masters", node);
      }
      assertFalse(isKept && end.isDone(), "a reset alone is no loss");
    }
    assertEquals(Cause.REFUSED, Await.value("it is lost", end).cause());
  }

  // Changes of masters.

  @Test
  void oneMasterBecomesThreeInOneChange() throws Exception {
    servers = startSynced(3);
    adopt(list(0));
    assertResized(list(0), list(0, 1, 2));
    NodeView.awaitAllUp(client(list(0, 1, 2)));
  }

  @Test
  void countersOfAnyAgeAreCarriedPastKeysThatAreNone() throws Exception {
    servers = startSynced(6);
    adopt(list(0, 1, 2));
    String old = Long.toString((System.currentTimeMillis() - 600_000) * 1_000);
    servers.get(1).command("SET", "redlock:fence:old", old, "PX", "600000");
    servers.get(1).command("SET", "redlock:fence:word", "no number");
    servers.get(1).command("RPUSH", "redlock:fence:list", "7");
    assertDone(list(0, 1, 2), list(3, 4, 5), Command.PREPARE);
    assertDone(list(0, 1, 2), list(3, 4, 5), Command.COMMIT);
    assertTrue(said().contains("passed over redlock:fence:word, which is no counter"), this::said);
    assertTrue(said().contains("passed over redlock:fence:list, which is no counter"), this::said);
    for (int node = 3; node < 6; node++) {
      assertEquals(old, servers.get(node).command("GET", "redlock:fence:old"));
    }
  }

  @Test
  void rightsThatCommitNeedsAreMissedByPrepare() throws Exception {
    servers = startSynced(4);
    adopt(list(0, 1, 2));
    for (RedisServer server : servers) {
      server.command("ACL", "SETUSER", "ops", "on", ">x", "~*", "&*", "+@all", "-mget");
    }
    String present = list(0, 1, 2).replace("redis://", "redis://ops:x@");
    String future = list(0, 1, 3).replace("redis://", "redis://ops:x@");
    assertTrue(present.contains("ops:x@"), present);
    servers.get(1).command("ACL", "SETUSER", "ops", "-scan");
    assertRefused(Command.PREPARE, present, future, "+scan");
    servers.get(1).command("ACL", "SETUSER", "ops", "+scan");
    assertResized(present, future);
  }
}
