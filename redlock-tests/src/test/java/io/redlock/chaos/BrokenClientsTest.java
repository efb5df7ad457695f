package io.redlock.chaos;

import static io.redlock.chaos.ChaosScene.invariants;
import static io.redlock.chaos.ChaosScene.play;
import static io.redlock.simulation.SimInvariant.I1;
import static io.redlock.simulation.SimInvariant.I2;
import static io.redlock.simulation.SimInvariant.I3;
import static io.redlock.simulation.SimInvariant.I5;
import static io.redlock.simulation.SimInvariant.I6;
import static io.redlock.simulation.SimInvariant.I8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.chaos.client.Variant;
import io.redlock.chaos.history.HistoryVerdict;
import io.redlock.simulation.SimInvariant;
import io.redlock.testbed.AgainIfItStoodStill;
import io.redlock.testbed.Await;
import io.redlock.testbed.RequiresRedis;
import io.redlock.testkit.GateProxy;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.function.Consumer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/**
 * Clients that break a rule, in processes of their own against real masters: the checker has to see
 * it. The same scene with sound clients has to be without a finding.
 */
@RequiresRedis
@Tag("ci")
@Tag("chaos")
@AgainIfItStoodStill // some leases last for three seconds
@Execution(ExecutionMode.CONCURRENT) // they wait for leases to end
class BrokenClientsTest {

  /** Generous, so that no scene is a matter of how fast the machine is. */
  private static final ChaosTerms TERMS =
      ChaosTerms.of(3, 1)
          .maxTtl(Duration.ofSeconds(20))
          .nodeTimeout(Duration.ofSeconds(5))
          .skew(Duration.ofSeconds(10));

  /** Where a lease of three seconds has to run out. */
  private static final ChaosTerms SHORT = TERMS.nodeTimeout(Duration.ofMillis(1_400));

  /** Two replies are late: the quorum is there long after the round began. */
  @Test
  void variant01CountsValidityFromTheEndOfTheRound() {
    caught(
        TERMS.broken(Variant.STAMPS_AT_THE_END),
        Set.of(I2),
        scene -> {
          List<GateProxy> late = scene.links().subList(0, 2);
          late.forEach(link -> link.replies().hold("r0"));
          scene.client(0).order("0 acquire r0 20000 0");
          late.forEach(link -> link.replies().awaitHeld("r0"));
          letPass(Duration.ofMillis(300));
          late.forEach(link -> link.replies().open());
          assertEquals("true", scene.client(0).outcome("0 acquire"));
          scene.client(0).release();
        });
  }

  /** An attempt fails, its release runs on a node, and the next one locks it for the same owner. */
  @Test
  void variant05UsesAnOwnerIdAgain() {
    caught(
        TERMS.broken(Variant.REUSES_OWNER_IDS),
        Set.of(I5),
        scene -> {
          for (int round = 0; round < 2; round++) {
            scene.client(0).acquire("r0 20000 0");
            scene.awaitLocked();
            scene.client(0).release();
            scene.awaitUnlocked();
          }
        });
  }

  /** A grant is executed, its reply is lost with the connection: the key has to go all the same. */
  @Test
  void variant06ReleasesOnlyWhereItWasToldYes() {
    caught(
        TERMS.broken(Variant.RELEASES_WHERE_GRANTED),
        Set.of(I5),
        scene -> {
          GateProxy link = scene.link(0, 2);
          link.replies().hold("r0");
          scene.client(0).acquire("r0 20000 0");
          link.replies().awaitHeld("r0");
          link.cut();
          scene.client(0).release();
        });
  }

  @Test
  void variant07LeavesNoTombstone() {
    caught(
        TERMS.broken(Variant.LEAVES_NO_TOMBSTONE),
        Set.of(I5),
        scene -> releaseBeforeTheGrant(scene, "r0 20000 0"));
  }

  /** An extend is held back until another holder has come and gone. */
  @Test
  void variant08ExtendsAKeyThatIsMissing() {
    caught(
        SHORT.clients(2).broken(Variant.EXTENDS_WHAT_IS_MISSING),
        Set.of(I8),
        scene -> {
          GateProxy link = scene.link(0, 2);
          scene.client(0).acquire("r0 3000 9000");
          scene.awaitLocked();
          scene.links().forEach(each -> each.requests().hold("r0"));
          scene.client(0).order("0 extend");
          link.requests().awaitHeld("r0");
          scene.awaitUnlocked();
          scene.client(1).acquire("r0 20000 9000");
          scene.awaitLocked();
          scene.client(1).release();
          scene.awaitUnlocked();
          link.requests().open();
          Await.until("the late extend has run", () -> answers(link) > 1);
          scene.links().forEach(each -> each.requests().open());
          scene.client(0).outcome("0 extend");
          scene.client(0).release();
        });
  }

  /** Two of the three masters that a holder rests on lose their data. */
  @Test
  void variant13LetsANodeVoteThatHasLostItsData() {
    caught(
        TERMS.clients(2).broken(Variant.KNOWS_NO_ABSTENTION),
        Set.of(I1, I6),
        scene -> {
          scene.client(0).acquire("r0 20000 0");
          // What it does not hear of, it goes on to believe: the first holder is cut off.
          scene.isolateFirstClient();
          for (ChaosNode node : scene.nodes.subList(0, 2)) {
            node.kill();
            node.restartEmpty();
          }
          scene.client(1).tryAcquire("r0 20000 4000");
          scene.client(0).look();
          scene.client(1).releaseIfHeld();
          scene.links().forEach(GateProxy::cut);
          scene.links().forEach(link -> link.requests().open());
          scene.client(0).release();
        });
  }

  /** A holder is stopped until its lease has gone to another, and then gives back what it had. */
  @Test
  void variant15ReleasesWhoeverHoldsTheLock() {
    caught(
        SHORT.clients(3).broken(Variant.RELEASES_ANYBODY),
        Set.of(I1),
        scene -> {
          scene.client(0).acquire("r0 3000 9000");
          scene.awaitLocked();
          scene.clients.get(0).pause();
          scene.awaitUnlocked();
          scene.client(1).acquire("r0 20000 9000");
          scene.awaitLocked();
          List<Integer> answered = scene.links().stream().map(BrokenClientsTest::answers).toList();
          scene.clients.get(0).resume();
          scene.client(0).release();
          scene.onEach(
              "the release of the lost lease has run",
              node -> answers(scene.link(0, node)) > answered.get(node));
          scene.client(2).tryAcquire("r0 20000 2000");
          scene.client(1).look();
          scene.client(1).release();
          scene.client(2).releaseIfHeld();
        });
  }

  @Test
  void readerThatLooksForNoWriterIsCaught() {
    caught(
        TERMS.clients(2).broken(Variant.READS_BESIDE_A_WRITER),
        Set.of(I1),
        scene -> {
          scene.client(0).acquire("r0 20000 0");
          scene.awaitLocked();
          scene.client(1).tryAcquire("r0 20000 0 shared");
          scene.client(0).look();
          scene.client(0).release();
          scene.client(1).releaseIfHeld();
        });
  }

  /** A reader's request is held back until a writer has come and gone. */
  @Test
  void readerThatPassesALaterWriterIsCaught() {
    caught(
        TERMS.clients(2).broken(Variant.READS_BELOW_A_WRITER),
        Set.of(I8),
        scene -> {
          scene.links().forEach(each -> each.requests().hold("r0"));
          scene.client(0).order("0 acquire r0 20000 0 shared");
          scene.links().forEach(each -> each.requests().awaitHeld("r0"));
          scene.client(1).acquire("r0 20000 0");
          scene.awaitLocked();
          scene.client(1).release();
          scene.awaitUnlocked();
          scene.links().forEach(each -> each.requests().open());
          if (scene.client(0).outcome("0 acquire").equals("true")) {
            scene.client(0).release();
          }
        });
  }

  @Test
  void readerThatReleasesForAllIsCaught() {
    caught(
        TERMS.clients(3).broken(Variant.RELEASES_ALL_READERS),
        Set.of(I1),
        scene -> {
          for (int reader = 0; reader < 2; reader++) {
            scene.client(reader).acquire("r0 20000 0 shared");
            awaitReaders(scene, reader + 1);
          }
          scene.client(0).release();
          awaitReaders(scene, 1);
          scene.client(2).tryAcquire("r0 20000 0");
          scene.client(1).look();
          scene.client(1).release();
          scene.client(2).releaseIfHeld();
        });
  }

  @Test
  void readerThatIsNotBuriedIsCaught() {
    caught(
        TERMS.broken(Variant.BURIES_NO_READER),
        Set.of(I5),
        scene -> {
          scene.client(0).acquire("r1 20000 0 shared");
          Await.until("n2 knows the script", () -> !scene.owner(2, "r1").isEmpty());
          scene.client(0).release();
          releaseBeforeTheGrant(scene, "r0 20000 0 shared");
        });
  }

  /**
   * The holder is stopped between reading and writing, and its lease goes to another: only the copy
   * that checks tokens keeps what the other one wrote.
   */
  @Test
  void storeThatChecksNoTokensLosesAnUpdate() {
    HistoryVerdict verdict =
        play(
            "unfenced",
            SHORT.clients(2),
            false,
            scene -> {
              scene.client(0).acquire("r0 3000 9000");
              scene.client(0).order("0 update 3000");
              Await.until(
                  "it has read and is thinking",
                  () -> scene.soFar().of("begin").findAny().isPresent());
              scene.clients.get(0).pause();
              scene.client(1).acquire("r0 20000 20000");
              assertEquals("true", scene.client(1).ask("0 update 1"));
              scene.clients.get(0).resume();
              assertEquals("false", scene.client(0).outcome("0 update"));
              scene.client(1).release();
              scene.client(0).release();
            });
    assertEquals(List.of(), verdict.findings());
    assertEquals(1, verdict.unfencedLosses());
  }

  /**
   * Two masters evict a lock before any client can have found out that they may: sound clients hold
   * it twice, with tokens in order. An audit in between prevents it, so one of several tries shows
   * it.
   */
  @Test
  void evictedLockIsHeldTwiceAndTheCheckerSeesIt() {
    Set<SimInvariant> found = Set.of();
    for (int tries = 0; tries < 8 && !found.contains(I1); tries++) {
      found = invariants(evictAndAcquireTwice());
      assertFalse(found.contains(I3), found::toString);
    }
    assertTrue(found.containsAll(Set.of(I1, I6)), found::toString);
  }

  private HistoryVerdict evictAndAcquireTwice() {
    return play(
        "evicted",
        TERMS.clients(2),
        true,
        scene -> {
          scene.client(0).acquire("r0 20000 0");
          scene.awaitLocked();
          scene.nodes.subList(0, 2).forEach(ChaosNode::evictLocks);
          scene.client(1).tryAcquire("r0 20000 3000");
          scene.client(0).look();
          scene.client(0).release();
          scene.client(1).releaseIfHeld();
        });
  }

  private static void caught(
      ChaosTerms terms, Set<SimInvariant> expected, Consumer<ChaosScene> script) {
    String name = terms.variant().name().toLowerCase(Locale.ROOT).replace('_', '-');
    ChaosScene.caught(name, terms, expected, script);
  }

  /** A grant is held back until after its release, which went on the next connection. */
  private static void releaseBeforeTheGrant(ChaosScene scene, String terms) {
    GateProxy link = scene.link(0, 2);
    link.requests().hold("r0");
    scene.client(0).acquire(terms);
    link.requests().awaitHeld("r0");
    link.cut();
    scene.client(0).release();
    Await.until(
        "the release has run",
        () -> link.replies().passed("r0").stream().anyMatch(it -> it.contains("NOT_HELD")));
    int answers = answers(link);
    link.requests().open();
    Await.until("the late grant has run", () -> answers(link) > answers);
  }

  private static int answers(GateProxy link) {
    return link.replies().passed("r0").size();
  }

  private static void awaitReaders(ChaosScene scene, long count) {
    String[] question = {"ZCOUNT", "redlock:readers:r0", "(0", "+inf"};
    scene.onEach(
        count + " read", node -> scene.nodes.get(node).server.command(question).equals(count));
  }

  /** What a round takes counts against its lease. */
  private static void letPass(Duration span) {
    long untilNanos = System.nanoTime() + span.toNanos();
    Await.until("time goes by", () -> System.nanoTime() - untilNanos > 0);
  }
}
