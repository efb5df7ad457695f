package io.redlock.jedis.trust;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.jedis.trust.NodeAudit.Refresh;
import io.redlock.jedis.trust.TrustRules.Surroundings;
import io.redlock.jedis.trust.Verdict.Stand;
import java.time.Duration;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

class TrustRulesTest {

  private static final String RUN = "aaaa";
  private static final String REPL = "bbbb";
  private static final long NOW_MILLIS = 1_700_000_000_000L;
  private static final long SKEW_MICROS = 2_000_000;
  private static final long Q = 34_302;

  private static final String ME = "me:1";

  private static final OptionalLong SAME_TIME = OptionalLong.of(0);

  private final TrustRules rules = new TrustRules(Membership.of(3), true, Q, SKEW_MICROS, ME);
  private final TrustRules unguarded = new TrustRules(Membership.of(3), false, Q, SKEW_MICROS, ME);

  // What abstains, and for how long.

  @Test
  void abstentionIsTheLongestTtlWithItsDriftAndTwiceTheSkew() {
    assertEquals(
        30_000 + 300 + 2 + 2 * 2_000,
        TrustRules.of(Membership.of(3), true, Duration.ofSeconds(30), 0.01, SKEW_MICROS)
            .abstentionMillis());
    assertEquals(
        11 + 1 + 2 + 2 * 2,
        TrustRules.of(Membership.of(3), true, Duration.ofNanos(10_000_001), 0.01, 1_001)
            .abstentionMillis());
  }

  @Test
  void nodeWithoutAMarkIsMarkedAndAbstains() {
    Verdict verdict = rules.judge(audit(""), median(0));
    assertEquals(Stand.ABSTAINS, verdict.stand());
    assertEquals(Q, verdict.remainingMillis());
    Refresh refresh = refresh(verdict);
    assertEquals("", refresh.seen());
    assertEquals(
        new BirthMark(RUN, REPL, BirthMark.NOW, false, Q, Served.of("3"), true, ME),
        refresh.mark());
    assertEquals("3 aaaa bbbb ", refresh.mark().head());
    assertEquals("+0", refresh.firstSeen());
    assertEquals(" seen 34302 |3| guarded me:1", refresh.mark().tail());
  }

  @Test
  void markOfAnotherProcessIsRenewed() {
    assertMarkedAnew(
        new BirthMark("cccc", REPL, NOW_MILLIS - 10 * Q, false, Q, Served.of("3"), true));
    assertMarkedAnew(
        new BirthMark("cccc", REPL, NOW_MILLIS - 10 * Q, true, Q, Served.of("3"), true));
  }

  @Test
  void markOfAnotherReplicationHistoryIsRenewed() {
    assertMarkedAnew(
        new BirthMark(RUN, "cccc", NOW_MILLIS - 10 * Q, false, Q, Served.of("3"), true));
    assertMarkedAnew(
        new BirthMark(RUN, "cccc", NOW_MILLIS - 10 * Q, true, Q, Served.of("3"), true));
  }

  @Test
  void markThatIsNotItsOwnIsNoReasonToRefuse() {
    assertMarkedAnew(new BirthMark("cccc", REPL, NOW_MILLIS, false, Q, Served.of("5"), false));
  }

  private void assertMarkedAnew(BirthMark old) {
    Verdict verdict = rules.judge(audit(old), median(0));
    assertEquals(Stand.ABSTAINS, verdict.stand());
    assertEquals(Q, verdict.remainingMillis());
    assertEquals(old.toString(), refresh(verdict).seen());
    assertEquals(
        new BirthMark(RUN, REPL, BirthMark.NOW, false, Q, Served.of("3"), true, ME),
        refresh(verdict).mark());
  }

  @Test
  void markThatAsksForMoreThanThisClientNeedsIsHeededWhenItIsRenewed() {
    Surroundings longer =
        new Surroundings(NOW_MILLIS * 1_000, true, SAME_TIME, 0, asking(2 * Q), false, "");
    Verdict verdict = rules.judge(audit(""), longer);
    assertEquals(2 * Q, verdict.remainingMillis());
    assertEquals(2 * Q, refresh(verdict).mark().abstentionMillis());
  }

  @Test
  void youngNodeAbstainsUntilItIsOldEnough() {
    Verdict young = rules.judge(audit(seen(NOW_MILLIS - Q + 1)), median(0));
    assertEquals(Stand.ABSTAINS, young.stand());
    assertEquals(1, young.remainingMillis());
    assertNull(young.refresh());
    BirthMark old = seen(NOW_MILLIS - Q);
    assertEquals(Verdict.votes(old.toString(), null), rules.judge(audit(old), median(0)));
  }

  @Test
  void whileItAbstainsGrantsCarryWhatNoNodeHas() {
    Verdict young = rules.judge(audit(seen(NOW_MILLIS)), median(0));
    assertNull(BirthMark.parse(young.birth()));
    assertTrue(!young.birth().isEmpty());
    assertEquals(young.birth(), Verdict.refused("").birth());
  }

  @Test
  void longestAbstentionOfAnyNodeCounts() {
    Surroundings longer =
        new Surroundings(NOW_MILLIS * 1_000, true, SAME_TIME, 0, asking(3 * Q), false, "");
    Verdict young = rules.judge(audit(seen(NOW_MILLIS - 2 * Q)), longer);
    assertEquals(Stand.ABSTAINS, young.stand());
    assertEquals(Q, young.remainingMillis());
  }

  @Test
  void markOfAClientThatNeedsLessIsLengthenedFirst() {
    BirthMark shorter =
        new BirthMark(RUN, REPL, NOW_MILLIS - 10 * Q, false, Q - 1, Served.of("3"), true);
    Verdict verdict = rules.judge(audit(shorter), median(0));
    assertEquals(Stand.ABSTAINS, verdict.stand());
    assertEquals(
        new Refresh(
            shorter.toString(),
            new BirthMark(RUN, REPL, NOW_MILLIS - 10 * Q, false, Q, Served.of("3"), true, ME)),
        verdict.refresh());
  }

  @Test
  void misreadClockMakesANodeAbstainForLonger() {
    Surroundings slow =
        new Surroundings(NOW_MILLIS * 1_000, true, SAME_TIME, 5_000, null, false, "");
    assertEquals(10, rules.judge(audit(seen(NOW_MILLIS - Q)), slow).remainingMillis());
  }

  @Test
  void adoptedNodeVotesAtOnce() {
    BirthMark adopted = new BirthMark(RUN, REPL, NOW_MILLIS, true, Q, Served.of("3"), true);
    assertEquals(Verdict.votes(adopted.toString(), null), rules.judge(audit(adopted), median(0)));
  }

  // Whose clock a mark may be made under.

  @Test
  void markIsMadeOnlyUnderATimeThatAQuorumTells() {
    for (boolean byMedian : new boolean[] {false, true}) {
      Surroundings alone =
          new Surroundings(now(), byMedian, OptionalLong.empty(), 0, null, false, "");
      Verdict verdict = rules.judge(audit(""), alone);
      assertEquals(Stand.ABSTAINS, verdict.stand());
      assertNull(verdict.refresh());
    }
  }

  @Test
  void whatMayBeBeyondTheSkewIsAddedToTheTimeOfTheMark() {
    Surroundings vague = new Surroundings(now(), true, OptionalLong.of(1_001), 0, null, false, "");
    assertEquals("+2", refresh(rules.judge(audit(""), vague)).firstSeen());
  }

  @Test
  void markOfALaterTimeIsKeptUpToTheSkewAndMakesTheNodeAbstainForLonger() {
    BirthMark ahead = seen(NOW_MILLIS + SKEW_MICROS / 1_000);
    Verdict verdict = rules.judge(audit(ahead), median(0));
    assertEquals(Q + SKEW_MICROS / 1_000, verdict.remainingMillis());
    assertNull(verdict.refresh());
    assertMarkedAnew(seen(NOW_MILLIS + SKEW_MICROS / 1_000 + 1));
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
    Surroundings own = new Surroundings(0, false, OptionalLong.empty(), 0, null, false, "");
    assertEquals(Stand.VOTES, rules.judge(audit(seen(NOW_MILLIS - Q)), own).stand());
  }

  // What is refused.

  @Test
  void clientsOfOneNodeAgreeOnTheGuard() {
    BirthMark mark = seen(NOW_MILLIS - Q);
    Verdict verdict = unguarded.judge(audit(mark), median(0));
    assertEquals(Stand.REFUSED, verdict.stand());
    assertTrue(verdict.reason().contains("restartGuard(true)"), verdict.reason());
    BirthMark without = new BirthMark(RUN, REPL, NOW_MILLIS - Q, false, Q, Served.of("3"), false);
    verdict = rules.judge(audit(without), median(0));
    assertEquals(Stand.REFUSED, verdict.stand());
    assertTrue(verdict.reason().contains("restartGuard(false)"), verdict.reason());
    assertTrue(verdict.reason().contains("delete redlock:birth"), verdict.reason());
  }

  @Test
  void clientsOfOneNodeAgreeOnTheNumberOfNodes() {
    BirthMark five = new BirthMark(RUN, REPL, NOW_MILLIS - Q, false, Q, Served.of("5"), true);
    Verdict verdict = rules.judge(audit(five), median(0));
    assertEquals(Stand.REFUSED, verdict.stand());
    assertTrue(verdict.reason().contains("one of 5 nodes, this one as one of 3"), verdict.reason());
  }

  @Test
  void markThatIsNotUnderstoodIsLeftAloneAndRefused() {
    Verdict verdict = rules.judge(audit("2 of a later version"), median(0));
    assertEquals(Stand.REFUSED, verdict.stand());
    assertNull(verdict.refresh());
  }

  @Test
  void replicaIsRefused() {
    assertRefused(
        new NodeAudit("7", RUN, "slave", "standalone", REPL, 0, 0, "noeviction", now(), ""),
        "address its master");
  }

  @Test
  void clusterIsRefused() {
    assertRefused(
        new NodeAudit("7", RUN, "master", "cluster", REPL, 0, 0, "noeviction", now(), ""),
        "cluster mode");
  }

  @Test
  void evictionIsRefusedWhereThereIsALimit() {
    assertRefused(
        new NodeAudit("7", RUN, "master", "standalone", REPL, 0, 1, "volatile-ttl", now(), ""),
        "set maxmemory-policy noeviction");
    NodeAudit unlimited =
        new NodeAudit("7", RUN, "master", "standalone", REPL, 0, 0, "volatile-ttl", now(), "");
    assertEquals(Stand.ABSTAINS, rules.judge(unlimited, median(0)).stand());
  }

  @Test
  void sameServerTwiceIsRefused() {
    Surroundings twin = new Surroundings(now(), true, SAME_TIME, 0, null, false, "node-a");
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
    Verdict verdict = unguarded.judge(audit(""), median(0));
    assertEquals(Stand.VOTES, verdict.stand());
    assertEquals("", verdict.birth());
    assertEquals(
        new BirthMark(RUN, REPL, BirthMark.NOW, false, Q, Served.of("3"), false, ME),
        refresh(verdict).mark());
    BirthMark marked = new BirthMark(RUN, REPL, NOW_MILLIS, false, Q, Served.of("3"), false);
    assertEquals(Verdict.votes("", null), unguarded.judge(audit(marked), median(0)));
  }

  @Test
  void connectedReplicasAreWorthAWarning() {
    assertNull(TrustRules.warning(audit("")));
    NodeAudit audit =
        new NodeAudit("7", RUN, "master", "standalone", REPL, 2, 0, "noeviction", now(), "");
    assertTrue(String.valueOf(TrustRules.warning(audit)).contains("2 connected replicas"));
  }

  private static long now() {
    return NOW_MILLIS * 1_000;
  }

  private static NodeAudit audit(String birth) {
    return new NodeAudit("7", RUN, "master", "standalone", REPL, 0, 0, "noeviction", now(), birth);
  }

  private static NodeAudit audit(BirthMark mark) {
    assertEquals(mark, BirthMark.parse(mark.toString()));
    return audit(mark.toString());
  }

  private static BirthMark seen(long atMillis) {
    return new BirthMark(RUN, REPL, atMillis, false, Q, Served.of("3"), true);
  }

  private static Refresh refresh(Verdict verdict) {
    Refresh refresh = verdict.refresh();
    assertNotNull(refresh);
    return refresh;
  }

  /** A median clock that is so far ahead of the node's. */
  private static Surroundings median(long aheadMicros) {
    return new Surroundings(now() + aheadMicros, true, SAME_TIME, 0, null, false, "");
  }

  private static BirthMark asking(long millis) {
    return new BirthMark(RUN, REPL, 1, false, millis, Served.of("3"), true, "batch-7:4711");
  }

  // Who asked for the longest abstention, and whether adopting helps.

  @Test
  void reasonNamesTheClientThatAskedForTheLongestAbstention() {
    Surroundings longer = new Surroundings(now(), true, SAME_TIME, 0, asking(3 * Q), false, "");
    Verdict young = rules.judge(audit(seen(NOW_MILLIS)), longer);
    assertEquals(
        "its data is new; it votes in 103s, because client batch-7:4711 asked for 102s;"
            + " brand-new masters can be adopted, all together",
        young.reason());
    Verdict renewed = rules.judge(audit(""), longer);
    assertEquals("batch-7:4711", refresh(renewed).mark().asker());
    assertEquals("me:1", refresh(rules.judge(audit(""), median(0))).mark().asker());
  }

  @Test
  void adoptingIsOnlyOfferedWhereItCanHelp() {
    Surroundings used = new Surroundings(now(), true, SAME_TIME, 0, null, true, "");
    BirthMark lost =
        new BirthMark("cccc", REPL, NOW_MILLIS - 10 * Q, false, Q, Served.of("3"), true);
    assertTrue(rules.judge(audit(""), median(0)).reason().contains("adopted"));
    assertFalse(rules.judge(audit(""), used).reason().contains("adopted"));
    assertFalse(rules.judge(audit(lost), median(0)).reason().contains("adopted"));
    assertTrue(rules.judge(audit(seen(NOW_MILLIS)), median(0)).reason().contains("adopted"));
    assertFalse(rules.judge(audit(seen(NOW_MILLIS)), used).reason().contains("adopted"));
  }

  @Test
  void markThatAsksForMoreThanAnyClientMayNeedCountsAsTheBound() {
    long monthMillis = Duration.ofDays(30).toMillis();
    BirthMark parsed = BirthMark.parse(asking(monthMillis).toString());
    assertNotNull(parsed);
    assertEquals(Duration.ofHours(2).toMillis(), parsed.abstentionMillis());
  }

  @Test
  void markOfTheFirstVersionIsUnderstood() {
    BirthMark old = BirthMark.parse("1 aaaa bbbb 1700000000000 seen 34302 3 guarded");
    assertEquals(new BirthMark(RUN, REPL, NOW_MILLIS, false, Q, Served.of("3"), true), old);
    assertNotNull(old);
    assertEquals("-", old.asker());
  }

  @Test
  void clientsNameIsShortPrintableAndWithoutBlanks() {
    assertEquals("host-1:42", BirthMark.asker("host-1", 42));
    assertEquals("h??t?:42", BirthMark.asker("h\u00f6\u0000t ", 42));
    assertEquals("x".repeat(40) + ":7", BirthMark.asker("x".repeat(300), 7));
    BirthMark mark = asking(Q).abstaining(2 * Q, BirthMark.asker("host-1", 42));
    assertEquals(mark, BirthMark.parse(mark.toString()));
    BirthMark longest = asking(Q).abstaining(Q, BirthMark.asker("x".repeat(300), Long.MAX_VALUE));
    assertEquals(longest, BirthMark.parse(longest.toString()));
  }

  // To the microsecond.

  private static Surroundings misread(long aheadMicros, long uncertaintyMicros) {
    return new Surroundings(
        now() + aheadMicros, true, SAME_TIME, uncertaintyMicros, null, false, "");
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
            "7", RUN, "master", "standalone", REPL, 0, 0, "allkeys-lru", now(), old.toString());
    assertEquals(Stand.VOTES, rules.judge(unlimited, median(0)).stand());
    NodeAudit limited =
        new NodeAudit(
            "7", RUN, "master", "standalone", REPL, 0, 1, "noeviction", now(), old.toString());
    assertEquals(Stand.VOTES, rules.judge(limited, median(0)).stand());
  }

  @Test
  void clientThatAsksForAsMuchAsAnotherAsksForItself() {
    Surroundings same = new Surroundings(now(), true, SAME_TIME, 0, asking(Q), false, "");
    Verdict verdict = rules.judge(audit(""), same);
    assertEquals(ME, refresh(verdict).mark().asker());
    assertFalse(verdict.reason().contains("asked for"), verdict.reason());
    Surroundings less = new Surroundings(now(), true, SAME_TIME, 0, asking(Q - 1), false, "");
    verdict = rules.judge(audit(""), less);
    assertEquals(ME, refresh(verdict).mark().asker());
    assertFalse(verdict.reason().contains("asked for"), verdict.reason());
  }

  @Test
  void sameRulesAreAskedForUnderAnotherName() {
    assertEquals(
        new TrustRules(Membership.of(3), true, Q, SKEW_MICROS, "you:2"), rules.askedBy("you:2"));
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
    assertFalse(adopted.forgetful().isSettled(audit("")));
    assertTrue(seen(NOW_MILLIS - Q).isSettled(audit("")));
    assertFalse(seen(NOW_MILLIS - Q + 1).isSettled(audit("")));
  }
}
