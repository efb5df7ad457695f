package io.redlock.protocol;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.protocol.AcquireRound.Decision;
import io.redlock.protocol.Tenure.Books;
import io.redlock.protocol.Tenure.Outcome;
import io.redlock.protocol.Tenure.Phase;
import io.redlock.protocol.Tenure.Turn;
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

  private Tenure tenure = tenure(false, false);

  private static Tenure tenure(boolean isFair, boolean isUnlessHeld) {
    return new Tenure(TenureRules.STANDARD, QUORUM, isFair, isUnlessHeld);
  }

  private static LeaseTerms terms(long ttlMillis) {
    return new LeaseTerms(QUORUM, ttlMillis, DRIFT_NANOS, MARGIN_NANOS, MARGIN_NANOS);
  }

  private void begin() {
    assertEquals(Outcome.PROPOSED, tenure.begin(terms(TTL_MILLIS), TOKEN, 0, 0).outcome());
  }

  private void propose() {
    begin();
    assertEquals(Outcome.NOTHING, tenure.handed(1, true).outcome());
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

  private int extend(long ttlMillis, boolean lengthens, long nowNanos) {
    int tag = tenure.extend(terms(ttlMillis), lengthens, nowNanos, nowNanos / 1_000);
    assertEquals(Outcome.NOTHING, tenure.handed(tag, true).outcome());
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
    extend(1_000, true, 7);
    int open = tenure.extend(terms(20_000), false, 8, 0);
    Books[] all = {tenure.books(), null, null};
    tenure.handed(open, true);
    all[1] = tenure.books();
    tenure.end(true);
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
  void nothingIsDecidedBeforeEveryNodeHasTheRequest() {
    begin();
    answer(1, NodeReply.GRANTED, 0, 1, 2);
    assertEquals(Outcome.NOTHING, decide(1, 0).outcome());
    tenure.handed(1, false);
    assertEquals(Outcome.NOTHING, decide(1, 0).outcome(), "a node never got it");
    tenure.end(true);
    assertEquals(Outcome.OVER, decide(1, 0).outcome());
  }

  @Test
  void quorumHoldsUntilTheLossMarginBeforeTheDeadline() {
    hold();
    assertEquals(Phase.HOLDING, tenure.phase());
    assertEquals(new Deadline(DEADLINE_NANOS, DEADLINE_NANOS / 1_000), tenure.deadline());
    assertEquals(new Deadline(LOSS_NANOS, LOSS_NANOS / 1_000), tenure.lossTime());
    assertEquals(0, tenure.keptNanos(0));
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
    tenure.handed(2, true);
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
      tenure.handed(round + 1, true);
    }
    answer(AcquireRound.MAX_ROUNDS, NodeReply.GRANTED, 0, 1);
    assertEquals(Outcome.HELD, decide(AcquireRound.MAX_ROUNDS, 0).outcome());
  }

  @Test
  void attemptEndsWithItsLastRound() {
    tenure = new Tenure(new TenureRules(2), QUORUM, false, false);
    propose();
    answer(1, NodeReply.stale(70), 1, 2);
    assertEquals(Outcome.PROPOSED, decide(1, 0).outcome());
    tenure.handed(2, true);
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
    tenure.handed(2, true);
    tenure.timedOut(2);
    assertEquals(Decision.UNAVAILABLE, decide(2, 0).attempted().decision());
  }

  @Test
  void abandonedBetweenTwoRoundsIsReleasedOnceTheNextIsDropped() {
    propose();
    answer(1, NodeReply.stale(70), 0, 1);
    decide(1, 0);
    assertFalse(tenure.end(true).isRelease());
    assertEquals(0, tenure.round(), "no other round starts");
    Turn turn = tenure.handed(0, false);
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
    int longer = extend(20_000, true, 0);
    assertEquals(FIRST_EXTEND, longer);
    assertEquals(Outcome.NOTHING, decide(longer, 0).outcome());
    answer(longer, NodeReply.EXTENDED, 0, 1);
    assertEquals(Outcome.EXTENDED, decide(longer, 0).outcome());
    assertEquals(DEADLINE_NANOS + 10_000_000_000L, tenure.deadline().nanos());
    assertEquals(LOSS_NANOS + 10_000_000_000L, tenure.lossTime().nanos());
    assertEquals(20_000, tenure.longestTtlMillis());
    int shorter = extend(TTL_MILLIS, true, 0);
    answer(shorter, NodeReply.EXTENDED, 0, 1);
    assertEquals(Outcome.EXTENDED, decide(shorter, 0).outcome());
    assertEquals(DEADLINE_NANOS + 10_000_000_000L, tenure.deadline().nanos());
    assertEquals(LOSS_NANOS + 10_000_000_000L, tenure.lossTime().nanos());
    assertEquals(20_000, tenure.longestTtlMillis());
    assertEquals(Outcome.OVER, decide(shorter, 0).outcome());
  }

  @Test
  void extendThatANodeNeverGotIsNotDecided() {
    hold();
    int tag = tenure.extend(terms(TTL_MILLIS), true, 0, 0);
    tenure.handed(tag, false);
    answer(tag, NodeReply.EXTENDED, 0, 1, 2);
    assertEquals(Outcome.NOTHING, decide(tag, 0).outcome());
  }

  @Test
  void confirmationMovesNoDeadline() {
    hold();
    int tag = extend(20_000, false, 0);
    answer(tag, NodeReply.EXTENDED, 1, 2);
    assertEquals(Outcome.EXTENDED, decide(tag, 0).outcome());
    assertEquals(DEADLINE_NANOS, tenure.deadline().nanos());
    assertTrue(tenure.wasGrantedBy(2));
  }

  @Test
  void eachOfSeveralExtendsHasItsOwnAnswers() {
    hold();
    int first = extend(TTL_MILLIS, true, 1_000_000);
    int second = extend(TTL_MILLIS, true, 2_000_000);
    int third = tenure.extend(terms(TTL_MILLIS), true, 3_000_000, 3_000);
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
    tenure.handed(third, true);
    assertEquals(Outcome.EXTENDED, decide(third, 0).outcome());
  }

  @Test
  void extendThatIsRefusedLosesTheLeaseAndEveryOtherExtendIsOver() {
    hold();
    int other = extend(TTL_MILLIS, true, 0);
    int tag = extend(TTL_MILLIS, true, 0);
    answer(tag, NodeReply.NOT_HELD, 0, 1);
    assertEquals(Outcome.REFUSED, decide(tag, LOSS_NANOS - 1_000).outcome());
    assertEquals(Phase.LOST, tenure.phase());
    answer(other, NodeReply.EXTENDED, 0, 1, 2);
    assertEquals(Outcome.OVER, decide(other, 0).outcome());
    assertEquals(0, tenure.extend(terms(TTL_MILLIS), true, 0, 0));
    assertEquals(7, tenure.keptNanos(DEADLINE_NANOS - 7));
    assertNull(tenure.release(), "the keys stay");
    assertFalse(tenure.lose());
    assertEquals(0b111, tenure.end(true).targets());
  }

  @Test
  void extendAfterTheLossTimeLosesTheLease() {
    hold();
    int tag = extend(TTL_MILLIS, true, 0);
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
    tenure.end(true);
    assertFalse(tenure.lose());
    assertEquals(Phase.ENDED, tenure.phase());
    assertNull(tenure.deadline());
    assertNull(tenure.lossTime());
    assertEquals(0, tenure.keptNanos(0));
  }

  @Test
  void ownerThatSentNothingReleasesNothing() {
    Turn turn = tenure.end(true);
    assertTrue(turn.isRelease());
    assertEquals(0, turn.targets());
    assertTrue(tenure.release().isComplete());
    assertEquals(Outcome.NOTHING, tenure.begin(terms(1), 5, 0, 0).outcome());
    assertEquals(0, tenure.round());
  }

  @Test
  void releaseWaitsForEveryRequestThatIsBeingHandedOver() {
    hold();
    int first = tenure.extend(terms(TTL_MILLIS), true, 0, 0);
    int second = tenure.extend(terms(TTL_MILLIS), true, 0, 0);
    assertFalse(tenure.end(false).isRelease());
    assertFalse(tenure.handed(first, true).isRelease());
    assertFalse(tenure.end(true).isRelease());
    Turn turn = tenure.handed(second, true);
    assertTrue(turn.isRelease());
    assertTrue(turn.isLast(), "its caller went on at first, and gave up then");
    assertEquals(0b111, turn.targets());
    assertFalse(tenure.end(true).isRelease(), "it is released once");
  }

  @Test
  void ownerWhoseCallerGoesOnSaysSo() {
    hold();
    assertFalse(tenure.end(false).isLast());
  }

  @Test
  void nodeThatAnsweredOneOfTwoRequestsStillOwesOne() {
    hold();
    int tag = extend(TTL_MILLIS, true, 0);
    answer(tag, NodeReply.NOT_HELD, 2);
    assertEquals(0b111, tenure.end(true).targets());
  }

  @Test
  void onlyNodesThatMayHoldAKeyAreReleased() {
    propose();
    answer(1, NodeReply.of(Kind.HELD, ""), 0);
    answer(1, NodeReply.of(Kind.HELD, ""), 0);
    answer(1, NodeReply.unknown(""), 1);
    assertEquals(0b110, tenure.end(true).targets());
  }

  @Test
  void moreUnansweredRequestsThanCanBeCountedAreReleasedForGood() {
    hold();
    answer(1, NodeReply.of(Kind.HELD, ""), 2);
    for (int count = 0; count < 15; count++) {
      extend(TTL_MILLIS, true, 0);
    }
    assertEquals(0, tenure.books().footprint().unknown());
    extend(TTL_MILLIS, true, 0);
    assertEquals(0b111, tenure.books().footprint().unknown());
    for (int tag = FIRST_EXTEND; tag < FIRST_EXTEND + 16; tag++) {
      answer(tag, NodeReply.NOT_HELD, 2);
    }
    assertEquals(0b111, tenure.end(true).targets());
  }

  @Test
  void releaseGoesOnUntilItsNodesAcknowledge() {
    hold();
    Books before = tenure.books();
    answer(Tenure.RELEASE_TAG + 100, NodeReply.NOT_HELD);
    assertEquals(before, tenure.books());
    tenure.end(true);
    ReleaseRound begun = tenure.release();
    answer(1, NodeReply.GRANTED, 2);
    assertSame(begun, tenure.release(), "what it asked before counts nothing now");
    answer(Tenure.RELEASE_TAG, NodeReply.RELEASED, 0);
    answer(Tenure.RELEASE_TAG, NodeReply.unreachable(""), 1);
    assertTrue(tenure.release().owes(1));
    tenure.timedOut(Tenure.RELEASE_TAG);
    assertTrue(tenure.release().ballot().kind(2) == Kind.UNKNOWN);
    answer(Tenure.RELEASE_TAG, NodeReply.NOT_HELD, 1, 2);
    assertTrue(tenure.release().isComplete());
  }

  @Test
  void timeoutOfAReleaseThatWasNotSentChangesNothing() {
    hold();
    Books before = tenure.books();
    tenure.timedOut(Tenure.RELEASE_TAG);
    assertEquals(before, tenure.books());
    assertNotNull(tenure.deadline());
  }

  @Test
  void keysAreCountedFromTheLongestTtl() {
    begin();
    assertEquals(TTL_MILLIS, tenure.longestTtlMillis());
    tenure.handed(1, true);
    answer(1, NodeReply.GRANTED, 0, 1);
    decide(1, 0);
    extend(1, true, 0);
    assertEquals(TTL_MILLIS, tenure.longestTtlMillis());
  }
}
