package io.redlock.cli;

import static io.redlock.testbed.Results.assertExtended;
import static io.redlock.testbed.Results.assertLost;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.AcquireResult;
import io.redlock.Lease;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import io.redlock.jedis.JedisRedlock;
import io.redlock.testbed.Await;
import io.redlock.testbed.RedisServer;
import io.redlock.testbed.RedisServers;
import io.redlock.testbed.RequiresRedis;
import io.redlock.testkit.GateProxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** {@code free} as a subcommand. */
@RequiresRedis
@Tag("servers")
@Execution(ExecutionMode.CONCURRENT)
class FreeCommandTest {

  /** Longer than commands take on a machine that stands still for a while. */
  private static final Duration TTL = Duration.ofMinutes(10);

  private static final Duration MAX_TTL = Duration.ofHours(1);

  private RedisServers servers;
  private Redlock redlock;

  @BeforeEach
  void start() {
    servers = RedisServers.startBrandNew(3);
    redlock =
        JedisRedlock.builder()
            .node(nodes())
            .keyPrefix("locks:")
            .holder("billing@pod-7:4211")
            .nodeTimeout(Duration.ofSeconds(5))
            .maxTtl(MAX_TTL)
            .restartGuard(false)
            .build();
  }

  @AfterEach
  void stop() {
    redlock.close();
    servers.close();
  }

  private String nodes() {
    return String.join(",", servers.addresses());
  }

  private Map<String, String> settings() {
    return Map.of(
        "REDLOCK_NODES",
        nodes(),
        "REDLOCK_KEY_PREFIX",
        "locks:",
        "REDLOCK_HOLDER",
        "ops@host",
        "REDLOCK_NODE_TIMEOUT",
        "5s",
        "REDLOCK_MAX_TTL",
        "1h",
        "REDLOCK_RESTART_GUARD",
        "false");
  }

  private static String printed(int exitCode, Map<String, String> settings, String... arguments) {
    return CommandRun.of(settings, arguments).assertExit(exitCode).output();
  }

  private static void assertContains(String part, String text) {
    assertTrue(text.contains(part), text);
  }

  @Test
  void resourceIsSetFreeAndTheOutputSaysUntilWhenToWait() throws Exception {
    Lease lease = redlock.acquire("orders/42", TTL);
    String printed = printed(0, settings(), "free", "orders/42");
    assertContains("set free, held for ", printed);
    assertContains(" more by billing@pod-7:4211", printed);
    assertContains("orders/42 is set free: it can be acquired again in ", printed);
    assertLost(lease.extend(TTL));
    AcquireResult refused = redlock.tryAcquire("orders/42", TTL);
    assertEquals("freed by ops@host", refused.holder().orElseThrow());
    assertContains("freed by ops@host, held for ", printed(0, settings(), "free", "orders/42"));
  }

  @Test
  void tokenProtectsALaterHolder() throws Exception {
    Lease lease = redlock.acquire("orders/42", TTL);
    long wrong = lease.fencingToken() - 1;
    String printed = printed(120, settings(), "free", "--token=" + wrong, "orders/42");
    assertContains("orders/42 was not set free: it is held, but not at token " + wrong, printed);
    assertContains(", at token " + lease.fencingToken(), printed);
    assertExtended(lease.extend(TTL));
    String right = Long.toString(lease.fencingToken());
    assertContains(" is set free", printed(0, settings(), "free", "orders/42", "--token", right));
    assertLost(lease.extend(TTL));
  }

  /** Failed attempts bury their tokens on masters whose answers they did not wait for. */
  @Test
  void tokenOfTheHolderIsKnownAndComparedWhileOthersWait() throws Exception {
    Lease lease = redlock.acquire("orders/42", TTL);
    String token = Long.toString(lease.fencingToken());
    for (RedisServer late : servers) {
      late.pause();
      redlock.acquireAsync(LeaseRequest.of("orders/42", TTL)).join();
      late.resume();
      Await.until(
          "the attempt has buried its token",
          () -> !token.equals(late.command("GET", "redlock:fence:locks:orders/42")));
    }
    assertContains(", token " + token, printed(120, settings(), "status", "orders/42"));
    assertContains(token, printed(0, settings(), "list"));
    assertContains(" is set free", printed(0, settings(), "free", "orders/42", "--token", token));
    assertLost(lease.extend(TTL));
  }

  /** The holder has its lease on the first master, which restarts empty, and on the second. */
  @Test
  void masterWithoutItsDataDoesNotProveThatNobodyHoldsIt() throws Exception {
    redlock.close();
    servers.forEach(server -> server.command("FLUSHALL"));
    servers.adopt(builder -> builder.maxTtl(MAX_TTL));
    List<GateProxy> ways = new ArrayList<>();
    servers.forEach(server -> ways.add(GateProxy.to(server)));
    redlock =
        JedisRedlock.builder()
            .node(String.join(",", ways.stream().map(GateProxy::address).toList()))
            .keyPrefix("locks:")
            .nodeTimeout(Duration.ofSeconds(5))
            .maxTtl(MAX_TTL)
            .build();
    Lease lease = redlock.acquire("orders/42", TTL);
    Await.until("all hold it", () -> servers.get(2).command("GET", "locks:orders/42") != null);
    ways.forEach(way -> way.requests().hold()); // its holder hangs
    servers.get(2).command("DEL", "locks:orders/42", "redlock:fence:locks:orders/42");
    servers.get(0).kill();
    servers.get(0).restart();
    String[] seen = servers.addresses();
    seen[1] = "127.0.0.1:1";
    Map<String, String> settings = new HashMap<>(settings());
    settings.put("REDLOCK_NODES", String.join(",", seen));
    settings.put("REDLOCK_RESTART_GUARD", "true");
    String printed = printed(121, settings, "free", "orders/42");
    assertContains("orders/42 may still be held", printed);
    assertContains("127.0.0.1:" + servers.get(0).port(), printed);
    assertTrue(lease.isValid());
    ways.forEach(GateProxy::close);
  }

  @Test
  void otherOutcomesHaveTheirSentenceAndExitCode() throws Exception {
    assertContains("free-one is not held", printed(0, settings(), "free", "free-one"));
    servers.forEach(server -> server.command("SET", "locks:forever", "another application"));
    assertContains("its key has no end", printed(120, settings(), "free", "forever"));
    Lease lease = redlock.acquire("orders/42", TTL);
    servers.get(0).kill();
    servers.get(1).kill();
    assertContains("too few masters answered", printed(121, settings(), "free", "orders/42"));
    assertTrue(lease.isValid());
  }

  @Test
  void wrongUsageShowsNoPassword() throws Exception {
    for (String[] wrong :
        new String[][] {
          {"free"},
          {"free", "a", "b", "--nodes=127.0.0.1:1"},
          {"free", "a"},
          {"free", "a", "--token=x", "--nodes=127.0.0.1:1"},
          {"free", "a", "--token=0", "--nodes=127.0.0.1:1"},
          {"free", "a", "--node=redis://app:geheim@nowhere"},
          {"free", " ", "--nodes=127.0.0.1:1"},
          {"free", "a", "--nodes=redis://app:geheim@nowhere"}
        }) {
      String printed = printed(123, Map.of(), wrong);
      assertTrue(printed.lines().anyMatch(line -> line.startsWith("redlock: ")), printed);
      assertFalse(printed.contains("geheim"), printed);
    }
  }
}
