package io.redlock.chaos;

import static io.redlock.chaos.ChaosScene.caught;
import static io.redlock.simulation.SimInvariant.I1;
import static io.redlock.simulation.SimInvariant.I3;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.chaos.ChaosMasters.Known;
import io.redlock.jedis.deployment.DeploymentSettings.Word;
import io.redlock.jedis.membership.BirthMark;
import io.redlock.jedis.membership.MasterChange.Command;
import io.redlock.testbed.AgainIfItStoodStill;
import io.redlock.testbed.Await;
import io.redlock.testbed.ClockShim;
import io.redlock.testbed.RequiresRedis;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/**
 * What may become of the masters and of their set, on real servers. Each scene is without a finding
 * as it is, and the checker sees it when the masters break one rule.
 */
@RequiresRedis
@Tag("ci")
@Tag("chaos")
@AgainIfItStoodStill // some leases last for six seconds, or twenty
@Execution(ExecutionMode.CONCURRENT) // they wait for leases to end
class BrokenMembersTest {

  private static final ChaosTerms TERMS =
      ChaosTerms.of(3, 2).nodeTimeout(Duration.ofSeconds(1)).maxTtl(Duration.ofSeconds(6));

  private static final ChaosTerms SWAPPED = TERMS.clients(1).masters(new ChaosMasters(3, 0, 3));

  /** It goes on trying while all masters restart with their data, and the others are away. */
  @Test
  void clientThatIsForgottenForEver() {
    caught("forgotten", SWAPPED, Set.of(I1), BrokenMembersTest::forget);
  }

  /** Masters that left serve their former clients again. */
  private static void forget(ChaosScene scene) {
    change(scene, Command.PREPARE, Command.COMMIT, Command.FINISH);
    for (ChaosNode left : scene.breakers(0, 3)) {
      rewrite(left, " \\| (\\w+)=", " |$1| $1=");
    }
    for (ChaosNode node : scene.nodes) {
      node.dump();
      node.restartFromDump();
    }
    ClientProcess future = scene.start(Known.FUTURE);
    future.awaitReady();
    future.acquire("r0 6000 30000");
    assertEquals(scene.isBroken, scene.client(0).tryAcquire("r0 6000 4000"));
    look(future, scene.client(0));
  }

  /** A client was left behind, which still holds a lease when the new masters are opened. */
  @Test
  void commitThatDoesNotWait() {
    ChaosTerms terms = SWAPPED.maxTtl(Duration.ofSeconds(20)); // masters save before it would wait
    caught("commit", terms, Set.of(I1), BrokenMembersTest::straggle);
  }

  /** The operator opens the new masters at once. */
  private static void straggle(ChaosScene scene) {
    change(scene, Command.PREPARE);
    ClientProcess future = scene.start(Known.FUTURE);
    future.awaitReady();
    scene.client(0).acquire("r0 20000 9000");
    assertEquals(!scene.isBroken, isDone(scene, Command.COMMIT, !scene.isBroken));
    for (ChaosNode node : scene.breakers(3, 6)) {
      rewrite(node, "\\|(\\w+>(\\w+))\\|", "|$1|$2|");
    }
    future.acquire("r0 20000 40000");
    look(scene.client(0), future);
  }

  /** Two masters evict a lock while they are refused for it, and have the right policy at once. */
  @Test
  void keysThatAreEvictedBeforeThePolicyIsFixed() {
    ChaosTerms terms = TERMS.maxTtl(Duration.ofSeconds(20));
    caught("policy-fixed", terms, Set.of(I1), BrokenMembersTest::evict);
  }

  /** The mark allows for any number of evicted keys. */
  private static void evict(ChaosScene scene) {
    List<ChaosNode> struck = scene.nodes.subList(0, 2);
    scene.client(0).acquire("r0 20000 0");
    scene.awaitLocked();
    struck.forEach(ChaosNode::evict);
    Await.until(
        "both clients refuse both masters", Duration.ofSeconds(20), () -> refusals(scene) == 4);
    for (ChaosNode node : scene.breakers(0, 2)) {
      rewrite(node, "(founding|founded) \\d+ ", "$1 999999 ");
    }
    struck.forEach(ChaosNode::evictLocks);
    assertEquals(scene.isBroken, scene.client(1).tryAcquire("r0 20000 6000"));
    look(scene.client(0), scene.client(1));
  }

  private static long refusals(ChaosScene scene) {
    return scene
        .soFar()
        .of("node")
        .filter(event -> event.text("state").equals("MISCONFIGURED"))
        .map(event -> event.actor() + event.text("name"))
        .distinct()
        .count();
  }

  /** Tokens come from the clocks, which are wrong when the new masters get their first leases. */
  @Test
  void clocksThatAreSetBackAfterTheCommit() {
    Assumptions.assumeTrue(ClockShim.obstacle().isEmpty(), ClockShim::obstacle);
    ChaosTerms terms = SWAPPED.maxTtl(Duration.ofSeconds(3)).keepsTime(false);
    caught("set-back", terms, Set.of(I3), BrokenMembersTest::setBack);
  }

  /** The new masters do not know the counters. */
  private static void setBack(ChaosScene scene) {
    scene.client(0).acquire("r0 3000 9000");
    scene.client(0).release();
    change(scene, Command.PREPARE, Command.COMMIT);
    for (ChaosNode node : scene.breakers(3, 6)) {
      node.server.command("DEL", "redlock:fence:r0");
    }
    scene.nodes.forEach(node -> node.setClock(Duration.ofSeconds(-120)));
    ClientProcess future = scene.start(Known.FUTURE);
    future.awaitReady();
    future.acquire("r0 3000 30000");
    future.release();
  }

  /** For longer than masters abstain, other servers answer at the addresses of two masters. */
  @Test
  void serversThatComeBackToTheirAddresses() {
    caught("swapped", TERMS, Set.of(I1), BrokenMembersTest::swap);
  }

  /** The servers look like third ones when they come back, with marks that are theirs. */
  private static void swap(ChaosScene scene) {
    try (ChaosNode first = new ChaosNode("x0", false, scene.journal);
        ChaosNode second = new ChaosNode("x1", false, scene.journal)) {
      lead(scene.clients, List.of(first, second));
      List<ChaosNode> away = scene.nodes.subList(0, 2);
      for (ChaosNode node : scene.breakers(0, 2)) {
        node.dump();
        node.restartFromDump();
        String info = String.valueOf(node.server.command("INFO", "everything"));
        String its = info.replaceFirst("(?s).*run_id:(\\w+).*master_replid:(\\w+).*", "5 $1 $2");
        rewrite(node, "^5 \\w+ \\w+", its);
      }
      scene.client(0).acquire("r0 6000 30000");
      scene.isolateFirstClient(); // else it would join them at once
      lead(scene.clients.subList(1, 2), away);
      assertEquals(scene.isBroken, scene.client(1).tryAcquire("r0 6000 4000"));
      scene.client(0).look();
      lead(scene.clients, away);
      scene.links().get(2).cut();
      look(scene.client(0), scene.client(1));
    }
  }

  private static void lead(List<ChaosClient> clients, List<ChaosNode> servers) {
    for (ChaosClient client : clients) {
      for (int node = 0; node < servers.size(); node++) {
        client.links.get(node).leadTo(servers.get(node).server);
      }
    }
  }

  private static void change(ChaosScene scene, Command... commands) {
    for (Command command : commands) {
      assertTrue(isDone(scene, command, true), command::toString);
    }
  }

  /**
   * Runs a command; returns true if nothing is left to do.
   *
   * @param waits whether it may wait for leases to end; else it is interrupted there
   */
  private static boolean isDone(ChaosScene scene, Command command, boolean waits) {
    Consumer<String> out =
        line -> {
          if (!waits && line.startsWith("waiting")) {
            Thread.currentThread().interrupt();
          }
        };
    boolean isDone =
        scene
            .operatorSettings()
            .resize(command, new Word(List.of(), List.of(), Map.of(), true), out);
    return !Thread.interrupted() && isDone;
  }

  private static void rewrite(ChaosNode node, String part, String by) {
    String mark = String.valueOf(node.server.command("GET", BirthMark.KEY));
    String other = mark.replaceFirst(part, by);
    assertNotEquals(mark, other);
    node.server.command("SET", BirthMark.KEY, other, "KEEPTTL");
  }

  private static void look(ClientProcess holder, ClientProcess other) {
    holder.look();
    other.releaseIfHeld();
    holder.release();
  }
}
