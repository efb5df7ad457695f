package io.redlock.jedis.lane;

import static io.redlock.jedis.lane.LaneBed.NODE_TIMEOUT_MILLIS;
import static io.redlock.jedis.lane.LaneBed.WATCH_MILLIS;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.NodeStatus.State;
import io.redlock.jedis.lane.LaneBed.Asked;
import io.redlock.jedis.trust.KeptLog;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReply.Kind;
import java.io.IOException;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Audits of a connection that carries requests: they never end, and what they find counts. */
class AuditsTest {

  @RegisterExtension private final KeptLog log = new KeptLog();

  private static final String NO_SET =
      "NOPERM User locks has no permissions to run the 'set' command";

  private static final String STALE = "it was not audited for more than 3s";

  private final LaneBed bed = new LaneBed(3, true).others(2);

  @Test
  void idleNodeIsAuditedOnceASecond() {
    bed.up();
    for (int second = 0; second < 5; second++) {
      bed.pass(999);
      assertEquals(List.of(), bed.written());
      bed.pass(1);
      assertEquals(List.of("audit"), bed.written());
      bed.answer();
    }
    assertEquals(List.of(), bed.told());
  }

  @Test
  void auditOfASilentNodeThatLostTheScriptIsRepeatedSoThatAuditsGoOn() {
    bed.up().pass(1_000).pass(NODE_TIMEOUT_MILLIS);
    assertEquals(State.SILENT, bed.state());
    assertEquals(List.of("audit"), bed.written());
    bed.answerNoScript();
    assertEquals(List.of("audit as text"), bed.written());
    bed.answer();
    assertEquals(State.UP, bed.state());
    bed.pass(1_000);
    assertEquals(List.of("audit"), bed.written());
  }

  @Test
  void nextAuditIsDueASecondAfterTheLastWasSent() {
    bed.up().pass(1_000).written();
    bed.pass(60).answer();
    bed.pass(939);
    assertEquals(List.of(), bed.written());
    bed.pass(1);
    assertEquals(List.of("audit"), bed.written());
  }

  @Test
  void auditGoesAheadOfTheRequestsOfItsBatch() {
    bed.up().hang(1_000).grant("a");
    assertEquals(List.of("audit, grant a"), bed.written());
  }

  @Test
  void busyLaneAuditsToo() {
    bed.up();
    bed.grant("a");
    bed.grant("b");
    for (int i = 0; i < 120; i++) {
      bed.grant("c").answers.clear();
      bed.pass(9).answer();
      bed.grant("d");
      bed.pass(9).answer();
    }
    long audits = bed.written().stream().filter(batch -> batch.contains("audit")).count();
    assertEquals(2, audits);
    assertEquals(State.UP, bed.state());
  }

  @Test
  void oneAuditIsUnderWayAtATime() {
    bed.up().pass(1_000).written();
    bed.quorum();
    assertEquals(List.of(), bed.written());
    bed.answer().pass(WATCH_MILLIS);
    assertEquals(List.of(), bed.written(), "the answer is new enough");
  }

  @Test
  void auditThatFindsNewDataMakesTheNodeAbstain() {
    bed.up();
    bed.node.birth = "";
    Asked running = bed.grant("a");
    bed.answer().pass(1_000).answerAll();
    assertEquals(List.of(NodeReply.GRANTED), running.answers);
    assertEquals(
        List.of(
            "past lost: its data, or its birth mark, was deleted",
            "ABSTAINING: its data is new; it votes in 35s"),
        bed.told());
    bed.pass(0);
    bed.answerAll();
    assertTrue(bed.node.birth.startsWith("4 run0 repl0 "), "its mark is written at once");
    assertEquals(Kind.ABSTAIN, bed.grant("a").answers.get(0).kind());
    assertEquals(List.of(), bed.extend("a").answers, "it extends what it holds");
    assertEquals(List.of(), bed.release("a").answers);
  }

  @Test
  void abstentionEndsWithTheAuditAtItsEnd() {
    bed.node.mark(3, true, bed.wallMicros() / 1_000 - TestNode.ABSTENTION_MILLIS + 1_300);
    bed.start().connect().answerAll();
    assertEquals(State.ABSTAINING, bed.state());
    bed.written();
    bed.tick(); // at once: there may be a quorum since
    bed.answerAll();
    assertEquals(List.of("audit"), bed.written());
    bed.pass(1_000);
    assertEquals(List.of("audit"), bed.written());
    bed.answer();
    bed.pass(299);
    assertEquals(List.of(), bed.written());
    assertEquals(State.ABSTAINING, bed.state());
    bed.pass(1);
    assertEquals(List.of("audit"), bed.written());
    bed.answer();
    assertEquals(State.UP, bed.state());
  }

  @Test
  void longAbstentionIsLookedAtOnceASecond() {
    bed.node.mark(3, true, bed.wallMicros() / 1_000);
    bed.start().connect().answerAll();
    bed.tick();
    bed.answerAll().written();
    bed.pass(999);
    assertEquals(List.of(), bed.written());
    bed.pass(1);
    assertEquals(List.of("audit"), bed.written());
  }

  @Test
  void replicaIsRefusedUntilItIsPromoted() {
    bed.up();
    bed.node.role = "slave";
    bed.pass(1_000).answer();
    assertEquals(State.MISCONFIGURED, bed.state());
    bed.node.role = "master";
    bed.pass(1_000).answer();
    assertEquals(State.UP, bed.state());
  }

  // Whatever happens to one audit.

  @Test
  void auditThatIsAnsweredByAnErrorThatPassesIsRepeatedWithinASecond() {
    bed.up().pass(1_000).written();
    bed.answerError("BUSY Redis is busy running a script");
    assertEquals(List.of(), bed.told());
    bed.pass(999);
    assertEquals(List.of(), bed.written());
    bed.pass(1);
    assertEquals(List.of("audit"), bed.written());
  }

  @Test
  void errorThatPassesEndsASilence() {
    bed.up().pass(1_000);
    bed.pass(NODE_TIMEOUT_MILLIS);
    assertEquals(State.SILENT, bed.state());
    bed.answerError("BUSY Redis is busy running a script");
    assertEquals(State.UP, bed.state());
  }

  @Test
  void auditWhoseScriptASilentNodeHasForgottenIsRepeated() {
    bed.up().pass(1_000);
    bed.pass(NODE_TIMEOUT_MILLIS).written();
    bed.answerNoScript();
    assertEquals(List.of("audit as text"), bed.written());
    bed.answer().pass(1_000);
    assertEquals(List.of("audit"), bed.written());
  }

  @Test
  void auditThatIsDeniedMakesTheNodeMisconfiguredUntilOneSucceeds() {
    bed.up().pass(1_000);
    bed.answerError("NOPERM this user has no permissions to run the 'evalsha' command");
    assertEquals(
        List.of(
            "MISCONFIGURED: NOPERM this user has no permissions to run the 'evalsha' command"
                + ": allow it with ACL SETUSER"),
        bed.told());
    bed.pass(1_000).answer();
    assertEquals(List.of("UP"), bed.told());
  }

  @Test
  void nodeWhoseMarkMayNotBeWrittenIsMisconfiguredOnceAndUpOnceWhenItMay() {
    LaneBed unguarded = new LaneBed();
    unguarded.node.birth = "";
    passDenyingMarks(unguarded.start().connect(), 10, NO_SET);
    assertEquals(
        List.of("MISCONFIGURED: " + NO_SET + ": allow it with ACL SETUSER"), unguarded.told());
    passAnswering(unguarded, 1);
    assertEquals(
        List.of("ABSTAINING: its birth mark is being written", "UP"),
        unguarded.told(),
        "its set is founded in two steps");
  }

  @Test
  void nodeWhoseNewMarkMayNotBeWrittenStaysMisconfigured() {
    bed.up();
    bed.node.birth = "";
    passDenyingMarks(bed, 10, NO_SET);
    assertEquals(
        List.of(
            "past lost: its data, or its birth mark, was deleted",
            "ABSTAINING: its data is new; it votes in 35s",
            "MISCONFIGURED: " + NO_SET + ": allow it with ACL SETUSER"),
        bed.told());
    passAnswering(bed, 1);
    assertEquals(1, bed.told().size());
    assertEquals(State.ABSTAINING, bed.state());
  }

  @Test
  void markThatFindsNoMemoryIsTriedOnceASecond() {
    LaneBed unguarded = new LaneBed();
    unguarded.node.birth = "";
    String full = "OOM command not allowed when used memory > 'maxmemory'.";
    passDenyingMarks(unguarded.start().connect(), 1, full);
    unguarded.written();
    passDenyingMarks(unguarded, 5, full);
    assertEquals(List.of("audit", "audit", "audit", "audit", "audit"), unguarded.written());
    assertEquals(State.ABSTAINING, unguarded.state());
    assertEquals(1, unguarded.told().size(), "it is told once");
  }

  private static void passAnswering(LaneBed each, int seconds) {
    for (int i = 0; i < 100 * seconds; i++) {
      each.answerAll().pass(10);
    }
  }

  private static void passDenyingMarks(LaneBed each, int seconds, String error) {
    for (int i = 0; i < 100 * seconds; i++) {
      each.answerAllButMarks(error).pass(10);
    }
  }

  @Test
  void auditThatFindsNoMemoryMakesTheNodeAbstainUntilOneSucceeds() {
    bed.up().pass(1_000);
    bed.answerError("OOM command not allowed when used memory > 'maxmemory'.");
    assertEquals(State.ABSTAINING, bed.state());
    bed.pass(1_000).answer();
    assertEquals(State.UP, bed.state());
  }

  @Test
  void auditThatIsLostWithItsConnectionIsRepeatedOnTheNext() {
    bed.up().grant("a");
    bed.answer().pass(1_000).lose(new IOException("reset"));
    bed.introduce().pass(1_000);
    assertEquals(List.of("audit"), bed.written());
  }

  @ParameterizedTest
  @ValueSource(ints = {80, 150, 400, 999, 1_500, 5_000})
  void auditsGoOnAfterASilenceOfAnyLength(int silenceMillis) {
    bed.up();
    for (int round = 0; round < 20; round++) {
      for (int i = 0; i < silenceMillis / 10; i++) {
        bed.grant("a");
        bed.pass(10);
      }
      bed.answerAll().pass(WATCH_MILLIS).answerAll().written();
      bed.pass(1_000);
      assertTrue(String.join(" ", bed.written()).contains("audit"), "round " + round);
      bed.answerAll();
      assertEquals(State.UP, bed.state());
    }
  }

  @Test
  void auditsNeverEndWhateverHappens() {
    for (long seed = 0; seed < 300; seed++) {
      SplittableRandom random = new SplittableRandom(seed);
      LaneBed each = new LaneBed(3, true).others(2).up();
      try {
        for (int i = 0; i < 60; i++) {
          befall(each, random);
        }
        recover(each);
      } catch (AssertionError | RuntimeException e) {
        throw new AssertionError("seed " + seed + ": " + e.getMessage(), e);
      }
    }
  }

  private static void befall(LaneBed each, SplittableRandom random) {
    switch (random.nextInt(12)) {
      case 0, 1 -> each.grant("a");
      case 2 -> each.release("b");
      case 3 -> each.grant("c").withdraw();
      case 4, 5 -> each.pass(random.nextInt(600));
      case 6 -> each.hang(random.nextInt(4_000)).tick();
      case 7 -> {
        if (each.done().contains("Dial")) {
          each.connect();
        }
      }
      case 8 -> {
        if (each.due() > 0 && random.nextInt(3) == 0) {
          each.answerNoScript();
        }
      }
      case 9 -> {
        if (each.due() > 0 && random.nextInt(3) == 0) {
          each.answerError("BUSY");
        }
      }
      case 10 -> {
        if (random.nextInt(6) == 0) {
          each.lose(new IOException("reset"));
        }
      }
      default -> each.answerAll();
    }
  }

  /** From here on the node answers at once: the lane is up, and audits once a second. */
  private static void recover(LaneBed each) {
    for (int i = 0; i < 400; i++) {
      each.pass(10);
      if (each.done().contains("Dial")) {
        each.connect();
      }
      each.answerAll();
    }
    assertEquals(State.UP, each.state(), each.status()::toString);
    each.written();
    for (int i = 0; i < 301; i++) {
      each.pass(10).answerAll();
    }
    long audits = each.written().stream().filter(batch -> batch.contains("audit")).count();
    assertTrue(audits >= 3, audits + " audits in three seconds");
  }

  // Freshness.

  @Test
  void nodeThatIsUpWithoutAnAuditForThreeSecondsAbstains() {
    bed.up();
    for (int i = 0; i < 3; i++) {
      bed.pass(1_000).answerError("BUSY");
    }
    assertEquals(State.UP, bed.state());
    bed.grant("keeps the lane looking");
    bed.pass(WATCH_MILLIS);
    assertEquals(List.of("ABSTAINING: " + STALE), bed.told());
    NodeReply abstains = NodeReply.abstain(-1, STALE);
    assertEquals(List.of(abstains), bed.grant("b").answers);
    assertEquals(List.of(), bed.extend("b").answers);
    bed.answerAll().pass(1_000).answerAll();
    assertEquals(List.of("UP"), bed.told());
  }

  @Test
  void idleNodeWithoutAnAuditForThreeSecondsAbstainsBeforeTheNextIsDue() {
    bed.up();
    bed.pass(1_000).pass(40).answer();
    bed.pass(960).answerError("BUSY");
    bed.pass(1_000).answerError("BUSY");
    bed.pass(1_000).answerError("BUSY");
    assertEquals(State.UP, bed.state());
    bed.pass(50);
    assertEquals(State.ABSTAINING, bed.state());
  }

  @Test
  void slowIntroductionIsNoPauseThatLetsAnAuditCountForLonger() {
    bed.start().connect().answer();
    bed.pass(1_500).answerAll();
    bed.tick();
    bed.answerError("BUSY").pass(1_000).answerError("BUSY").pass(500);
    assertEquals(State.UP, bed.state());
    bed.pass(1);
    assertEquals(State.ABSTAINING, bed.state());
  }

  @Test
  void ticksThatAreLateNowAndThenLetAnAuditCountForLittleLonger() {
    bed.up();
    for (int i = 0; i < 3; i++) {
      bed.pass(970).hang(30 + WATCH_MILLIS + 1).tick();
      bed.answerError("BUSY");
    }
    assertEquals(State.UP, bed.state());
    bed.pass(WATCH_MILLIS);
    assertEquals(State.ABSTAINING, bed.state());
  }

  @Test
  void silentNodeAbstainsWhenItWakesUntilItIsAudited() {
    bed.up().grant("a");
    bed.pass(3_001 + WATCH_MILLIS);
    assertEquals(State.SILENT, bed.state());
    bed.told();
    bed.answer();
    assertEquals(List.of("ABSTAINING: " + STALE), bed.told());
    bed.pass(WATCH_MILLIS).answerAll();
    assertEquals(List.of("UP"), bed.told());
  }

  @Test
  void timeInWhichTheProcessWasHeldUpDoesNotCount() {
    bed.up().hang(5_000).tick();
    assertEquals(State.UP, bed.state());
    bed.answer();
    assertEquals(List.of(), bed.told());
  }

  @Test
  void freshnessIsCountedAnewOnTheNextConnection() {
    bed.up().grant("a");
    bed.answer();
    for (int i = 0; i < 2; i++) {
      bed.pass(1_000).answerError("BUSY");
    }
    bed.pass(500).lose(new IOException("reset"));
    bed.introduce().pass(999);
    assertEquals(State.UP, bed.state());
  }
}
