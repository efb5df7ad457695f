package io.redlock.trust;

import static io.redlock.testbed.Results.assertAcquired;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.NodeStatus.State;
import io.redlock.Redlock;
import io.redlock.jedis.AdoptReport;
import io.redlock.jedis.AdoptReport.Node;
import io.redlock.jedis.AdoptReport.Outcome;
import io.redlock.jedis.JedisRedlock;
import io.redlock.testbed.Await;
import io.redlock.testbed.RedisServer;
import io.redlock.testbed.RedisServers;
import io.redlock.testkit.GateProxy;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** Which masters an operator can vouch for. */
@Tag("server-version")
@Execution(ExecutionMode.CONCURRENT)
class AdoptTest {

  private static final Duration TTL = Duration.ofSeconds(10);

  @AutoClose private final RedisServers servers = RedisServers.startBrandNew(3);

  private AdoptReport adopt() {
    return builder().silenceTimeout(Duration.ofMinutes(1)).adopt();
  }

  private static List<Outcome> outcomes(AdoptReport report) {
    return report.nodes().stream().map(Node::outcome).toList();
  }

  private String name(int node) {
    return "127.0.0.1:" + servers.get(node).port();
  }

  private void assertUnmarked(int... nodes) {
    for (int node : nodes) {
      assertEquals(List.of(), servers.get(node).keys("redlock:birth"));
    }
  }

  private JedisRedlock.Builder builder() {
    return JedisRedlock.builder()
        .node(String.join(",", servers.addresses()))
        .nodeTimeout(Duration.ofSeconds(4));
  }

  private Redlock connect() {
    return builder().build();
  }

  private void assertGrantsAtOnce() throws InterruptedException {
    try (Redlock redlock = connect()) {
      assertAcquired(redlock.tryAcquire("a", TTL));
    }
  }

  @Test
  void brandNewMastersGrantAtOnce() throws Exception {
    AdoptReport report = adopt();
    assertTrue(report.isComplete());
    assertEquals(List.of(Outcome.ADOPTED, Outcome.ADOPTED, Outcome.ADOPTED), outcomes(report));
    assertTrue(report.toString().startsWith("127.0.0.1:" + servers.get(0).port() + " ADOPTED"));
    assertGrantsAtOnce();
  }

  @Test
  void mastersThatClientsHaveMetButNotUsedCanStillBeAdopted() throws Exception {
    try (Redlock early = connect()) {
      Await.until(
          "all abstain",
          () ->
              early.operations().nodes().stream()
                  .allMatch(node -> node.state() == State.ABSTAINING));
      assertTrue(adopt().isComplete());
      Await.until(
          "all vote",
          () -> early.operations().nodes().stream().allMatch(node -> node.state() == State.UP));
      assertAcquired(early.tryAcquire("a", TTL));
    }
  }

  @Test
  void adoptingOnceMoreChangesNothing() throws Exception {
    adopt();
    assertGrantsAtOnce();
    Object mark = servers.get(0).command("GET", "redlock:birth");
    AdoptReport again = adopt();
    assertTrue(again.isComplete());
    assertTrue(outcomes(again).stream().allMatch(Outcome.ALREADY_TRUSTED::equals));
    assertEquals(mark, servers.get(0).command("GET", "redlock:birth"));
  }

  @Test
  void adoptionThatStoppedHalfWayCanBeRepeated() throws Exception {
    adopt();
    for (RedisServer server : servers) {
      String mark = String.valueOf(server.command("GET", "redlock:birth"));
      server.command("SET", "redlock:birth", mark.replace(" founded ", " founding "));
    }
    servers.get(1).command("FLUSHALL");
    assertEquals(List.of(Outcome.ADOPTED, Outcome.ADOPTED, Outcome.ADOPTED), outcomes(adopt()));
    assertGrantsAtOnce();
  }

  @Test
  void masterThatLostItsDataCannotBeAdoptedAmongOthersInUse() throws Exception {
    adopt();
    assertGrantsAtOnce();
    servers.get(1).restart();
    AdoptReport report = adopt();
    assertFalse(report.isComplete());
    List<Outcome> refused =
        List.of(Outcome.ALREADY_TRUSTED, Outcome.REFUSED, Outcome.ALREADY_TRUSTED);
    assertEquals(refused, outcomes(report));
    assertTrue(report.toString().contains("lost its data"), report::toString);
    assertUnmarked(1);
    try (Redlock redlock = connect()) {
      Await.until("it is marked", () -> !servers.get(1).keys("redlock:birth").isEmpty());
      report = adopt();
      assertEquals(refused, outcomes(report));
      assertTrue(report.toString().contains("new among nodes in use"), report::toString);
      assertEquals(State.ABSTAINING, redlock.operations().nodes().get(1).state());
    }
  }

  @Test
  void masterThatWasRestartedFromADumpCannotBeAdopted() {
    adopt();
    for (int node = 0; node < 3; node++) {
      servers.get(node).command("SAVE");
      servers.get(node).restart();
    }
    AdoptReport report = adopt();
    assertTrue(outcomes(report).stream().allMatch(Outcome.REFUSED::equals), report::toString);
    assertTrue(report.toString().contains("lost its data"), report::toString);
  }

  @Test
  void masterThatHoldsKeysOfLocksCannotBeAdoptedNorCanTheOthers() {
    servers.get(2).command("SET", "redlock:fence:a", "17");
    AdoptReport report = adopt();
    assertEquals(
        List.of(Outcome.LEFT_ALONE, Outcome.LEFT_ALONE, Outcome.REFUSED), outcomes(report));
    assertTrue(report.toString().contains("for example redlock:fence:a"), report::toString);
    assertUnmarked(0, 1, 2);
  }

  @Test
  void withAKeyPrefixKeysThatBeginWithItAreKeysOfLocks() {
    servers.get(2).command("SET", "[locks]*1", "somebody");
    servers.get(1).command("SET", "locks", "of another application");
    AdoptReport report =
        JedisRedlock.builder()
            .node(String.join(",", servers.addresses()))
            .keyPrefix("[locks]*")
            .silenceTimeout(Duration.ofMinutes(1))
            .adopt();
    assertEquals(
        List.of(Outcome.LEFT_ALONE, Outcome.LEFT_ALONE, Outcome.REFUSED), outcomes(report));
    assertUnmarked(0, 1, 2);
    assertTrue(adopt().isComplete(), "without the prefix they are another application's");
  }

  @Test
  void keysOfOtherApplicationsAreNoHindrance() {
    for (int i = 0; i < 3_000; i++) {
      servers.get(0).command("SET", "key-" + i, "value"); // more than one page
    }
    assertTrue(adopt().isComplete());
  }

  @Test
  void nothingIsAdoptedWhileAMasterIsDown() {
    servers.get(1).kill();
    AdoptReport report = adopt();
    assertEquals(List.of(Outcome.REFUSED, Outcome.UNREACHABLE, Outcome.REFUSED), outcomes(report));
    assertTrue(report.toString().contains("refused connection"), report::toString);
    assertUnmarked(0, 2);
  }

  @Test
  void sameServerTwiceCannotBeAdopted() {
    try (GateProxy proxy = GateProxy.to(servers.get(0))) {
      AdoptReport report =
          JedisRedlock.adopt(servers.get(0).address(), servers.get(1).address(), proxy.address());
      assertEquals(
          List.of(Outcome.LEFT_ALONE, Outcome.LEFT_ALONE, Outcome.REFUSED), outcomes(report));
      assertTrue(report.toString().contains("same server as node"), report::toString);
      assertUnmarked(0, 1);
    }
  }

  @Test
  void adoptionIsForTheWholeDeployment() {
    assertTrue(JedisRedlock.adopt(servers.get(0).address()).isComplete());
    AdoptReport report = adopt();
    assertTrue(
        report.toString().contains("is not the set of its masters, [" + name(0) + "]: foreign ["),
        report::toString);
    assertUnmarked(1, 2);
  }

  @Test
  void badAddressesAreReportedWithoutAskingAnybody() {
    String message =
        assertThrows(
                IllegalArgumentException.class,
                () -> JedisRedlock.adopt("redis://app:geheim@nowhere"))
            .getMessage();
    assertTrue(message.startsWith("cannot adopt: "), message);
    assertFalse(message.contains("geheim"), message);
    assertEquals(0, servers.get(0).keys("*").stream().filter(Objects::nonNull).count());
  }
}
