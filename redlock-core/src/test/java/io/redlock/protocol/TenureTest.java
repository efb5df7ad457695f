package io.redlock.protocol;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.protocol.AcquireRound.Decision;
import io.redlock.protocol.Extending.Purpose;
import io.redlock.protocol.Tenure.Books;
import io.redlock.protocol.Tenure.Phase;
import io.redlock.protocol.Turn.Outcome;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReply.Kind;
import io.redlock.spi.NodeRequest.Grant;
import io.redlock.spi.NodeRequest.Release;
import io.redlock.spi.NodeRequest.Ticket;
import io.redlock.spi.Quorum;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.lang.reflect.RecordComponent;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

class TenureTest {

  private static final Quorum QUORUM = Quorum.of(3);
  private static final long TTL_MILLIS = 10_000;
  private static final long DRIFT_NANOS = 2_000_000;
  private static final long MARGIN_NANOS = 1_000_000_000;
  private static final long DEADLINE_NANOS = TTL_MILLIS * 1_000_000 - DRIFT_NANOS;
  private static final long LOSS_NANOS = DEADLINE_NANOS - MARGIN_NANOS;
  private static final List<String> NAMES = List.of("a");
  private static final long TOKEN = 5;
  private static final int FIRST_EXTEND = AcquireRound.MAX_ROUNDS + 1;

  private static final TenureRules RULES = rules(AcquireRound.MAX_ROUNDS);

  private Tenure tenure = tenure(false, false);

  /** A node timeout of 50 ms, no skew, the largest random numbers. */
  private static class Surroundings implements TenureRules.Surroundings {
    @Override
    public long nodeTimeoutNanos() {
      return 50_000_000;
    }

    @Override
    public long skewNanos() {
      return 7;
    }

    @Override
    public LeaseTerms termsFor(long validNanos) {
      return terms(validNanos / 1_000_000 + 2_000);
    }

    @Override
    public long randomNanos(long boundNanos) {
      return boundNanos - 1;
    }
  }

  private static TenureRules rules(int maxRounds) {
    return new TenureRules(maxRounds, new Surroundings());
  }

  private static Tenure tenure(boolean isFair, boolean isUnlessHeld) {
    return new Tenure(RULES, QUORUM, isFair, isUnlessHeld, false);
  }

  private static LeaseTerms terms(long ttlMillis) {
    return new LeaseTerms(QUORUM, ttlMillis, DRIFT_NANOS, MARGIN_NANOS, MARGIN_NANOS);
  }

  private void begin() {
    assertEquals(Outcome.PROPOSED, tenure.begin(terms(TTL_MILLIS), TOKEN, 0, 0).outcome());
  }

  private void propose() {
    begin();
    assertEquals(Outcome.NOTHING, tenure.handed(1, true, 0).outcome());
  }

  private void answer(int tag, NodeReply reply, int... nodes) {
    for (int node : nodes) {
      tenure.answered(node, tag, reply);
    }
  }

  private Turn decide(int tag, long nowNanos) {
    return tenure.decide(tag, nowNanos, nowNanos / 1_000);
  }

  private void hold() {
    propose();
    answer(1, NodeReply.GRANTED, 0, 1);
    assertEquals(Outcome.HELD, decide(1, 0).outcome());
  }

  private int beginExtend(long ttlMillis, long nowNanos) {
    Turn turn = tenure.extend(terms(ttlMillis), nowNanos, nowNanos / 1_000);
    assertEquals(Outcome.EXTENDING, turn.outcome());
    return turn.extending().tag();
  }

  private int extend(long ttlMillis, long nowNanos) {
    int tag = beginExtend(ttlMillis, nowNanos);
    assertEquals(Outcome.NOTHING, tenure.handed(tag, true, 0).outcome());
    return tag;
  }

  private Release release() {
    return tenure.release(NAMES, "o", true, null);
  }

  /** A property that decides how a tenure goes on must tell two states of a search apart. */
  @Test
  void booksHoldEveryPropertyThatChanges() {
    Set<String> properties =
        Arrays.stream(Tenure.class.getDeclaredFields())
            .filter(field -> (field.getModifiers() & (Modifier.FINAL | Modifier.STATIC)) == 0)
            .map(Field::getName)
            .collect(Collectors.toCollection(TreeSet::new));
    Set<String> kept =
        Arrays.stream(Books.class.getRecordComponents())
            .map(RecordComponent::getName)
            .collect(Collectors.toCollection(TreeSet::new));
    assertEquals(properties, kept);
  }

  @Test
  void tenureOpenedFromItsBooksIsTheSame() {
    hold();
    extend(1_000, 7);
    int open = beginExtend(20_000, 8);
    Books[] all = {tenure.books(), null, null};
    tenure.handed(open, true, 0);
    all[1] = tenure.books();
    tenure.end(true, 0);
    all[2] = tenure.books();
    for (Books books : all) {
      Tenure other = tenure(false, false);
      other.open(books);
      assertEquals(books, other.books());
    }
    assertFalse(all[0].equals(all[1]) || all[1].equals(all[2]));
  }

  @Test
  void grantGoesOutOnceAndNamesItsToken() {
    assertThrows(IllegalStateException.class, () -> tenure.grant(NAMES, "o", null));
    assertEquals(0, tenure.round());
    begin();
    Ticket ticket = new Ticket("c", 1, 5, 3);
    assertEquals(
        new Grant(NAMES, "o", TOKEN, 0, TTL_MILLIS, ticket), tenure.grant(NAMES, "o", ticket));
    assertEquals(1, tenure.round());
    assertEquals(TOKEN, tenure.token());
    assertEquals(Outcome.NOTHING, tenure.begin(terms(1), 9, 0, 0).outcome());
    assertEquals(TOKEN, tenure.token());
  }

  @Test
  void readersRequestsSaySoAndItsReleaseNamesTheLongestTtl() {
    tenure = new Tenure(RULES, QUORUM, false, false, true);
    hold();
    beginExtend(TTL_MILLIS + 1, 0);
    beginExtend(TTL_MILLIS, 0);
    assertTrue(tenure.isShared());
    assertEquals(
        new Release(NAMES, "o", TOKEN, 0, true, null, TTL_MILLIS + 1),
        tenure.release(NAMES, "o", true, null));
    tenure = new Tenure(RULES, QUORUM, false, false, true);
    begin();
    assertTrue(tenure.grant(NAMES, "o", null).shared());
    tenure = tenure(false, false);
    assertFalse(tenure.isShared());
    begin();
    assertFalse(tenure.grant(NAMES, "o", null).shared());
    assertFalse(release().shared());
  }

  @Test
  void nothingIsDecidedBeforeEveryNodeHasTheRequest() {
    begin();
    answer(1, NodeReply.GRANTED, 0, 1, 2);
    assertEquals(Outcome.NOTHING, decide(1, 0).outcome());
    tenure.handed(1, false, 0);
    assertEquals(Outcome.NOTHING, decide(1, 0).outcome(), "a node never got it");
    tenure.end(true, 0);
    assertEquals(Outcome.OVER, decide(1, 0).outcome());
  }

  @Test
  void quorumHoldsUntilTheLossMarginBeforeTheDeadline() {
    hold();
    assertEquals(Phase.HOLDING, tenure.phase());
    assertEquals(new Deadline(DEADLINE_NANOS, DEADLINE_NANOS / 1_000), tenure.deadline());
    assertEquals(new Deadline(LOSS_NANOS, LOSS_NANOS / 1_000), tenure.lossTime());
    assertTrue(tenure.wasGrantedBy(0));
    assertFalse(tenure.wasGrantedBy(2));
  }

  @Test
  void higherTokenIsProposedToAllAndOnlyItsGrantsCount() {
    propose();
    answer(1, NodeReply.GRANTED, 0);
    answer(1, NodeReply.stale(70), 1, 2);
    Turn turn = decide(1, 9_000);
    assertEquals(Outcome.PROPOSED, turn.outcome());
    assertFalse(turn.isRelease());
    assertEquals(2, tenure.round());
    assertEquals(new Grant(NAMES, "o", 71, 70, TTL_MILLIS, null), tenure.grant(NAMES, "o", null));
    tenure.handed(2, true, 0);
    assertTrue(tenure.counts(2));
    assertFalse(tenure.counts(1));
    answer(1, NodeReply.GRANTED, 1, 2);
    assertEquals(Outcome.NOTHING, decide(2, 9_000).outcome());
    answer(2, NodeReply.GRANTED, 1, 2);
    assertEquals(Outcome.HELD, decide(2, 9_000).outcome());
    assertEquals(DEADLINE_NANOS + 9_000, tenure.deadline().nanos());
    assertEquals(new Release(NAMES, "o", 71, 70, true, null), release());
  }

  @Test
  void lastRoundSucceedsLikeTheFirst() {
    propose();
    for (int round = 1; round < AcquireRound.MAX_ROUNDS; round++) {
      answer(round, NodeReply.stale(70), 0, 1, 2);
      assertEquals(Outcome.PROPOSED, decide(round, 0).outcome());
      tenure.handed(round + 1, true, 0);
    }
    answer(AcquireRound.MAX_ROUNDS, NodeReply.GRANTED, 0, 1);
    assertEquals(Outcome.HELD, decide(AcquireRound.MAX_ROUNDS, 0).outcome());
  }

  @Test
  void attemptEndsWithItsLastRound() {
    tenure = new Tenure(rules(2), QUORUM, false, false, false);
    propose();
    answer(1, NodeReply.stale(70), 1, 2);
    assertEquals(Outcome.PROPOSED, decide(1, 0).outcome());
    tenure.handed(2, true, 0);
    answer(2, NodeReply.stale(80), 1, 2);
    Turn turn = decide(2, 0);
    assertEquals(Outcome.FAILED, turn.outcome());
    assertEquals(Decision.PROPOSE_HIGHER, turn.attempted().decision());
  }

  @Test
  void roundIsDecidedWithoutTheMissingAnswersAfterItsTimeout() {
    propose();
    answer(1, NodeReply.GRANTED, 0);
    assertEquals(Outcome.NOTHING, decide(1, 0).outcome());
    tenure.timedOut(1);
    Turn turn = decide(1, 0);
    assertEquals(Outcome.FAILED, turn.outcome());
    assertTrue(turn.isRelease());
    assertEquals(0b111, turn.targets());
    assertEquals(Decision.UNAVAILABLE, turn.attempted().decision());
    assertFalse(turn.attempted().keepsPlace());
    assertEquals(Phase.ENDED, tenure.phase());
  }

  /** The timeout may strike while the next round has begun and is not sent. */
  @Test
  void timeoutBetweenTwoRoundsEndsTheNext() {
    propose();
    answer(1, NodeReply.stale(70), 0, 1, 2);
    decide(1, 0);
    tenure.handed(2, true, 0);
    tenure.timedOut(2);
    assertEquals(Decision.UNAVAILABLE, decide(2, 0).attempted().decision());
  }

  @Test
  void abandonedBetweenTwoRoundsIsReleasedOnceTheNextIsDropped() {
    propose();
    answer(1, NodeReply.stale(70), 0, 1);
    decide(1, 0);
    assertFalse(tenure.end(true, 0).isRelease());
    assertEquals(0, tenure.round(), "no other round starts");
    Turn turn = tenure.handed(0, false, 0);
    assertEquals(Outcome.ENDED, turn.outcome());
    assertTrue(turn.isRelease());
    assertTrue(turn.isLast());
  }

  @Test
  void fairCallerKeepsItsPlaceWhereAQuorumAnswered() {
    for (boolean isFair : new boolean[] {true, false}) {
      tenure = tenure(isFair, false);
      propose();
      answer(1, NodeReply.of(Kind.WAIT, ""), 0, 1);
      Turn turn = decide(1, 0);
      assertEquals(Outcome.FAILED, turn.outcome());
      assertTrue(turn.attempted().keepsPlace());
      assertTrue(turn.attempted().isBehindOthers());
      assertFalse(turn.isLast());
      assertEquals(0b100, turn.targets(), "only where an answer is missing");
      tenure = tenure(isFair, false);
      propose();
      answer(1, NodeReply.unreachable(""), 0, 1);
      assertEquals(isFair, decide(1, 0).isLast());
      tenure = tenure(isFair, false);
      propose();
      answer(1, NodeReply.GRANTED, 0, 1);
      turn = decide(1, LOSS_NANOS);
      assertEquals(Decision.TOO_SLOW, turn.attempted().decision());
      assertFalse(turn.attempted().keepsPlace());
      assertFalse(turn.attempted().isBehindOthers());
      assertEquals(isFair, turn.isLast());
    }
  }

  @Test
  void grantOfAPartIsNotBehindOthersAlone() {
    propose();
    answer(1, NodeReply.GRANTED, 0);
    answer(1, NodeReply.of(Kind.HELD, ""), 1, 2);
    Turn turn = decide(1, 0);
    assertEquals(Decision.CONTENDED, turn.attempted().decision());
    assertFalse(turn.attempted().isBehindOthers());
    tenure = tenure(false, false);
    propose();
    answer(1, NodeReply.unreachable(""), 0, 1);
    assertFalse(decide(1, 0).attempted().isBehindOthers(), "nobody is in the way");
  }

  @Test
  void callerThatGivesUpToAHolderWaitsUntilItIsKnown() {
    for (boolean isUnlessHeld : new boolean[] {true, false}) {
      tenure = tenure(false, isUnlessHeld);
      propose();
      answer(1, NodeReply.heldBy(100, 5, "x"), 0);
      answer(1, NodeReply.heldBy(100, 5, "y"), 1);
      assertEquals(isUnlessHeld ? Outcome.NOTHING : Outcome.FAILED, decide(1, 0).outcome());
    }
    tenure = tenure(false, true);
    propose();
    answer(1, NodeReply.heldBy(100, 5, "x"), 0, 1);
    assertEquals(Outcome.FAILED, decide(1, 0).outcome());
  }

  @Test
  void extendLengthensAndNeverShortens() {
    hold();
    int longer = extend(20_000, 0);
    assertEquals(FIRST_EXTEND, longer);
    assertEquals(Outcome.NOTHING, decide(longer, 0).outcome());
    answer(longer, NodeReply.EXTENDED, 0, 1);
    assertEquals(Outcome.EXTENDED, decide(longer, 0).outcome());
    assertEquals(DEADLINE_NANOS + 10_000_000_000L, tenure.deadline().nanos());
    assertEquals(LOSS_NANOS + 10_000_000_000L, tenure.lossTime().nanos());
    int shorter = extend(TTL_MILLIS, 0);
    answer(shorter, NodeReply.EXTENDED, 0, 1);
    assertEquals(Outcome.EXTENDED, decide(shorter, 0).outcome());
    assertEquals(DEADLINE_NANOS + 10_000_000_000L, tenure.deadline().nanos());
    assertEquals(LOSS_NANOS + 10_000_000_000L, tenure.lossTime().nanos());
    assertEquals(Outcome.OVER, decide(shorter, 0).outcome());
  }

  @Test
  void eachOfSeveralExtendsHasItsOwnAnswers() {
    hold();
    int first = extend(TTL_MILLIS, 1_000_000);
    int second = extend(TTL_MILLIS, 2_000_000);
    int third = beginExtend(TTL_MILLIS, 3_000_000);
    assertEquals(List.of(4, 5, 6), List.of(first, second, third));
    answer(second, NodeReply.EXTENDED, 0, 1);
    answer(third, NodeReply.EXTENDED, 0, 1);
    assertEquals(Outcome.NOTHING, decide(first, 0).outcome());
    assertEquals(Outcome.NOTHING, decide(third, 0).outcome(), "it is not handed to all");
    assertEquals(Outcome.EXTENDED, decide(second, 0).outcome());
    assertEquals(DEADLINE_NANOS + 2_000_000, tenure.deadline().nanos());
    assertTrue(tenure.counts(first));
    tenure.timedOut(first);
    assertEquals(Outcome.UNKNOWN, decide(first, 0).outcome());
    assertEquals(Phase.HOLDING, tenure.phase());
    tenure.timedOut(first);
    tenure.handed(third, true, 0);
    assertEquals(Outcome.EXTENDED, decide(third, 0).outcome());
  }

  @Test
  void extendThatIsRefusedLosesTheLeaseAndEveryOtherExtendIsOver() {
    hold();
    int other = extend(TTL_MILLIS, 0);
    int tag = extend(TTL_MILLIS, 0);
    answer(tag, NodeReply.NOT_HELD, 0, 1);
    assertEquals(Outcome.REFUSED, decide(tag, LOSS_NANOS - 1_000).outcome());
    assertEquals(Phase.LOST, tenure.phase());
    answer(other, NodeReply.EXTENDED, 0, 1, 2);
    assertEquals(Outcome.OVER, decide(other, 0).outcome());
    assertNull(tenure.extend(terms(TTL_MILLIS), 0, 0).extending());
    assertEquals(7, delayNanos(DEADLINE_NANOS - 7));
    assertNull(tenure.release(), "the keys stay");
    assertFalse(tenure.lose());
    assertEquals(0b111, tenure.end(true, 0).targets());
  }

  @Test
  void extendAfterTheLossTimeLosesTheLease() {
    hold();
    int tag = extend(TTL_MILLIS, 0);
    answer(tag, NodeReply.EXTENDED, 0, 1);
    assertEquals(Outcome.EXPIRED, decide(tag, LOSS_NANOS).outcome());
    assertEquals(Phase.LOST, tenure.phase());
  }

  @Test
  void leaseIsLostOnce() {
    assertFalse(tenure.lose());
    hold();
    assertTrue(tenure.lose());
    assertFalse(tenure.lose());
    tenure.end(true, 0);
    assertFalse(tenure.lose());
    assertEquals(Phase.ENDED, tenure.phase());
    assertNull(tenure.deadline());
    assertNull(tenure.lossTime());
  }

  @Test
  void ownerThatSentNothingReleasesNothing() {
    Turn turn = tenure.end(true, 0);
    assertTrue(turn.isRelease());
    assertEquals(0, turn.targets());
    assertTrue(tenure.release().isComplete());
    assertEquals(Outcome.NOTHING, tenure.begin(terms(1), 5, 0, 0).outcome());
    assertEquals(0, tenure.round());
  }

  @Test
  void releaseWaitsForEveryRequestThatIsBeingHandedOver() {
    hold();
    int first = beginExtend(TTL_MILLIS, 0);
    int second = beginExtend(TTL_MILLIS, 0);
    assertFalse(tenure.end(false, 0).isRelease());
    assertFalse(tenure.handed(first, true, 0).isRelease());
    assertFalse(tenure.end(true, 0).isRelease());
    Turn turn = tenure.handed(second, true, 0);
    assertTrue(turn.isRelease());
    assertTrue(turn.isLast(), "its caller went on at first, and gave up then");
    assertEquals(0b111, turn.targets());
    assertFalse(tenure.end(true, 0).isRelease(), "it is released once");
  }

  @Test
  void ownerWhoseCallerGoesOnSaysSo() {
    hold();
    assertFalse(tenure.end(false, 0).isLast());
  }

  @Test
  void nodeThatAnsweredOneOfTwoRequestsStillOwesOne() {
    hold();
    int tag = extend(TTL_MILLIS, 0);
    answer(tag, NodeReply.NOT_HELD, 2);
    assertEquals(0b111, tenure.end(true, 0).targets());
  }

  @Test
  void onlyNodesThatMayHoldAKeyAreReleased() {
    propose();
    answer(1, NodeReply.of(Kind.HELD, ""), 0);
    answer(1, NodeReply.of(Kind.HELD, ""), 0);
    answer(1, NodeReply.unknown(""), 1);
    assertEquals(0b110, tenure.end(true, 0).targets());
  }

  @Test
  void moreUnansweredRequestsThanCanBeCountedAreReleasedForGood() {
    hold();
    answer(1, NodeReply.of(Kind.HELD, ""), 2);
    for (int count = 0; count < 15; count++) {
      extend(TTL_MILLIS, 0);
    }
    assertEquals(0, tenure.books().footprint().unknown());
    extend(TTL_MILLIS, 0);
    assertEquals(0b111, tenure.books().footprint().unknown());
    for (int tag = FIRST_EXTEND; tag < FIRST_EXTEND + 16; tag++) {
      answer(tag, NodeReply.NOT_HELD, 2);
    }
    assertEquals(0b111, tenure.end(true, 0).targets());
  }

  // What is due.

  private static final long NEVER = Long.MAX_VALUE;
  private static final long THIRD_NANOS = 3_330_000_000L; // on the grid of renewals
  private static final long HOLD_NANOS = 60_000_000_000L;

  private long delayNanos(long nowNanos) {
    return tenure.delayNanos(nowNanos, nowNanos / 1_000);
  }

  private Turn due(long nowNanos) {
    return tenure.due(nowNanos, nowNanos / 1_000);
  }

  private void renewed() {
    hold();
    tenure.renew(terms(TTL_MILLIS), new Deadline(HOLD_NANOS, HOLD_NANOS / 1_000), 0);
  }

  /** Begins the extend that is due, and hands it to all nodes. */
  private int extendDue(Purpose purpose, long nowNanos) {
    assertTrue(delayNanos(nowNanos - 1) > 0, "not earlier");
    assertEquals(Outcome.NOTHING, due(nowNanos - 1).outcome());
    assertTrue(delayNanos(nowNanos) <= 0);
    Extending extending = due(nowNanos).extending();
    assertEquals(purpose, extending.purpose());
    tenure.handed(extending.tag(), true, nowNanos);
    return extending.tag();
  }

  private void answerAndDecide(int tag, NodeReply reply, Outcome outcome, long nowNanos) {
    answer(tag, reply, 0, 1, 2);
    assertEquals(outcome, decide(tag, nowNanos).outcome());
  }

  @Test
  void nothingIsDueBeforeThereIsALease() {
    assertEquals(NEVER, delayNanos(0));
    propose();
    assertEquals(NEVER, delayNanos(0));
    assertEquals(Outcome.NOTHING, due(DEADLINE_NANOS).outcome());
    tenure.reset(0, 0);
    tenure.renew(terms(TTL_MILLIS), new Deadline(HOLD_NANOS, 0), 0);
    assertEquals(NEVER, delayNanos(0));
    tenure.failed(FIRST_EXTEND, 0);
    answer(1, NodeReply.GRANTED, 0, 1);
    tenure.reset(0, 0);
    assertEquals(Outcome.HELD, decide(1, 0).outcome());
    assertEquals(LOSS_NANOS, delayNanos(0), "neither renewed nor confirmed");
  }

  @Test
  void holdersExtendsAndRenewalsDoNotMeet() {
    renewed();
    int called = extend(TTL_MILLIS, 1_000);
    int tag = extendDue(Purpose.RENEWED, THIRD_NANOS);
    answerAndDecide(called, NodeReply.unknown(""), Outcome.UNKNOWN, THIRD_NANOS);
    assertEquals(DEADLINE_NANOS, tenure.deadline().nanos(), "an unknown result moves nothing");
    answerAndDecide(tag, NodeReply.EXTENDED, Outcome.EXTENDED, THIRD_NANOS);
    tenure.reset(0, THIRD_NANOS);
    called = extend(TTL_MILLIS, THIRD_NANOS);
    answerAndDecide(called, NodeReply.EXTENDED, Outcome.EXTENDED, THIRD_NANOS);
    extendDue(Purpose.CONFIRMED, THIRD_NANOS);
    extendDue(Purpose.RENEWED, 2 * THIRD_NANOS);
  }

  @Test
  void leaseIsLostAtItsLossTimeAndItsKeysGoAtItsDeadline() {
    hold();
    assertEquals(1, delayNanos(LOSS_NANOS - 1));
    assertEquals(Outcome.NOTHING, due(LOSS_NANOS - 1).outcome());
    assertEquals(0, tenure.delayNanos(0, LOSS_NANOS / 1_000), "the wall clock is ahead");
    assertEquals(Outcome.EXPIRED, due(LOSS_NANOS).outcome());
    assertEquals(Phase.LOST, tenure.phase());
    assertEquals(1, tenure.delayNanos(DEADLINE_NANOS - 1, DEADLINE_NANOS));
    assertEquals(Outcome.NOTHING, due(DEADLINE_NANOS - 1).outcome());
    Turn turn = due(DEADLINE_NANOS);
    assertEquals(Outcome.ENDED, turn.outcome());
    assertTrue(turn.isLast());
    assertEquals(0b111, turn.targets());
  }

  @Test
  void leaseIsRenewedEveryThirdOfItsTtl() {
    renewed();
    assertTrue(tenure.isRenewed(0, 0));
    int tag = extendDue(Purpose.RENEWED, THIRD_NANOS);
    assertTrue(delayNanos(THIRD_NANOS) > 1_000_000_000, "one at a time");
    answerAndDecide(tag, NodeReply.EXTENDED, Outcome.EXTENDED, THIRD_NANOS + 5_000_000);
    assertEquals(DEADLINE_NANOS + THIRD_NANOS, tenure.deadline().nanos());
    extendDue(Purpose.RENEWED, 2 * THIRD_NANOS);
  }

  @Test
  void unknownRenewalIsTriedAgainAfterPausesThatGrow() {
    renewed();
    long nowNanos = THIRD_NANOS;
    long pauseNanos = 10_000_000;
    for (int failures = 0; failures < 9; failures++) {
      int tag = extendDue(Purpose.RENEWED, nowNanos);
      answerAndDecide(tag, NodeReply.unknown(""), Outcome.UNKNOWN, nowNanos);
      nowNanos += pauseNanos;
      pauseNanos = Math.min(2 * pauseNanos, 1_000_000_000);
    }
    int tag = extendDue(Purpose.RENEWED, nowNanos);
    answerAndDecide(tag, NodeReply.EXTENDED, Outcome.EXTENDED, nowNanos);
    nowNanos += THIRD_NANOS;
    nowNanos -= nowNanos % 10_000_000;
    tag = extendDue(Purpose.RENEWED, nowNanos);
    answerAndDecide(tag, NodeReply.unknown(""), Outcome.UNKNOWN, nowNanos);
    extendDue(Purpose.RENEWED, nowNanos + 10_000_000);
  }

  @Test
  void retriesOfAShortLeaseAndOfManyFailuresAreBounded() {
    Renewal renewal = Renewal.begin(terms(30), new Deadline(HOLD_NANOS, 0), 0);
    for (int failures = 0; failures < 70; failures++) {
      renewal = renewal.failed(0, RULES);
      assertEquals(10_000_000, renewal.dueNanos());
    }
    assertEquals(10_000_000, Renewal.begin(terms(30), renewal.until(), 0).dueNanos());
    assertEquals(3_000_000, Renewal.begin(terms(9), renewal.until(), 0).dueNanos() + 3_000_000);
  }

  @Test
  void requestThatANodeNeverGotCountsAsUnknown() {
    renewed();
    int tag = due(THIRD_NANOS).extending().tag();
    tenure.handed(tag, false, THIRD_NANOS);
    assertEquals(Outcome.OVER, decide(tag, THIRD_NANOS).outcome());
    extendDue(Purpose.RENEWED, THIRD_NANOS + 10_000_000);
  }

  @Test
  void extendThatIsGivenUpCountsAsUnknown() {
    renewed();
    int tag = extendDue(Purpose.RENEWED, THIRD_NANOS);
    tenure.failed(tag, THIRD_NANOS);
    assertEquals(Outcome.OVER, decide(tag, THIRD_NANOS).outcome());
    extendDue(Purpose.RENEWED, THIRD_NANOS + 10_000_000);
  }

  private final class Memory extends Surroundings {
    private boolean isShort;

    @Override
    public long randomNanos(long boundNanos) {
      if (isShort) {
        throw new OutOfMemoryError("on purpose");
      }
      return super.randomNanos(boundNanos);
    }

    void isShortDuring(Executable event) {
      isShort = true;
      assertThrows(OutOfMemoryError.class, event);
      isShort = false;
    }
  }

  @Test
  void extendThatFailsWhileMemoryIsShortIsPlannedAgain() {
    Memory memory = new Memory();
    tenure =
        new Tenure(new TenureRules(AcquireRound.MAX_ROUNDS, memory), QUORUM, false, false, false);
    hold();
    tenure.reset(0, 0);
    int tag = due(0).extending().tag();
    memory.isShortDuring(() -> tenure.handed(tag, false, 0));
    int called = beginExtend(TTL_MILLIS, 0);
    tenure.handed(0, false, 0);
    assertEquals(LOSS_NANOS, delayNanos(0), "another request is being handed over");
    tenure.handed(called, true, 0);
    int again = extendDue(Purpose.CONFIRMED, 99_999_999);
    answer(again, NodeReply.unknown(""), 0, 1, 2);
    memory.isShortDuring(() -> decide(again, 99_999_999));
    assertEquals(Outcome.UNKNOWN, decide(again, 99_999_999).outcome());
    assertEquals(Outcome.OVER, decide(again, 99_999_999).outcome());
    extendDue(Purpose.CONFIRMED, 99_999_999 + 199_999_999);
  }

  @Test
  void leaseIsNotRenewedBeyondItsLongestHold() {
    hold();
    tenure.renew(terms(TTL_MILLIS), new Deadline(THIRD_NANOS, HOLD_NANOS), 0);
    assertFalse(tenure.isRenewed(THIRD_NANOS, 0));
    assertEquals(Outcome.NOTHING, due(THIRD_NANOS).outcome());
    assertEquals(LOSS_NANOS - THIRD_NANOS, delayNanos(THIRD_NANOS));
    assertEquals(Outcome.HELD_OUT, due(LOSS_NANOS).outcome());
    assertFalse(tenure.isRenewed(0, 0));
    renewedAnew();
    assertEquals(Outcome.EXPIRED, due(LOSS_NANOS).outcome(), "it might have been renewed");
  }

  private void renewedAnew() {
    tenure = tenure(false, false);
    renewed();
  }

  @Test
  void leaseThatAResetNodeGrantedIsConfirmedAtOnce() {
    hold();
    tenure.reset(2, 7);
    assertTrue(delayNanos(7) > 7, "that node granted nothing");
    tenure.reset(0, 7);
    int tag = extendDue(Purpose.CONFIRMED, 7);
    long validMillis = (DEADLINE_NANOS - 7) / 1_000_000 + 2_000;
    assertEquals(validMillis, tenure.books().extending().get(0).round().terms().ttlMillis());
    answerAndDecide(tag, NodeReply.EXTENDED, Outcome.EXTENDED, 8);
    assertEquals(DEADLINE_NANOS, tenure.deadline().nanos(), "a confirmation moves no deadline");
    assertEquals(LOSS_NANOS - 8, delayNanos(8));
    assertTrue(tenure.wasGrantedBy(2));
  }

  @Test
  void unknownConfirmationIsAskedForEightTimesAfterPausesThatDouble() {
    hold();
    tenure = longLease();
    tenure.reset(0, 0);
    long nowNanos = 0;
    for (int asked = 1; asked <= 8; asked++) {
      int tag = extendDue(Purpose.CONFIRMED, nowNanos);
      answerAndDecide(tag, NodeReply.unknown(""), Outcome.UNKNOWN, nowNanos);
      nowNanos += (50_000_000L << asked) - 1;
    }
    assertEquals(Outcome.NOTHING, due(nowNanos).outcome());
    tenure.reset(1, nowNanos);
    extendDue(Purpose.CONFIRMED, nowNanos);
  }

  private Tenure longLease() {
    Tenure other = tenure(false, false);
    other.begin(terms(1_000_000), TOKEN, 0, 0);
    other.handed(1, true, 0);
    other.answered(0, 1, NodeReply.GRANTED);
    other.answered(1, 1, NodeReply.GRANTED);
    other.decide(1, 0, 0);
    return other;
  }

  @Test
  void resetDuringAConfirmationIsConfirmedOnceMore() {
    hold();
    tenure.reset(0, 0);
    int tag = extendDue(Purpose.CONFIRMED, 0);
    tenure.reset(1, 1);
    assertEquals(LOSS_NANOS - 1, delayNanos(1), "never two at a time");
    answerAndDecide(tag, NodeReply.EXTENDED, Outcome.EXTENDED, 2);
    tag = extendDue(Purpose.CONFIRMED, 2);
    answerAndDecide(tag, NodeReply.EXTENDED, Outcome.EXTENDED, 3);
    assertEquals(LOSS_NANOS - 3, delayNanos(3));
  }

  @Test
  void endOfTheLeaseEndsItsExtends() {
    renewed();
    tenure.reset(0, 0);
    tenure.lose();
    assertEquals(Outcome.NOTHING, due(THIRD_NANOS).outcome());
    renewedAnew();
    tenure.reset(0, 0);
    tenure.end(true, 0);
    assertEquals(NEVER, delayNanos(0));
    assertEquals(Outcome.NOTHING, due(THIRD_NANOS).outcome());
    assertNull(tenure.books().renewal());
    assertFalse(tenure.books().reaffirmation().isDue());
  }

  @Test
  void releaseGoesOnUntilItsNodesAcknowledge() {
    hold();
    Books before = tenure.books();
    tenure.released(0, NodeReply.NOT_HELD, 0);
    tenure.timedOut(Tenure.RELEASE_TAG);
    assertEquals(before, tenure.books(), "it was not sent");
    tenure.end(true, 0);
    ReleaseRound begun = tenure.release();
    Books sent = tenure.books();
    answer(1, NodeReply.GRANTED, 2);
    assertEquals(sent, tenure.books(), "what it asked before counts nothing now");
    assertSame(begun, tenure.release());
    tenure.released(0, NodeReply.RELEASED, 0);
    assertEquals(NEVER, delayNanos(0));
    tenure.released(1, NodeReply.unreachable(""), 0);
    assertTrue(tenure.release().owes(1));
    tenure.timedOut(Tenure.RELEASE_TAG);
    assertTrue(tenure.release().ballot().kind(2) == Kind.UNKNOWN);
    tenure.released(1, NodeReply.NOT_HELD, 0);
    tenure.released(2, NodeReply.NOT_HELD, 0);
    assertTrue(tenure.release().isComplete());
    assertEquals(NEVER, delayNanos(0));
    assertEquals(Outcome.NOTHING, due(HOLD_NANOS).outcome());
  }

  @Test
  void releaseIsRepeatedAfterPausesThatGrowForEachNode() {
    hold();
    tenure.end(true, 0);
    tenure.released(0, NodeReply.RELEASED, 0);
    long nowNanos = 0;
    for (int repeats = 0; repeats < 20; repeats++) {
      tenure.released(1, NodeReply.unreachable(""), nowNanos);
      long pauseNanos = 10_000_000L << Math.min(repeats, 7);
      nowNanos += pauseNanos / 2 + pauseNanos - 1;
      assertEquals(Outcome.NOTHING, due(nowNanos - 1).outcome());
      assertEquals(0, delayNanos(nowNanos));
      Turn turn = due(nowNanos);
      assertEquals(Outcome.REPEATED, turn.outcome());
      assertEquals(0b010, turn.targets());
      assertEquals(NEVER, delayNanos(nowNanos), "until it is answered");
    }
    tenure.released(1, NodeReply.unreachable(""), nowNanos);
    tenure.released(2, NodeReply.unreachable(""), nowNanos);
    assertEquals(14_999_999, delayNanos(nowNanos), "the first repeat to another node is soon");
    tenure.released(2, NodeReply.RELEASED, nowNanos);
    assertEquals(0b010, due(nowNanos + 14_999_999).targets());
  }

  @Test
  void releaseIsGivenUpOnceNoKeyCanBeLeft() {
    propose();
    answer(1, NodeReply.GRANTED, 0, 1);
    decide(1, 0);
    extend(2 * TTL_MILLIS, 0);
    extend(1, 0);
    long lastNanos = 2 * TTL_MILLIS * 1_000_000 + 7 + 1_000_000_000;
    tenure.end(true, 0);
    assertEquals(NEVER, delayNanos(0), "its result is awaited first");
    tenure.timedOut(Tenure.RELEASE_TAG);
    assertEquals(lastNanos, delayNanos(0));
    assertTrue(tenure.mayHaveLeftKeys(lastNanos - 1));
    assertFalse(tenure.mayHaveLeftKeys(lastNanos));
    assertEquals(Outcome.NOTHING, due(lastNanos - 1).outcome());
    assertEquals(Outcome.GIVEN_UP, due(lastNanos).outcome());
    assertTrue(tenure.release().isGivenUp(2));
    assertEquals(NEVER, delayNanos(lastNanos));
    tenure.released(2, NodeReply.RELEASED, lastNanos);
    assertTrue(tenure.release().isComplete(), "a late answer changes nothing");
    assertFalse(tenure.release().isGivenUp(2));
    assertEquals(NEVER, delayNanos(lastNanos));
  }
}
