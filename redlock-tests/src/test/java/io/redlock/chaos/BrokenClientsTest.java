package io.redlock.chaos;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.chaos.ChaosMasters.Known;
import io.redlock.chaos.client.Variant;
import io.redlock.chaos.history.Finding;
import io.redlock.chaos.history.History;
import io.redlock.chaos.history.HistoryVerdict;
import io.redlock.chaos.picture.Picture;
import io.redlock.jedis.trust.MasterChange.Command;
import io.redlock.simulation.SimInvariant;
import io.redlock.testbed.AgainIfItStoodStill;
import io.redlock.testbed.Await;
import io.redlock.testbed.RequiresRedis;
import io.redlock.testkit.GateProxy;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.function.IntPredicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;
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
        Variant.STAMPS_AT_THE_END,
        Set.of(SimInvariant.I2),
        deployment -> {
          deployment.link(0, 0).replies().hold("r0");
          deployment.link(0, 1).replies().hold("r0");
          deployment.client(0).order("0 acquire r0 20000 0");
          deployment.link(0, 0).replies().awaitHeld("r0");
          deployment.link(0, 1).replies().awaitHeld("r0");
          letPass(Duration.ofMillis(300));
          deployment.link(0, 0).replies().open();
          deployment.link(0, 1).replies().open();
          assertEquals("true", deployment.client(0).outcome("0 acquire"));
          deployment.client(0).release();
        });
  }

  /** An attempt fails, its release runs on a node, and the next one locks it for the same owner. */
  @Test
  void variant05UsesAnOwnerIdAgain() {
    caught(
        Variant.REUSES_OWNER_IDS,
        Set.of(SimInvariant.I5),
        deployment -> {
          for (int round = 0; round < 2; round++) {
            deployment.client(0).acquire("r0 20000 0");
            awaitLocked(deployment);
            deployment.client(0).release();
            awaitUnlocked(deployment);
          }
        });
  }

  /** A grant is executed, its reply is lost with the connection: the key has to go all the same. */
  @Test
  void variant06ReleasesOnlyWhereItWasToldYes() {
    caught(
        Variant.RELEASES_WHERE_GRANTED,
        Set.of(SimInvariant.I5),
        deployment -> {
          GateProxy link = deployment.link(0, 2);
          link.replies().hold("r0");
          deployment.client(0).acquire("r0 20000 0");
          link.replies().awaitHeld("r0");
          link.cut();
          deployment.client(0).release();
        });
  }

  /** A grant is held back until after its release, which went on the next connection. */
  @Test
  void variant07LeavesNoTombstone() {
    caught(
        Variant.LEAVES_NO_TOMBSTONE,
        Set.of(SimInvariant.I5),
        deployment -> {
          GateProxy link = deployment.link(0, 2);
          link.requests().hold("r0");
          deployment.client(0).acquire("r0 20000 0");
          link.requests().awaitHeld("r0");
          link.cut();
          deployment.client(0).release();
          Await.until("the release has run", () -> answers(link, "NOT_HELD") > 0);
          link.requests().open();
          Await.until("the late grant has run", () -> answers(link, "") > 1);
        });
  }

  /** An extend is held back until another holder has come and gone. */
  @Test
  void variant08ExtendsAKeyThatIsMissing() {
    caught(
        SHORT.clients(2),
        Variant.EXTENDS_WHAT_IS_MISSING,
        Set.of(SimInvariant.I8),
        deployment -> {
          GateProxy link = deployment.link(0, 2);
          deployment.client(0).acquire("r0 3000 9000");
          awaitLocked(deployment, 2);
          links(deployment).forEach(each -> each.requests().hold("r0"));
          deployment.client(0).order("0 extend");
          link.requests().awaitHeld("r0");
          awaitUnlocked(deployment);
          deployment.client(1).acquire("r0 20000 9000");
          awaitLocked(deployment, 2);
          deployment.client(1).release();
          awaitUnlocked(deployment);
          link.requests().open();
          Await.until("the late extend has run", () -> answers(link, "") > 1);
          links(deployment).forEach(each -> each.requests().open());
          deployment.client(0).outcome("0 extend");
          deployment.client(0).release();
        });
  }

  /** Two of the three masters that a holder rests on lose their data. */
  @Test
  void variant13LetsANodeVoteThatHasLostItsData() {
    caught(
        TERMS.clients(2),
        Variant.KNOWS_NO_ABSTENTION,
        Set.of(SimInvariant.I1, SimInvariant.I6),
        deployment -> {
          deployment.client(0).acquire("r0 20000 0");
          // What it does not hear of, it goes on to believe: the first holder is cut off.
          links(deployment).forEach(link -> link.requests().hold());
          links(deployment).forEach(link -> link.replies().hold());
          for (int node : new int[] {0, 1}) {
            deployment.nodes.get(node).kill();
            deployment.nodes.get(node).restartEmpty();
          }
          deployment.client(1).tryAcquire("r0 20000 4000");
          deployment.client(0).look();
          deployment.client(1).releaseIfHeld();
          links(deployment).forEach(GateProxy::cut);
          links(deployment).forEach(link -> link.requests().open());
          deployment.client(0).release();
        });
  }

  /** A holder is stopped until its lease has gone to another, and then gives back what it had. */
  @Test
  void variant15ReleasesWhoeverHoldsTheLock() {
    caught(
        SHORT.clients(3),
        Variant.RELEASES_ANYBODY,
        Set.of(SimInvariant.I1),
        deployment -> {
          deployment.client(0).acquire("r0 3000 9000");
          awaitLocked(deployment);
          deployment.clients.get(0).pause();
          awaitUnlocked(deployment);
          deployment.client(1).acquire("r0 20000 9000");
          awaitLocked(deployment);
          List<Long> answered = links(deployment).map(link -> answers(link, "")).toList();
          deployment.clients.get(0).resume();
          deployment.client(0).release();
          onEach(
              "the release of the lost lease has run",
              node -> answers(deployment.link(0, node), "") > answered.get(node));
          deployment.client(2).tryAcquire("r0 20000 2000");
          deployment.client(1).look();
          deployment.client(1).release();
          deployment.client(2).releaseIfHeld();
        });
  }

  @Test
  void readerThatLooksForNoWriterIsCaught() {
    caught(
        TERMS.clients(2),
        Variant.READS_BESIDE_A_WRITER,
        Set.of(SimInvariant.I1),
        deployment -> {
          deployment.client(0).acquire("r0 20000 0");
          awaitLocked(deployment);
          boolean reads = deployment.client(1).ask("0 acquire-shared r0 20000 0").equals("true");
          deployment.client(0).look();
          deployment.client(0).release();
          if (reads) {
            deployment.client(1).release();
          }
        });
  }

  /** A reader's request is held back until a writer has come and gone. */
  @Test
  void readerThatPassesALaterWriterIsCaught() {
    caught(
        TERMS.clients(2),
        Variant.READS_BELOW_A_WRITER,
        Set.of(SimInvariant.I8),
        deployment -> {
          links(deployment).forEach(each -> each.requests().hold("r0"));
          deployment.client(0).order("0 acquire-shared r0 20000 0");
          links(deployment).forEach(each -> each.requests().awaitHeld("r0"));
          deployment.client(1).acquire("r0 20000 0");
          awaitLocked(deployment);
          deployment.client(1).release();
          awaitUnlocked(deployment);
          links(deployment).forEach(each -> each.requests().open());
          if (deployment.client(0).outcome("0 acquire-shared").equals("true")) {
            deployment.client(0).release();
          }
        });
  }

  @Test
  void readerThatReleasesForAllIsCaught() {
    caught(
        TERMS.clients(3),
        Variant.RELEASES_ALL_READERS,
        Set.of(SimInvariant.I1),
        deployment -> {
          for (int reader = 0; reader < 2; reader++) {
            deployment.client(reader).acquireShared("r0 20000 0");
            awaitReaders(deployment, reader + 1);
          }
          deployment.client(0).release();
          awaitReaders(deployment, 1);
          deployment.client(2).tryAcquire("r0 20000 0");
          deployment.client(1).look();
          deployment.client(1).release();
          deployment.client(2).releaseIfHeld();
        });
  }

  /** A reader's grant is held back until after its release, which went on the next connection. */
  @Test
  void readerThatIsNotBuriedIsCaught() {
    caught(
        Variant.BURIES_NO_READER,
        Set.of(SimInvariant.I5),
        deployment -> {
          deployment.client(0).acquireShared("r1 20000 0");
          Await.until("n2 knows the script", () -> !deployment.owner(2, "r1").isEmpty());
          deployment.client(0).release();
          GateProxy link = deployment.link(0, 2);
          link.requests().hold("r0");
          deployment.client(0).acquireShared("r0 20000 0");
          link.requests().awaitHeld("r0");
          link.cut();
          deployment.client(0).release();
          Await.until("the release has run", () -> answers(link, "") > 0);
          link.requests().open();
          Await.until("the late grant has run", () -> answers(link, "") > 1);
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
            Variant.NONE,
            deployment -> {
              deployment.client(0).acquire("r0 3000 9000");
              deployment.client(0).order("0 update 3000");
              Await.until(
                  "it has read and is thinking",
                  () -> deployment.soFar().of("read").findAny().isPresent());
              deployment.clients.get(0).pause();
              deployment.client(1).acquire("r0 20000 20000");
              assertEquals("true", deployment.client(1).ask("0 update 1"));
              deployment.clients.get(0).resume();
              assertEquals("false", deployment.client(0).outcome("0 update"));
              deployment.client(1).release();
              deployment.client(0).release();
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
    for (int tries = 0; tries < 8 && !found.contains(SimInvariant.I1); tries++) {
      found = invariants(evictAndAcquireTwice());
      assertFalse(found.contains(SimInvariant.I3), found::toString);
    }
    assertTrue(found.containsAll(Set.of(SimInvariant.I1, SimInvariant.I6)), found::toString);
  }

  private HistoryVerdict evictAndAcquireTwice() {
    return play(
        "evicted",
        TERMS.clients(2),
        Variant.NONE,
        deployment -> {
          deployment.client(0).acquire("r0 20000 0");
          for (int node : new int[] {0, 1}) {
            awaitLocked(deployment, node);
            deployment.nodes.get(node).evictLocks();
          }
          deployment.client(1).ask("0 acquire r0 20000 3000");
          deployment.client(0).look();
          deployment.client(0).release();
          deployment.client(1).release();
        });
  }

  /** A client was left behind, which still holds a lease when the new masters are opened. */
  @Test
  void commitThatDoesNotWaitGivesTwoHoldersAndTheCheckerSeesIt() {
    ChaosTerms swapped =
        TERMS.nodeTimeout(Duration.ofMillis(500)).masters(new ChaosMasters(3, 0, 3));
    HistoryVerdict sound =
        play(
            "commit-waits",
            swapped.maxTtl(Duration.ofSeconds(3)).skew(Duration.ofMillis(250)), // waits 3.5 s
            Variant.NONE,
            deployment -> straggle(deployment, 3_000, true));
    assertEquals(List.of(), sound.findings());
    HistoryVerdict verdict =
        play(
            "commit-does-not-wait",
            swapped,
            Variant.NONE,
            deployment -> straggle(deployment, 20_000, false));
    assertTrue(invariants(verdict).contains(SimInvariant.I1), verdict::toString);
  }

  private static void straggle(ChaosDeployment deployment, int ttlMillis, boolean waits) {
    assertTrue(resize(deployment, Command.PREPARE, true));
    ClientProcess future = deployment.start(Known.FUTURE);
    future.awaitReady();
    assertEquals("true", deployment.client(0).ask("0 acquire r0 " + ttlMillis + " 9000"));
    assertEquals(waits, resize(deployment, Command.COMMIT, waits));
    if (!waits) {
      for (ChaosNode joining : deployment.nodes.subList(3, 6)) {
        String mark = String.valueOf(joining.server.command("GET", "redlock:birth"));
        String opened = mark.replaceFirst("\\|(\\w+>(\\w+))\\|", "|$1|$2|");
        assertNotEquals(mark, opened);
        joining.server.command("SET", "redlock:birth", opened, "KEEPTTL");
      }
    }
    assertEquals("true", future.ask("0 acquire r0 " + ttlMillis + " 20000"));
    deployment.client(0).look();
    deployment.client(0).release();
    future.release();
  }

  /**
   * Runs a command; returns true if nothing is left to do.
   *
   * @param waits whether it may wait for leases to end; else it is interrupted there
   */
  static boolean resize(ChaosDeployment deployment, Command command, boolean waits) {
    PrintStream out =
        new PrintStream(OutputStream.nullOutputStream(), true, StandardCharsets.UTF_8) {
          @Override
          public void println(String line) {
            if (!waits && line.startsWith("waiting")) {
              Thread.currentThread().interrupt();
            }
          }
        };
    try {
      return deployment
          .operatorSettings()
          .resize(command, Set.of(), "", Duration.ofMillis(50), out);
    } catch (InterruptedException e) {
      return false; // as it was asked for
    }
  }

  static Set<SimInvariant> invariants(HistoryVerdict verdict) {
    return verdict.findings().stream()
        .map(Finding::invariant)
        .collect(Collectors.toCollection(TreeSet::new));
  }

  private static void caught(
      Variant variant, Set<SimInvariant> expected, Consumer<ChaosDeployment> scene) {
    caught(TERMS, variant, expected, scene);
  }

  private static void caught(
      ChaosTerms terms,
      Variant variant,
      Set<SimInvariant> expected,
      Consumer<ChaosDeployment> scene) {
    String name = variant.name().toLowerCase(Locale.ROOT).replace('_', '-');
    HistoryVerdict sound = play("sound-" + name, terms, Variant.NONE, scene);
    assertEquals(List.of(), sound.findings(), "the same scene with sound clients");
    HistoryVerdict verdict = play(name, terms, variant, scene);
    Set<SimInvariant> found = invariants(verdict);
    System.out.println("chaos: broken client " + name + ": caught by " + found);
    assertTrue(found.containsAll(expected), () -> expected + " expected, but " + verdict);
  }

  private static HistoryVerdict play(
      String name, ChaosTerms terms, Variant variant, Consumer<ChaosDeployment> scene) {
    return play(name, terms, variant, true, scene);
  }

  static HistoryVerdict play(
      String name,
      ChaosTerms terms,
      Variant variant,
      boolean keepsTime,
      Consumer<ChaosDeployment> scene) {
    Path folder = ChaosRun.FOLDER.resolve("scene-" + name);
    try (ChaosDeployment deployment =
        new ChaosDeployment(terms.broken(variant), folder, keepsTime)) {
      scene.accept(deployment);
      // A release goes on in the background when its caller has been told, until its client ends.
      deployment.awaitFree(Duration.ofSeconds(5));
      deployment.stopClients();
      History history = deployment.history();
      HistoryVerdict verdict = HistoryVerdict.of(history);
      String facts =
          verdict.operations() + " operations, " + verdict.findings().size() + " findings";
      Picture.draw(
          history, verdict.findings(), "Scene: " + name, facts, folder.resolve("run.html"));
      return verdict;
    }
  }

  private static long answers(GateProxy link, String verdict) {
    return link.replies().passed("r0").stream().filter(reply -> reply.contains(verdict)).count();
  }

  static void awaitLocked(ChaosDeployment deployment, int node) {
    Await.until("n" + node + " is locked", () -> !deployment.owner(node, "r0").isEmpty());
  }

  private static void awaitLocked(ChaosDeployment deployment) {
    onEach("locked", node -> !deployment.owner(node, "r0").isEmpty());
  }

  private static void awaitUnlocked(ChaosDeployment deployment) {
    onEach("free", node -> deployment.owner(node, "r0").isEmpty());
  }

  private static void awaitReaders(ChaosDeployment deployment, long count) {
    String[] question = {"ZCOUNT", "redlock:readers:r0", "(0", "+inf"};
    onEach(
        count + " read", node -> deployment.nodes.get(node).server.command(question).equals(count));
  }

  private static void onEach(String what, IntPredicate holds) {
    for (int each = 0; each < 3; each++) {
      int node = each;
      Await.until(what + " on n" + node, () -> holds.test(node));
    }
  }

  /** The ways of the first client. */
  private static Stream<GateProxy> links(ChaosDeployment deployment) {
    return deployment.clients.get(0).links.stream();
  }

  /** What a round takes counts against its lease. */
  private static void letPass(Duration span) {
    long untilNanos = System.nanoTime() + span.toNanos();
    Await.until("time goes by", () -> System.nanoTime() - untilNanos > 0);
  }
}
