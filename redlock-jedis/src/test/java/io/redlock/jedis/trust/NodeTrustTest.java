package io.redlock.jedis.trust;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.jedis.trust.Verdict.Stand;
import io.redlock.spi.Quorum;
import io.redlock.spi.Ticker;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** What one lane makes of the audits of its node, one after the other. */
class NodeTrustTest implements Ticker {

  private static final List<String> NAMES = List.of("n0", "n1", "n2");
  private static final long LONG_AGO_MILLIS = 1_700_000_000_000L;
  private static final long SECOND = 1_000_000;

  @RegisterExtension private final KeptLog log = new KeptLog();

  private final Peers peers = new Peers(NAMES, Quorum.of(3), Marks.SKEW_MICROS);
  private final TrustRules rules = Marks.GUARDED;
  private final NodeTrust trust = trust(0);
  private final List<String> lost = new ArrayList<>();
  private long monotonicMicros = 77 * SECOND;
  private String runId = "run0";
  private String replId = "repl0";
  private String birth = mark(LONG_AGO_MILLIS);
  private int replicas;
  private long evicted;
  private long stepMicros;
  private long sleptMicros;

  @Override
  public long monotonicNanos() {
    return monotonicMicros * 1_000;
  }

  @Override
  public long wallMicros() {
    return 1_800_000_000 * SECOND + monotonicMicros + sleptMicros;
  }

  private NodeTrust trust(int index) {
    return new NodeTrust("n" + index, index, peers, rules, 10_000);
  }

  private String mark(long firstSeenMillis) {
    return Marks.founded(runId, replId, firstSeenMillis, true, NAMES).toString();
  }

  private Verdict judge() {
    monotonicMicros += SECOND;
    return trust.judge(
        audit(runId, "master", birth), monotonicNanos(), monotonicNanos(), this, lost::add);
  }

  private NodeAudit audit(String process, String role, String text) {
    return new NodeAudit(
        "7",
        process,
        role,
        "standalone",
        replId,
        replicas,
        0,
        "noeviction",
        evicted,
        wallMicros() + stepMicros,
        text);
  }

  private void judgeOther(int index, String role) {
    String text = Marks.founded("run" + index, replId, LONG_AGO_MILLIS, true, NAMES).toString();
    trust(index)
        .judge(
            audit("run" + index, role, text), monotonicNanos(), monotonicNanos(), this, lost::add);
  }

  // The quorum.

  @Test
  void nodeVotesOnceAQuorumCanBeUsed() {
    List<String> told = new ArrayList<>();
    trust.whenTold(() -> told.add("quorum"));
    Verdict alone = judge();
    assertEquals(Stand.ABSTAINS, alone.stand());
    assertEquals(-1, alone.remainingMillis());
    assertTrue(alone.reason().contains("only 1 of 3"), alone.reason());
    judgeOther(1, "slave");
    assertFalse(trust.hasQuorum(), "a replica cannot be used");
    judgeOther(2, "master");
    assertTrue(trust.hasQuorum());
    assertEquals(List.of("quorum"), told);
    assertEquals(Stand.VOTES, judge().stand());
    assertTrue(birth.startsWith(judge().birth()));
  }

  @Test
  void nodeThatIsLeftCountsNoMore() {
    judge();
    trust.left();
    judgeOther(1, "master");
    assertFalse(trust.hasQuorum());
  }

  @Test
  void refusedNodeIsRefusedWithAndWithoutAQuorum() {
    birth = "nonsense";
    assertEquals(Stand.REFUSED, judge().stand());
    judgeOther(1, "master");
    judgeOther(2, "master");
    assertEquals(Stand.REFUSED, judge().stand());
  }

  // What it lost.

  private void assertLost(String reason) {
    judge();
    assertEquals(1, lost.size(), lost.toString());
    assertTrue(lost.get(0).startsWith(reason), lost.get(0));
    assertEquals(List.of("node n0 may have lost earlier grants: " + lost.get(0)), log.warnings());
    judge();
    assertEquals(1, lost.size(), "it is told once");
  }

  @Test
  void sameDataIsNoLoss() {
    for (int i = 0; i < 3; i++) {
      judge();
    }
    assertEquals(List.of(), lost);
    assertEquals(List.of(), log.warnings());
  }

  @Test
  void restartIsALoss() {
    judge();
    runId = "run9";
    assertLost("it was restarted");
  }

  @Test
  void otherHistoryIsALoss() {
    judge();
    replId = "repl9";
    assertLost("its replication history changed");
  }

  @Test
  void deletedDataIsALoss() {
    judge();
    birth = "";
    assertLost("its data, or its birth mark, was deleted");
  }

  @Test
  void evictionIsALoss() {
    judge();
    evicted = 1;
    assertLost("it has evicted keys");
  }

  @Test
  void dataThatWasFirstSeenAtAnotherTimeIsALoss() {
    judge();
    birth = mark(LONG_AGO_MILLIS + 1);
    assertLost("its data, or its birth mark, was deleted");
  }

  @Test
  void nodeThatHadNoMarkOfItsOwnHasNothingToLose() {
    birth = "";
    judge();
    runId = "run9";
    judge();
    birth = mark(LONG_AGO_MILLIS + 1); // of the data before it
    replId = "repl9";
    judge();
    birth = mark(LONG_AGO_MILLIS);
    judge();
    assertEquals(List.of(), lost);
  }

  @Test
  void clockThatStepsIsALoss() {
    judge();
    stepMicros = SECOND;
    assertLost("its clock stepped by 1s");
  }

  @Test
  void sleepOfThisMachineIsNoLoss() {
    judge();
    sleptMicros = 3_600 * SECOND;
    judge();
    assertEquals(List.of(), lost);
  }

  @Test
  void lossOfDataIsToldRatherThanTheStepThatCameWithIt() {
    judge();
    stepMicros = SECOND;
    birth = "";
    assertLost("its data, or its birth mark, was deleted");
  }

  // What is worth a word.

  @Test
  void warningIsLoggedOnceUntilItIsOver() {
    replicas = 1;
    judge();
    judge();
    assertEquals(1, log.warnings().size(), log.warnings().toString());
    assertTrue(log.warnings().get(0).startsWith("node n0: it has 1 connected replicas"));
    replicas = 2;
    judge();
    assertEquals(2, log.warnings().size());
    replicas = 0;
    judge();
    replicas = 2;
    judge();
    assertEquals(3, log.warnings().size());
  }

  /** Whatever the observer's own settings are: it has none that marks could lack. */
  @Test
  void observerWritesNoMarkAndGoesByThose() {
    NodeTrust observer =
        new NodeTrust("n0", 0, peers, TrustRules.observing(false, Marks.SKEW_MICROS), 10_000);
    NodeTrust second =
        new NodeTrust("n1", 1, peers, TrustRules.observing(true, Marks.SKEW_MICROS), 10_000);
    List<Verdict> verdicts = new ArrayList<>();
    for (String seen : List.of(mark(LONG_AGO_MILLIS), "")) {
      judgeOther(2, "master");
      for (NodeTrust each : List.of(observer, second)) {
        monotonicMicros += SECOND;
        runId = each == observer ? "run0" : "run1";
        String text = seen.isEmpty() ? "" : mark(LONG_AGO_MILLIS);
        verdicts.add(
            each.judge(
                audit(runId, "master", text), monotonicNanos(), monotonicNanos(), this, lost::add));
      }
    }
    assertEquals(Stand.VOTES, verdicts.get(1).stand(), verdicts::toString);
    assertEquals(Stand.ABSTAINS, verdicts.get(3).stand(), verdicts::toString);
    assertEquals("its data is new, and no client has marked it yet", verdicts.get(3).reason());
    verdicts.forEach(verdict -> assertEquals(null, verdict.refresh(), verdicts::toString));
  }
}
