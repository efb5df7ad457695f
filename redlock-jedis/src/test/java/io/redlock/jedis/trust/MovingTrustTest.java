package io.redlock.jedis.trust;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.jedis.trust.TrustRules.Surroundings;
import io.redlock.jedis.trust.Verdict.Stand;
import io.redlock.spi.Quorum;
import io.redlock.spi.Ticker;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

/** Trust while clients move from three masters to five. */
class MovingTrustTest {

  private static final long Q = 34_302;
  private static final long SKEW_MICROS = 2_000_000;
  private static final long NOW_MILLIS = 1_700_000_000_000L;
  private static final String JOINT = "3>5#k7f2";

  private static final Served BEFORE = Served.of("3");
  private static final Served PREPARED = Served.of("3", JOINT);
  private static final Served COMMITTED = Served.of(JOINT);
  private static final Served OPENED = Served.of(JOINT, "5");
  private static final Served FINISHED = Served.of("5");
  private static final List<Served> ALL =
      List.of(BEFORE, PREPARED, COMMITTED, OPENED, FINISHED, Served.NOBODY);

  private static final TrustRules OLD = rules(Membership.of(3));
  private static final TrustRules MOVING = rules(new Membership(3, 5));
  private static final TrustRules NEW = rules(Membership.of(5));

  private static TrustRules rules(Membership membership) {
    return new TrustRules(membership, true, Q, SKEW_MICROS, "me:1");
  }

  private static String mark(Served served) {
    return new BirthMark("run", "repl", NOW_MILLIS - 2 * Q, false, Q, served, true).toString();
  }

  private static NodeAudit audit(String runId, String birth) {
    return new NodeAudit(
        "7", runId, "master", "standalone", "repl", 0, 0, "noeviction", NOW_MILLIS * 1_000, birth);
  }

  private static Surroundings around(Optional<String> change, boolean othersChanging) {
    return new Surroundings(
        NOW_MILLIS * 1_000, true, OptionalLong.of(0), 0, null, true, change, othersChanging, "");
  }

  private static Verdict judge(TrustRules rules, Served served) {
    return rules.judge(audit("run", mark(served)), around(Optional.of("k7f2"), true));
  }

  @Test
  void nodeVotesForTheClientsThatItServesAndForNoOther() {
    for (Served served : ALL) {
      assertEquals(served.includes("3"), judge(OLD, served).stand() == Stand.VOTES);
      assertEquals(served.includes(JOINT), judge(MOVING, served).stand() == Stand.VOTES);
      assertEquals(served.includes("5"), judge(NEW, served).stand() == Stand.VOTES);
      for (TrustRules rules : List.of(OLD, MOVING, NEW)) {
        Verdict verdict = judge(rules, served);
        assertTrue(verdict.stand() != Stand.ABSTAINS, verdict::toString);
        assertNull(verdict.refresh(), "no client changes what a node serves");
      }
    }
  }

  @Test
  void clientThatSkippedAStepReadsWhichOne() {
    assertRefused(OLD, COMMITTED, "committed: first run this client with movingTo");
    assertRefused(OLD, OPENED, "committed: first run this client with movingTo");
    assertRefused(OLD, FINISHED, "as one of 5 nodes, this one as one of 3: list the same nodes");
    assertRefused(OLD, Served.NOBODY, "has left this deployment: list the present masters");
    assertRefused(MOVING, BEFORE, "first run redlock resize prepare");
    assertRefused(MOVING, FINISHED, "the change to 5 masters is finished");
    assertRefused(MOVING, Served.NOBODY, "has left this deployment");
    assertRefused(MOVING, Served.of("3>5#other"), "another change of masters than this client");
    assertRefused(NEW, BEFORE, "as one of 3 nodes, this one as one of 5");
    assertRefused(NEW, PREPARED, "not committed: first run redlock resize commit");
    assertRefused(NEW, COMMITTED, "not committed: first run redlock resize commit");
    assertRefused(NEW, Served.NOBODY, "has left this deployment");
    TrustRules swapping = rules(new Membership(3, 3));
    assertRefused(swapping, BEFORE, "first run redlock resize prepare");
  }

  private static void assertRefused(TrustRules rules, Served served, String reason) {
    Verdict verdict = judge(rules, served);
    assertEquals(Stand.REFUSED, verdict.stand());
    assertTrue(verdict.reason().contains(reason), verdict.reason());
  }

  @Test
  void nodeThatLostItsMarkInAChangeIsMarkedByMovingClientsAlone() {
    Surroundings changing = around(Optional.of("k7f2"), true);
    Verdict byMoving = MOVING.judge(audit("run", ""), changing);
    assertEquals(Stand.ABSTAINS, byMoving.stand());
    assertNotNull(byMoving.refresh());
    assertEquals(COMMITTED, byMoving.refresh().mark().serves(), "it takes no step back");
    for (TrustRules rules : List.of(OLD, NEW)) {
      Verdict verdict = rules.judge(audit("run", ""), changing);
      assertEquals(Stand.ABSTAINS, verdict.stand());
      assertNull(verdict.refresh());
      assertTrue(verdict.reason().contains("run the last redlock resize command again"));
    }
    Verdict calm = OLD.judge(audit("run", ""), around(Optional.empty(), false));
    assertNotNull(calm.refresh());
    assertEquals(BEFORE, calm.refresh().mark().serves());
  }

  @Test
  void movingClientMarksNothingBeforeItKnowsTheChange() {
    Verdict verdict = MOVING.judge(audit("run", ""), around(Optional.empty(), false));
    assertEquals(Stand.REFUSED, verdict.stand());
    assertNull(verdict.refresh());
    assertTrue(verdict.reason().contains("resize prepare"), verdict.reason());
  }

  @Test
  void markOfAnEarlierVersionIsWrittenAnew() {
    String old = "2 run repl " + (NOW_MILLIS - 2 * Q) + " seen " + Q + " 3 guarded me:1";
    Verdict verdict = OLD.judge(audit("run", old), around(Optional.empty(), false));
    assertEquals(Stand.ABSTAINS, verdict.stand());
    assertEquals(0, verdict.remainingMillis());
    assertNotNull(verdict.refresh());
    assertEquals(mark(BEFORE).replace("-", "me:1"), verdict.refresh().mark().toString());
    Verdict next =
        OLD.judge(
            audit("run", verdict.refresh().mark().toString()), around(Optional.empty(), false));
    assertEquals(Stand.VOTES, next.stand());
  }

  @Test
  void longerAbstentionKeepsTheClientsThatAreServed() {
    BirthMark mark = BirthMark.parse(mark(PREPARED));
    assertNotNull(mark);
    assertEquals(PREPARED, mark.abstaining(2 * Q, "you:2").serves());
    assertEquals(PREPARED, mark.adopted().serves());
    assertEquals(PREPARED, mark.forgetful().serves());
    assertEquals(OPENED, mark.serving(OPENED).serves());
    for (Served served : ALL) {
      assertEquals(mark.serving(served), BirthMark.parse(mark.serving(served).toString()));
    }
  }

  @Test
  void nameOfAClientIsNoPartOfTheList() {
    assertFalse(BirthMark.asker("a|3|b", 7).contains("|"));
  }

  // What the lanes of a moving client know together.

  private final Ticker ticker =
      new Ticker() {
        @Override
        public long monotonicNanos() {
          return 7_000_000_000L;
        }

        @Override
        public long wallMicros() {
          return NOW_MILLIS * 1_000;
        }
      };
  private final Quorum joint = new Quorum(0b00111, 0b11111);
  private final Peers peers = new Peers(joint, SKEW_MICROS);

  private Surroundings hear(int node, Served served) {
    long nanos = ticker.monotonicNanos();
    String birth =
        new BirthMark("run" + node, "repl", NOW_MILLIS - 2 * Q, false, Q, served, true).toString();
    return peers.hear(node, "n" + node, audit("run" + node, birth), nanos, nanos, ticker);
  }

  @Test
  void movingClientLearnsTheChangeThatMostNodesShowUntilItHasAQuorum() {
    assertEquals(new Membership(3, 5), peers.membership());
    assertEquals("", peers.label());
    assertEquals(Optional.of("old"), hear(0, Served.of("3>5#old")).change());
    hear(1, PREPARED);
    assertEquals(Optional.of("k7f2"), hear(2, PREPARED).change());
    assertEquals(JOINT, peers.label());
    for (int node = 0; node < 5; node++) {
      peers.judged(node, true);
    }
    assertEquals(Optional.of("k7f2"), hear(1, Served.of("3>5#later")).change());
    assertEquals(Optional.of("k7f2"), hear(2, Served.of("3>5#later")).change());
  }

  @Test
  void changeOfOtherNumbersIsNotLearned() {
    assertEquals(Optional.empty(), hear(0, Served.of("5>3#k1", "3>7#k2")).change());
  }

  @Test
  void movingClientVotesWithMajoritiesOfBothSets() {
    assertFalse(peers.judged(0, true));
    assertFalse(peers.judged(1, true), "two of three old masters, two of five new ones");
    assertTrue(peers.tooFew().contains("2 of 3 old masters and 3 of 5 new ones can"));
    assertFalse(peers.judged(3, false));
    assertTrue(peers.judged(4, true));
  }

  @Test
  void changeIsUnderWayIfAnotherNodeShowsIt() {
    Peers old = new Peers(Quorum.of(3), SKEW_MICROS);
    long nanos = ticker.monotonicNanos();
    assertFalse(
        old.hear(0, "a", audit("run", mark(PREPARED)), nanos, nanos, ticker).othersChanging());
    assertTrue(old.hear(1, "b", audit("run2", ""), nanos, nanos, ticker).othersChanging());
    old.left(0);
    assertFalse(old.hear(1, "b", audit("run2", ""), nanos, nanos, ticker).othersChanging());
    old.hear(0, "a", audit("another", mark(PREPARED)), nanos, nanos, ticker);
    assertFalse(
        old.hear(1, "b", audit("run2", ""), nanos, nanos, ticker).othersChanging(),
        "the mark is of other data");
  }

  @Test
  void clocksOfBothSetsMustAgree() {
    hear(0, PREPARED);
    hear(1, PREPARED);
    assertTrue(hear(0, PREPARED).beyondSkewMicros().isEmpty());
    assertFalse(hear(0, PREPARED).byMedian());
    assertEquals(OptionalLong.of(0), hear(3, COMMITTED).beyondSkewMicros());
    assertTrue(hear(0, PREPARED).byMedian());
  }
}
