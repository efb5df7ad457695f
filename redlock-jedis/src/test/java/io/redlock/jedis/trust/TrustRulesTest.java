package io.redlock.jedis.trust;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.jedis.trust.NodeAudit.Refresh;
import io.redlock.jedis.trust.Roll.Advice;
import io.redlock.jedis.trust.TrustRules.Surroundings;
import io.redlock.jedis.trust.Verdict.Stand;
import java.time.Duration;
import java.util.List;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

class TrustRulesTest {

  private static final String RUN = "aaaa";
  private static final String REPL = "bbbb";
  private static final long NOW_MILLIS = 1_700_000_000_000L;
  private static final long SKEW_MICROS = Marks.SKEW_MICROS;
  private static final long Q = Marks.ABSTENTION_MILLIS;
  private static final List<String> NAMES = List.of("a", "b", "c");

  private static final OptionalLong SAME_TIME = OptionalLong.of(0);
  private static final Advice KEEP = new Advice.Keep();

  private final TrustRules rules = Marks.GUARDED;
  private final TrustRules unguarded = Marks.rules(false);

  // What abstains, and for how long.

  @Test
  void abstentionIsTheLongestTtlWithItsDriftAndTwiceTheSkew() {
    assertEquals(
        30_000 + 300 + 2 + 2 * 2_000,
        TrustRules.of(true, Duration.ofSeconds(30), 10_000, SKEW_MICROS).abstentionMillis());
    assertEquals(
        11 + 1 + 2 + 2 * 2,
        TrustRules.of(true, Duration.ofNanos(10_000_001), 10_000, 1_001).abstentionMillis());
  }

  @Test
  void nodeWithoutAMarkIsMarkedAndAbstains() {
    Verdict verdict = rules.judge(audit(""), marking(median(0)));
    assertEquals(Stand.ABSTAINS, verdict.stand());
    assertEquals(Q, verdict.remainingMillis());
    Refresh refresh = refresh(verdict);
    assertEquals("", refresh.seen());
    assertEquals(seen(BirthMark.NOW), refresh.mark());
    assertEquals("4 aaaa bbbb ", refresh.mark().head());
    assertEquals("+0", refresh.firstSeen());
    assertEquals(" seen founded 0 guarded 30000 34302 |k7f2| k7f2=a,b,c", refresh.mark().tail());
  }

  @Test
  void markThatIsNotItsOwnIsRenewed() {
    BirthMark adopted = seen(NOW_MILLIS - 10 * Q).adopted();
    for (String run : List.of("cccc", RUN)) {
      BirthMark old =
          new BirthMark(
              run,
              run.equals(RUN) ? "dddd" : REPL,
              adopted.firstSeenMillis(),
              true,
              true,
              0,
              adopted.serves(),
              adopted.agreement());
      assertMarkedAnew(old, marking(median(0)));
    }
  }

  private void assertMarkedAnew(BirthMark old, Surroundings around) {
    Verdict verdict = rules.judge(audit(old), around);
    assertEquals(Stand.ABSTAINS, verdict.stand());
    assertEquals(Q, verdict.remainingMillis());
    assertEquals(old.toString(), refresh(verdict).seen());
    assertEquals(seen(BirthMark.NOW), refresh(verdict).mark());
  }

  @Test
  void adviceNotToWriteIsTaken() {
    for (boolean soon : new boolean[] {true, false}) {
      Surroundings around = advised(new Advice.Wait("b must answer", soon));
      Verdict verdict = rules.judge(audit(""), around);
      assertEquals(Verdict.abstains(-1, "b must answer", null), verdict);
    }
    Surroundings around = advised(new Advice.Refuse("another list"));
    assertEquals(Verdict.refused("another list"), rules.judge(audit(seen(0)), around));
  }

  @Test
  void markOfWholeDataIsRewrittenWithItsAge() {
    BirthMark old = seen(NOW_MILLIS - 10 * Q).adopted();
    Verdict verdict = rules.judge(audit(old), marking(median(0)));
    assertEquals(
        Verdict.abstains(0, "its birth mark is being written", new Refresh(old.toString(), old)),
        verdict);
  }

  @Test
  void youngNodeAbstainsUntilItIsOldEnough() {
    Verdict young = rules.judge(audit(seen(NOW_MILLIS - Q + 1)), median(0));
    assertEquals(Stand.ABSTAINS, young.stand());
    assertEquals(1, young.remainingMillis());
    assertNull(young.refresh());
    BirthMark old = seen(NOW_MILLIS - Q);
    assertEquals(Verdict.votes(old.guard(), null), rules.judge(audit(old), median(0)));
  }

  @Test
  void whileItAbstainsGrantsCarryWhatNoNodeHas() {
    Verdict young = rules.judge(audit(seen(NOW_MILLIS)), median(0));
    assertNull(BirthMark.parse(young.birth()));
    assertTrue(!young.birth().isEmpty());
    assertEquals(young.birth(), Verdict.refused("").birth());
  }

  @Test
  void misreadClockMakesANodeAbstainForLonger() {
    assertEquals(10, rules.judge(audit(seen(NOW_MILLIS - Q)), misread(0, 5_000)).remainingMillis());
  }

  @Test
  void adoptedNodeVotesAtOnce() {
    BirthMark adopted = seen(NOW_MILLIS).adopted();
    assertEquals(Verdict.votes(adopted.guard(), null), rules.judge(audit(adopted), median(0)));
  }

  // Whose clock a mark may be made under.

  @Test
  void markIsMadeOnlyUnderATimeThatAQuorumTells() {
    for (boolean byMedian : new boolean[] {false, true}) {
      Surroundings alone =
          marking(new Surroundings(now(), byMedian, OptionalLong.empty(), 0, false, KEEP, ""));
      Verdict verdict = rules.judge(audit(""), alone);
      assertEquals(Stand.ABSTAINS, verdict.stand());
      assertNull(verdict.refresh());
    }
  }

  @Test
  void whatMayBeBeyondTheSkewIsAddedToTheTimeOfTheMark() {
    Surroundings vague =
        marking(new Surroundings(now(), true, OptionalLong.of(1_001), 0, false, KEEP, ""));
    assertEquals("+2", refresh(rules.judge(audit(""), vague)).firstSeen());
  }

  @Test
  void markOfALaterTimeIsKeptUpToTheSkewAndMakesTheNodeAbstainForLonger() {
    BirthMark ahead = seen(NOW_MILLIS + SKEW_MICROS / 1_000);
    Verdict verdict = rules.judge(audit(ahead), median(0));
    assertEquals(Q + SKEW_MICROS / 1_000, verdict.remainingMillis());
    assertNull(verdict.refresh());
    assertMarkedAnew(seen(NOW_MILLIS + SKEW_MICROS / 1_000 + 1), median(0));
  }

  @Test
  void clockFarFromTheMedianIsRefusedWithBothValues() {
    for (long sign : new long[] {1, -1}) {
      Verdict verdict = rules.judge(audit(""), median(sign * (SKEW_MICROS + 1_000)));
      assertEquals(Stand.REFUSED, verdict.stand());
      assertTrue(verdict.reason().contains("node " + NOW_MILLIS), verdict.reason());
      assertTrue(
          verdict.reason().contains("median " + (NOW_MILLIS + sign * (SKEW_MICROS / 1_000 + 1))),
          verdict.reason());
      assertEquals(
          Stand.VOTES,
          rules.judge(audit(seen(NOW_MILLIS - Q)), median(sign * SKEW_MICROS)).stand());
    }
  }

  @Test
  void clockIsNotRefusedByOneOtherOpinion() {
    Surroundings own = new Surroundings(0, false, OptionalLong.empty(), 0, false, KEEP, "");
    assertEquals(Stand.VOTES, rules.judge(audit(seen(NOW_MILLIS - Q)), own).stand());
  }

  // What is refused.

  @Test
  void markThatIsNotUnderstoodIsLeftAloneAndRefused() {
    Verdict verdict = rules.judge(audit("2 of a later version"), median(0));
    assertEquals(Stand.REFUSED, verdict.stand());
    assertNull(verdict.refresh());
  }

  @Test
  void replicaIsRefused() {
    assertRefused(
        new NodeAudit("7", RUN, "slave", "standalone", REPL, 0, 0, "noeviction", 0, now(), ""),
        "address its master");
  }

  @Test
  void clusterIsRefused() {
    assertRefused(
        new NodeAudit("7", RUN, "master", "cluster", REPL, 0, 0, "noeviction", 0, now(), ""),
        "cluster mode");
  }

  @Test
  void evictionIsRefusedWhereThereIsALimit() {
    assertRefused(
        new NodeAudit("7", RUN, "master", "standalone", REPL, 0, 1, "volatile-ttl", 0, now(), ""),
        "set maxmemory-policy noeviction");
    NodeAudit unlimited =
        new NodeAudit("7", RUN, "master", "standalone", REPL, 0, 0, "volatile-ttl", 0, now(), "");
    assertEquals(Stand.ABSTAINS, rules.judge(unlimited, marking(median(0))).stand());
  }

  @Test
  void sameServerTwiceIsRefused() {
    Surroundings twin = new Surroundings(now(), true, SAME_TIME, 0, false, KEEP, "node-a");
    Verdict verdict = rules.judge(audit(seen(NOW_MILLIS - Q)), twin);
    assertEquals(Stand.REFUSED, verdict.stand());
    assertTrue(verdict.reason().contains("same server as node node-a"), verdict.reason());
  }

  private void assertRefused(NodeAudit audit, String reason) {
    for (TrustRules each : new TrustRules[] {rules, unguarded}) {
      Verdict verdict = each.judge(audit, median(0));
      assertEquals(Stand.REFUSED, verdict.stand());
      assertTrue(verdict.reason().contains(reason), verdict.reason());
      assertNull(verdict.refresh());
    }
  }

  // Without the guard.

  @Test
  void withoutTheGuardEveryNodeVotesAndCarriesAMarkThatSaysSo() {
    BirthMark marked = Marks.founded(RUN, REPL, NOW_MILLIS, false, NAMES);
    Advice.Write write = new Advice.Write(marked.serves(), marked.agreement(), true);
    Verdict verdict = unguarded.judge(audit(""), advised(write));
    assertEquals(Stand.VOTES, verdict.stand());
    assertEquals("", verdict.birth());
    assertEquals(Marks.founded(RUN, REPL, BirthMark.NOW, false, NAMES), refresh(verdict).mark());
    assertEquals(Verdict.votes("", null), unguarded.judge(audit(marked), median(0)));
    Advice.Write founding = new Advice.Write(marked.serves(), marked.agreement(), false);
    verdict = unguarded.judge(audit(""), advised(founding));
    assertEquals(Stand.ABSTAINS, verdict.stand(), "its set is not founded yet");
  }

  @Test
  void connectedReplicasAreWorthAWarning() {
    assertNull(TrustRules.warning(audit("")));
    NodeAudit audit =
        new NodeAudit("7", RUN, "master", "standalone", REPL, 2, 0, "noeviction", 0, now(), "");
    assertTrue(String.valueOf(TrustRules.warning(audit)).contains("2 connected replicas"));
  }

  private static long now() {
    return NOW_MILLIS * 1_000;
  }

  private static NodeAudit audit(String birth) {
    return new NodeAudit(
        "7", RUN, "master", "standalone", REPL, 0, 0, "noeviction", 0, now(), birth);
  }

  private static NodeAudit audit(BirthMark mark) {
    assertEquals(mark, BirthMark.parse(mark.toString()));
    return audit(mark.toString());
  }

  private static BirthMark seen(long atMillis) {
    return Marks.founded(RUN, REPL, atMillis, true, NAMES);
  }

  private static Refresh refresh(Verdict verdict) {
    Refresh refresh = verdict.refresh();
    assertNotNull(refresh);
    return refresh;
  }

  /** A median clock that is so far ahead of the node's. */
  private static Surroundings median(long aheadMicros) {
    return misread(aheadMicros, 0);
  }

  private static Surroundings advised(Advice advice) {
    return new Surroundings(now(), true, SAME_TIME, 0, false, advice, "");
  }

  /** The same, where the mark of the set is to be written. */
  private static Surroundings marking(Surroundings around) {
    BirthMark mark = seen(NOW_MILLIS);
    return new Surroundings(
        around.clockMicros(),
        around.byMedian(),
        around.beyondSkewMicros(),
        around.uncertaintyMicros(),
        around.othersInUse(),
        new Advice.Write(mark.serves(), mark.agreement(), true),
        around.sameServerAs());
  }

  @Test
  void adoptingIsOnlyOfferedWhereItCanHelp() {
    Surroundings used = marking(median(0)).counting(true);
    BirthMark lost = Marks.founded("cccc", REPL, NOW_MILLIS - 10 * Q, true, NAMES);
    assertTrue(rules.judge(audit(""), marking(median(0))).reason().contains("adopted"));
    assertFalse(rules.judge(audit(""), used).reason().contains("adopted"));
    assertFalse(rules.judge(audit(lost), marking(median(0))).reason().contains("adopted"));
    assertTrue(rules.judge(audit(seen(NOW_MILLIS)), median(0)).reason().contains("adopted"));
    assertFalse(
        rules
            .judge(audit(seen(NOW_MILLIS)), median(0).counting(true))
            .reason()
            .contains("adopted"));
  }

  @Test
  void markThatAsksForMoreThanAnyClientMayNeedCountsAsTheBound() {
    String month =
        seen(1).toString().replace(" 34302 ", " " + Duration.ofDays(30).toMillis() + " ");
    BirthMark parsed = BirthMark.parse(month);
    assertNotNull(parsed);
    assertEquals(Duration.ofHours(2).toMillis(), parsed.agreement().abstentionMillis());
  }

  @Test
  void namesOfMastersMayHaveAnyCharacter() {
    List<String> names = List.of("[::1]:6379", "one; two, three=4|%3A \u00e9", "a:1");
    BirthMark mark = Marks.founded(RUN, REPL, 1, true, names);
    assertEquals(mark, BirthMark.parse(mark.toString()));
  }

  // To the microsecond.

  private static Surroundings misread(long aheadMicros, long uncertaintyMicros) {
    return new Surroundings(
        now() + aheadMicros, true, SAME_TIME, uncertaintyMicros, false, KEEP, "");
  }

  @Test
  void clockIsRefusedBeyondTheSkewAndWhatMayBeMisread() {
    BirthMark old = seen(NOW_MILLIS - 2 * Q);
    assertEquals(Stand.VOTES, rules.judge(audit(old), misread(SKEW_MICROS + 9, 9)).stand());
    assertEquals(Stand.REFUSED, rules.judge(audit(old), misread(SKEW_MICROS + 10, 9)).stand());
    assertEquals(Stand.VOTES, rules.judge(audit(old), misread(-SKEW_MICROS - 9, 9)).stand());
    assertEquals(Stand.REFUSED, rules.judge(audit(old), misread(-SKEW_MICROS - 10, 9)).stand());
  }

  @Test
  void wrongClockIsDescribed() {
    assertEquals(
        "its clock is 62.5s behind the median of the nodes, more than the skew of 2.0s (node "
            + NOW_MILLIS
            + ", median "
            + (NOW_MILLIS + 62_500)
            + " ms since 1970): set its clock",
        rules.judge(audit(""), median(62_500_000)).reason());
    String ahead = rules.judge(audit(""), median(-62_500_000)).reason();
    assertTrue(ahead.startsWith("its clock is 62.5s ahead of the median"), ahead);
  }

  @Test
  void markMayComeFromAFutureThatTheSkewAndTheReadingsExplain() {
    long ahead = SKEW_MICROS / 1_000 + 20; // each clock misread by 10 ms
    BirthMark mark = seen(NOW_MILLIS + ahead);
    assertNull(rules.judge(audit(mark), misread(0, 10_000)).refresh());
    BirthMark later = seen(NOW_MILLIS + ahead + 1);
    assertNotNull(rules.judge(audit(later), misread(0, 10_000)).refresh());
  }

  @Test
  void policyOfEvictionMattersOnlyWhereThereIsALimit() {
    BirthMark old = seen(NOW_MILLIS - 2 * Q);
    NodeAudit unlimited =
        new NodeAudit(
            "7", RUN, "master", "standalone", REPL, 0, 0, "allkeys-lru", 0, now(), old.toString());
    assertEquals(Stand.VOTES, rules.judge(unlimited, median(0)).stand());
    NodeAudit limited =
        new NodeAudit(
            "7", RUN, "master", "standalone", REPL, 0, 1, "noeviction", 0, now(), old.toString());
    assertEquals(Stand.VOTES, rules.judge(limited, median(0)).stand());
  }

  @Test
  void timeOfTheFirstSightIsThatOfTheMarkOrOfItsWriting() {
    assertEquals("5", new Refresh("", seen(5)).firstSeen());
    assertEquals("+7", new Refresh("", seen(BirthMark.NOW), 7).firstSeen());
  }

  @Test
  void adoptedMarkIsSettledIfAClientUsesIt() {
    BirthMark adopted = seen(NOW_MILLIS).adopted();
    assertTrue(adopted.isAdopted());
    assertTrue(adopted.isSettled(audit("")));
    assertTrue(seen(NOW_MILLIS - Q).isSettled(audit("")));
    assertFalse(seen(NOW_MILLIS - Q + 1).isSettled(audit("")));
  }
}
