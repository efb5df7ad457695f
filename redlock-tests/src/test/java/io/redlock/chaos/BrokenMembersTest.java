package io.redlock.chaos;

import static io.redlock.chaos.BrokenClientsTest.awaitLocked;
import static io.redlock.chaos.BrokenClientsTest.invariants;
import static io.redlock.chaos.BrokenClientsTest.play;
import static io.redlock.chaos.BrokenClientsTest.resize;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.chaos.ChaosMasters.Known;
import io.redlock.chaos.client.Variant;
import io.redlock.chaos.history.HistoryVerdict;
import io.redlock.jedis.trust.BirthMark;
import io.redlock.jedis.trust.MasterChange.Command;
import io.redlock.simulation.SimInvariant;
import io.redlock.testbed.Await;
import io.redlock.testbed.ClockShim;
import io.redlock.testbed.RequiresRedis;
import io.redlock.testkit.GateProxy;
import java.time.Duration;
import java.util.List;
import java.util.function.BiConsumer;
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
@Execution(ExecutionMode.CONCURRENT) // they wait for leases to end
class BrokenMembersTest {

  private static final ChaosTerms TERMS =
      ChaosTerms.of(3, 2).nodeTimeout(Duration.ofSeconds(1)).maxTtl(Duration.ofSeconds(6));

  private static final ChaosTerms SWAPPED = TERMS.clients(1).masters(new ChaosMasters(3, 0, 3));

  /** It goes on trying while all masters restart with their data, and the others are away. */
  @Test
  void clientThatIsForgottenForEver() {
    caught("forgotten", SWAPPED, true, SimInvariant.I1, BrokenMembersTest::forget);
  }

  /** Masters that left do not know it any more. */
  private static void forget(ChaosDeployment deployment, boolean isBroken) {
    change(deployment, Command.PREPARE, Command.COMMIT, Command.FINISH);
    for (ChaosNode left : isBroken ? deployment.nodes.subList(0, 3) : List.<ChaosNode>of()) {
      left.server.command("DEL", BirthMark.KEY);
    }
    for (ChaosNode node : deployment.nodes) {
      node.dump();
      node.restartFromDump();
    }
    ClientProcess future = deployment.start(Known.FUTURE);
    future.awaitReady();
    future.acquire("r0 6000 30000");
    assertEquals(isBroken, deployment.client(0).tryAcquire("r0 6000 4000"));
    look(future, deployment.client(0));
  }

  /** Two masters evict a lock while they are refused for it, and have the right policy at once. */
  @Test
  void keysThatAreEvictedBeforeThePolicyIsFixed() {
    caught(
        "evicted",
        TERMS.maxTtl(Duration.ofSeconds(20)),
        true,
        SimInvariant.I1,
        BrokenMembersTest::evict);
  }

  /** The mark allows for any number of evicted keys. */
  private static void evict(ChaosDeployment deployment, boolean isBroken) {
    List<ChaosNode> struck = deployment.nodes.subList(0, 2);
    deployment.client(0).acquire("r0 20000 0");
    awaitLocked(deployment, 0);
    awaitLocked(deployment, 1);
    struck.forEach(ChaosNode::evict);
    Await.until(
        "both clients refuse both masters",
        Duration.ofSeconds(20),
        () ->
            deployment
                    .soFar()
                    .of("node")
                    .filter(event -> event.text("state").equals("MISCONFIGURED"))
                    .map(event -> event.actor() + event.text("name"))
                    .distinct()
                    .count()
                == 4);
    for (ChaosNode node : isBroken ? struck : List.<ChaosNode>of()) {
      rewrite(node, "(founding|founded) \\d+ ", "$1 999999 ");
    }
    struck.forEach(ChaosNode::evictLocks);
    assertEquals(isBroken, deployment.client(1).tryAcquire("r0 20000 6000"));
    look(deployment.client(0), deployment.client(1));
  }

  /** Tokens come from the clocks, which are wrong when the new masters get their first leases. */
  @Test
  void clocksThatAreSetBackAfterTheCommit() {
    Assumptions.assumeTrue(ClockShim.obstacle().isEmpty(), ClockShim::obstacle);
    ChaosTerms terms = SWAPPED.maxTtl(Duration.ofSeconds(3));
    caught("set-back", terms, false, SimInvariant.I3, BrokenMembersTest::setBack);
  }

  /** The new masters do not know the counters. */
  private static void setBack(ChaosDeployment deployment, boolean isBroken) {
    deployment.client(0).acquire("r0 3000 9000");
    deployment.client(0).release();
    change(deployment, Command.PREPARE, Command.COMMIT);
    for (ChaosNode node : isBroken ? deployment.nodes.subList(3, 6) : List.<ChaosNode>of()) {
      node.server.command("DEL", "redlock:fence:r0");
    }
    deployment.nodes.forEach(node -> node.setClock(Duration.ofSeconds(-120)));
    ClientProcess future = deployment.start(Known.FUTURE);
    future.awaitReady();
    future.acquire("r0 3000 30000");
    future.release();
  }

  /** For longer than masters abstain, other servers answer at the addresses of two masters. */
  @Test
  void serversThatComeBackToTheirAddresses() {
    caught("swapped", TERMS, true, SimInvariant.I1, BrokenMembersTest::swap);
  }

  /** The servers look like third ones when they come back, with marks that are theirs. */
  private static void swap(ChaosDeployment deployment, boolean isBroken) {
    try (ChaosNode first = new ChaosNode("x0", false, deployment.journal);
        ChaosNode second = new ChaosNode("x1", false, deployment.journal)) {
      lead(deployment.clients, List.of(first, second));
      List<ChaosNode> away = deployment.nodes.subList(0, 2);
      for (ChaosNode node : isBroken ? away : List.<ChaosNode>of()) {
        node.dump();
        node.restartFromDump();
        String info = String.valueOf(node.server.command("INFO", "everything"));
        String its = info.replaceFirst("(?s).*run_id:(\\w+).*master_replid:(\\w+).*", "4 $1 $2");
        rewrite(node, "^4 \\w+ \\w+", its);
      }
      deployment.client(0).acquire("r0 6000 30000");
      for (GateProxy link : deployment.clients.get(0).links) { // else it would join them at once
        link.requests().hold();
        link.replies().hold();
      }
      lead(deployment.clients.subList(1, 2), away);
      assertEquals(isBroken, deployment.client(1).tryAcquire("r0 6000 4000"));
      deployment.client(0).look();
      lead(deployment.clients, away);
      deployment.clients.get(0).links.get(2).cut();
      look(deployment.client(0), deployment.client(1));
    }
  }

  private static void lead(List<ChaosClient> clients, List<ChaosNode> servers) {
    for (ChaosClient client : clients) {
      for (int node = 0; node < servers.size(); node++) {
        client.links.get(node).leadTo(servers.get(node).server);
      }
    }
  }

  private static void change(ChaosDeployment deployment, Command... commands) {
    for (Command command : commands) {
      assertTrue(resize(deployment, command, true), command::toString);
    }
  }

  private static void rewrite(ChaosNode node, String part, String by) {
    String mark = String.valueOf(node.server.command("GET", BirthMark.KEY));
    String other = mark.replaceFirst(part, by);
    assertNotEquals(mark, other);
    node.server.command("SET", BirthMark.KEY, other);
  }

  private static void look(ClientProcess holder, ClientProcess other) {
    holder.look();
    other.releaseIfHeld();
    holder.release();
  }

  private static void caught(
      String name,
      ChaosTerms terms,
      boolean keepsTime,
      SimInvariant expected,
      BiConsumer<ChaosDeployment, Boolean> scene) {
    HistoryVerdict sound =
        play(
            "members-" + name,
            terms,
            Variant.NONE,
            keepsTime,
            deployment -> scene.accept(deployment, false));
    assertEquals(List.of(), sound.findings(), "with nothing broken");
    HistoryVerdict broken =
        play(
            "broken-members-" + name,
            terms,
            Variant.NONE,
            keepsTime,
            deployment -> scene.accept(deployment, true));
    assertTrue(invariants(broken).contains(expected), broken::toString);
  }
}
