package io.redlock.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.AcquireResult.By;
import io.redlock.Votes;
import io.redlock.driver.CallState.Phase;
import io.redlock.driver.CallState.Rules;
import io.redlock.protocol.AcquireRound.Decision;
import io.redlock.spi.Quorum;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class CallStateTest {

  private static final long MILLI = 1_000_000;
  private static final long LEFT = 10_000 * MILLI;
  private static final long PATIENCE = 50 * MILLI;
  private static final long TICKET = 1_500 * MILLI;
  private static final Votes NONE = new Votes(List.of(), 2);

  private static Rules rules(boolean isFair) {
    return new Rules(isFair, false, Quorum.of(3), TICKET, PATIENCE);
  }

  private static CallState begun() {
    return CallState.begin(rules(false));
  }

  private static CallState asking(boolean isFair) {
    return CallState.begin(rules(isFair)).joined(true, LEFT);
  }

  private static CallState queued() {
    return begun().joined(false, LEFT);
  }

  private static CallState pondering(boolean isFair) {
    return asking(isFair).refused(contended(-1), LEFT);
  }

  private static CallState pausing() {
    CallState ponders = pondering(false);
    return ponders.paused(ponders.plan(), 300 * MILLI, LEFT);
  }

  private static CallState in(Phase phase) {
    return switch (phase) {
      case QUEUED -> queued();
      case ASKS -> asking(false);
      case LOOKS -> asking(false).looks();
      case PONDERS -> pondering(false);
      case PAUSES -> pausing();
      case OVER -> queued().over();
    };
  }

  private static AttemptEnd refusal(
      Decision decision, long remainingMillis, boolean keepsPlace, boolean isBehindOthers) {
    return new AttemptEnd(
        decision, null, NONE, remainingMillis, keepsPlace, isBehindOthers, By.UNKNOWN);
  }

  /** Others hold a part, and so does this call. */
  private static AttemptEnd contended(long remainingMillis) {
    return refusal(Decision.CONTENDED, remainingMillis, true, false);
  }

  private static AttemptEnd behindOthers(long remainingMillis) {
    return refusal(Decision.CONTENDED, remainingMillis, true, true);
  }

  private static AttemptEnd unavailable() {
    return refusal(Decision.UNAVAILABLE, -1, false, false);
  }

  private static AttemptEnd clockRefused() {
    return refusal(Decision.CLOCK_REFUSED, -1, false, false);
  }

  private static void assertPlan(Phase phase, long nanos, CallState waiting) {
    assertEquals(phase, waiting.phase());
    assertEquals(nanos, waiting.nanos());
    boolean waits = phase == Phase.QUEUED || phase == Phase.PONDERS || phase == Phase.PAUSES;
    assertEquals(waits, waiting.isTimed());
  }

  private static void assertAsksAnew(CallState before, CallState after) {
    assertPlan(Phase.ASKS, 0, after);
    assertEquals(before.plan() + 1, after.plan());
    assertFalse(after.hasMoved());
    assertEquals(0, after.wokenBy());
    assertEquals(Long.MAX_VALUE, after.boundNanos());
  }

  @ParameterizedTest
  @EnumSource(Phase.class)
  void testsBeginInThePhaseTheyName(Phase phase) {
    assertEquals(phase, in(phase).phase());
  }

  @Test
  void callBeginsInLineWithoutATimer() {
    assertEquals(Phase.QUEUED, begun().phase());
    assertFalse(begun().isTimed());
    assertFalse(begun().clockLearned());
  }

  @Test
  void headOfTheLineAsksAtOnce() {
    assertAsksAnew(begun(), begun().joined(true, LEFT));
  }

  @Test
  void anyOtherStandsInLineUntilItsWaitIsOver() {
    assertPlan(Phase.QUEUED, LEFT, begun().joined(false, LEFT));
  }

  @Test
  void lineThatMovedWhileTheCallJoinedItCounts() {
    CallState moved = begun().moved(0, LEFT);
    assertSame(moved, moved.joined(false, LEFT));
    assertSame(moved, moved.joined(true, LEFT));
  }

  @Test
  void waitWithoutAnEndNeedsNoTimer() {
    assertTrue(begun().joined(false, CallState.ENDLESS_NANOS - 1).isTimed());
    assertFalse(begun().joined(false, CallState.ENDLESS_NANOS).isTimed());
    assertFalse(begun().joined(false, Long.MAX_VALUE).isTimed());
  }

  @ParameterizedTest
  @EnumSource(
      value = Phase.class,
      names = {"QUEUED", "PONDERS", "PAUSES"})
  void lineThatMovesLetsItsHeadAsk(Phase phase) {
    CallState before = in(phase);
    assertAsksAnew(before, before.moved(0, 1));
    assertPlan(Phase.PAUSES, 2 * MILLI, before.moved(2 * MILLI, LEFT));
    assertEquals(before.plan() + 1, before.moved(2 * MILLI, LEFT).plan());
    assertPlan(Phase.PAUSES, MILLI, before.moved(2 * MILLI, MILLI));
    assertPlan(Phase.PAUSES, 1, before.moved(1, LEFT));
  }

  @ParameterizedTest
  @EnumSource(
      value = Phase.class,
      names = {"QUEUED", "PONDERS", "PAUSES"})
  void headWhoseWaitIsOverAsksNobody(Phase phase) {
    assertPlan(Phase.OVER, 0, in(phase).moved(0, 0));
    assertPlan(Phase.OVER, 0, in(phase).moved(2 * MILLI, -1));
  }

  @Test
  void lineThatMovesDuringAnAttemptMakesTheNextFollowAtOnce() {
    CallState asks = asking(false);
    CallState moved = asks.moved(0, LEFT);
    assertEquals(asks.plan(), moved.plan());
    assertTrue(moved.hasMoved());
    assertAsksAnew(moved, moved.refused(unavailable(), LEFT));
    assertFalse(moved.refused(unavailable(), LEFT).clockLearned());
    assertAsksAnew(moved, moved.refused(unavailable(), 1));
    assertPlan(Phase.OVER, 0, moved.refused(unavailable(), 0));
  }

  @Test
  void lookIsAPartOfThePlanAndOnlyItsEndEndsIt() {
    CallState asks = asking(true);
    CallState looks = asks.looks();
    assertPlan(Phase.LOOKS, 0, looks);
    assertEquals(asks, looks.looked());
    assertSame(looks, looks.looks());
    assertSame(looks, looks.due(looks.plan(), true, LEFT));
    assertSame(looks, looks.refused(unavailable(), LEFT));
    CallState noted = looks.moved(0, LEFT).woken(0, true, LEFT).woken(1, true, LEFT);
    assertPlan(Phase.LOOKS, 0, noted);
    assertEquals(asks.plan(), noted.plan());
    assertAsksAnew(noted.looked(), noted.looked().refused(unavailable(), LEFT));
  }

  @ParameterizedTest
  @EnumSource(
      value = Phase.class,
      names = {"QUEUED", "PONDERS", "PAUSES", "OVER"})
  void onlyACallThatAsksLooks(Phase phase) {
    CallState other = in(phase);
    assertSame(other, other.looks());
    assertSame(other, other.looked());
  }

  @Test
  void callThatIsOverHearsNothing() {
    CallState over = asking(true).over();
    assertPlan(Phase.OVER, 0, over);
    assertSame(over, over.moved(0, LEFT));
    assertSame(over, over.woken(1, true, LEFT));
    assertSame(over, over.joined(true, LEFT));
    assertSame(over, over.refused(unavailable(), LEFT));
    assertSame(over, over.refused(clockRefused(), LEFT));
    assertSame(over, over.paused(over.plan(), 1, LEFT));
    assertSame(over, over.due(over.plan(), true, LEFT));
    assertSame(over, over.over());
  }

  @ParameterizedTest
  @EnumSource(Phase.class)
  void anyCallCanBeEnded(Phase phase) {
    assertPlan(Phase.OVER, 0, in(phase).over());
  }

  @Test
  void firstWakeUpIsWaitedOutForTheOthers() {
    CallState pauses = asking(true).refused(behindOthers(60_000), LEFT);
    CallState woken = pauses.woken(2, true, LEFT);
    assertPlan(Phase.PAUSES, 5 * MILLI, woken);
    assertEquals(pauses.plan() + 1, woken.plan());
    assertEquals(0b100, woken.wokenBy());
    assertPlan(Phase.PAUSES, MILLI, pauses.woken(2, true, MILLI));
    assertPlan(Phase.PAUSES, 1, pauses.woken(2, true, 0));
    assertPlan(Phase.PAUSES, 1, pauses.woken(2, true, -5));
  }

  @Test
  void quorumOfWakeUpsLetsTheCallAskAtOnce() {
    CallState pauses = asking(true).refused(behindOthers(60_000), LEFT);
    CallState once = pauses.woken(0, true, LEFT);
    CallState again = once.woken(0, true, LEFT);
    assertEquals(once, again, "one node, one voice");
    assertAsksAnew(once, once.woken(2, true, LEFT));
  }

  @Test
  void wakeUpsShortOfAQuorumDoNotPutThePauseOff() {
    CallState five =
        CallState.begin(new Rules(true, false, Quorum.of(5), TICKET, PATIENCE)).joined(true, LEFT);
    CallState once = five.refused(behindOthers(60_000), LEFT).woken(4, true, LEFT);
    CallState twice = once.woken(3, true, LEFT);
    assertEquals(once.plan(), twice.plan());
    assertEquals(0b11000, twice.wokenBy());
    assertAsksAnew(twice, twice.woken(0, true, LEFT));
  }

  @Test
  void wakeUpsDuringAnAttemptAreKeptForItsEnd() {
    CallState asks = asking(true);
    CallState once = asks.woken(0, true, LEFT);
    assertEquals(asks.plan(), once.plan());
    assertPlan(Phase.PAUSES, 5 * MILLI, once.refused(behindOthers(60_000), LEFT));
    CallState hinted = once.refused(contended(60_000), LEFT);
    assertEquals(5 * MILLI, hinted.boundNanos());
    CallState twice = once.woken(1, true, LEFT);
    assertEquals(asks.plan(), twice.plan());
    assertAsksAnew(twice, twice.refused(behindOthers(60_000), LEFT));
  }

  @Test
  void wakeUpWhileTheStrategyThinksIsHeard() {
    CallState ponders = pondering(true);
    CallState woken = ponders.woken(1, true, LEFT);
    assertPlan(Phase.PAUSES, 5 * MILLI, woken);
    assertSame(woken, woken.paused(ponders.plan(), 10, LEFT), "its answer comes too late");
    assertAsksAnew(woken, woken.woken(2, true, LEFT));
  }

  @Test
  void nobodyElseIsWoken() {
    CallState unfair = pausing();
    assertSame(unfair, unfair.woken(0, true, LEFT));
    CallState withoutTickets = asking(true).refused(unavailable(), LEFT);
    assertSame(withoutTickets, withoutTickets.woken(0, false, LEFT));
  }

  @Test
  void hintIsNoReasonToHurryForACallThatLostItsPlace() {
    CallState woken = asking(true).woken(0, true, LEFT);
    assertEquals(Long.MAX_VALUE, woken.refused(unavailable(), LEFT).boundNanos());
  }

  @Test
  void failedAttemptOfAWaitThatIsOverIsTheLast() {
    assertPlan(Phase.OVER, 0, asking(false).refused(contended(5), 0));
    assertPlan(Phase.OVER, 0, asking(true).refused(behindOthers(5), -1));
    assertPlan(Phase.PONDERS, 1, asking(false).refused(contended(5), 1));
  }

  @ParameterizedTest
  @ValueSource(longs = {-1, 0, 1, LEFT})
  void clocksThatWereJustLearnedAreWorthOneAttemptAtOnceAndNoMore(long leftNanos) {
    CallState asks = asking(false);
    CallState learned = asks.refused(clockRefused(), leftNanos);
    assertAsksAnew(asks, learned);
    assertTrue(learned.clockLearned());
    CallState again = learned.refused(clockRefused(), leftNanos);
    assertEquals(leftNanos > 0 ? Phase.PONDERS : Phase.OVER, again.phase());
    assertTrue(again.clockLearned());
  }

  @Test
  void callThatHasLearnedTheClocksPausesAfterAnyOtherRefusal() {
    CallState learned = asking(false).refused(clockRefused(), LEFT);
    CallState ponders = learned.refused(contended(5), LEFT);
    assertPlan(Phase.PONDERS, PATIENCE, ponders);
    assertTrue(ponders.clockLearned());
    assertPlan(Phase.OVER, 0, learned.refused(contended(5), 0));
  }

  @Test
  void clocksStayLearnedOverEveryPlan() {
    CallState learned = asking(true).refused(clockRefused(), LEFT);
    CallState moved = learned.moved(0, LEFT).refused(clockRefused(), LEFT);
    assertAsksAnew(learned, moved);
    assertTrue(moved.clockLearned());
    assertTrue(moved.woken(0, true, LEFT).clockLearned());
  }

  @Test
  void strategyIsAskedAfterAnyOtherRefusal() {
    for (Decision decision : List.of(Decision.CONTENDED, Decision.UNAVAILABLE, Decision.TOO_SLOW)) {
      CallState asks = asking(false);
      CallState ponders = asks.refused(refusal(decision, -1, true, true), LEFT);
      assertPlan(Phase.PONDERS, PATIENCE, ponders);
      assertEquals(asks.plan() + 1, ponders.plan());
      assertEquals(Long.MAX_VALUE, ponders.boundNanos());
    }
    assertPlan(Phase.PONDERS, MILLI, asking(false).refused(contended(-1), MILLI));
  }

  @ParameterizedTest
  @CsvSource({
    "0, 1000000",
    "7, 8000000",
    "9223372036853, 9223372036854000000",
    "9223372036854, 9223372036854775807",
    "9223372036855, 9223372036854775807",
    "9223372036854775807, 9223372036854775807",
    "-1, 9223372036854775807"
  })
  void pauseIsBoundedByTheHoldersLifeUntilTheClockHasMovedOn(long millis, long boundNanos) {
    assertEquals(boundNanos, asking(false).refused(contended(millis), LEFT).boundNanos());
  }

  @Test
  void fairCallBehindOthersOnlyKeepsItsTicketsAlive() {
    assertPlan(Phase.PAUSES, 1_000 * MILLI, asking(true).refused(behindOthers(60_000), LEFT));
    assertPlan(Phase.PAUSES, 1_000 * MILLI, asking(true).refused(behindOthers(-1), LEFT));
    assertPlan(Phase.PAUSES, 41 * MILLI, asking(true).refused(behindOthers(40), LEFT));
    assertPlan(Phase.PAUSES, MILLI, asking(true).refused(behindOthers(40), MILLI));
  }

  @Test
  void fairCallThatWasGrantedAPartAsksAgainBeforeThoseTicketsRunOut() {
    assertEquals(TICKET / 3, asking(true).refused(contended(60_000), LEFT).boundNanos());
    assertEquals(101 * MILLI, asking(true).refused(contended(100), LEFT).boundNanos());
    AttemptEnd cutOff = refusal(Decision.CONTENDED, -1, false, true);
    assertPlan(Phase.PONDERS, PATIENCE, asking(true).refused(cutOff, LEFT));
    assertEquals(Long.MAX_VALUE, asking(true).refused(cutOff, LEFT).boundNanos());
  }

  @ParameterizedTest
  @CsvSource({
    "300000000, -1, 10000000000, 300000000",
    "300000000, 99, 10000000000, 100000000",
    "300000000, -1, 7, 7",
    "0, -1, 10000000000, 1",
    "300000000, -1, 0, 1",
    "300000000, -1, -9, 1",
    "9223372036854775807, -1, 10000000000, 10000000000"
  })
  void chosenPauseIsBoundedByTheHoldersLifeAndTheWait(
      long chosen, long remainingMillis, long left, long nanos) {
    CallState ponders = asking(false).refused(contended(remainingMillis), LEFT);
    CallState pauses = ponders.paused(ponders.plan(), chosen, left);
    assertPlan(Phase.PAUSES, nanos, pauses);
  }

  @ParameterizedTest
  @EnumSource(
      value = Phase.class,
      names = {"QUEUED", "ASKS", "LOOKS", "PAUSES"})
  void answerOfTheStrategyIsOnlyForTheCallThatPonders(Phase phase) {
    CallState other = in(phase);
    assertSame(other, other.paused(other.plan(), 1, LEFT));
  }

  @Test
  void answerToAnEarlierQuestionIsIgnored() {
    CallState first = pondering(false);
    CallState second = first.moved(0, LEFT).refused(unavailable(), LEFT);
    assertNotEquals(first.plan(), second.plan());
    assertSame(second, second.paused(first.plan(), 1, LEFT));
  }

  @Test
  void afterThePauseTheHeadAsksAndAnyOtherStandsInLine() {
    CallState pauses = pausing();
    assertAsksAnew(pauses, pauses.due(pauses.plan(), true, LEFT));
    assertAsksAnew(pauses, pauses.due(pauses.plan(), true, 0));
    assertPlan(Phase.QUEUED, 7, pauses.due(pauses.plan(), false, 7));
    assertPlan(Phase.OVER, 0, pauses.due(pauses.plan(), false, 0));
  }

  @Test
  void waitThatIsOverInLineIsGivenUp() {
    CallState inLine = queued();
    assertPlan(Phase.OVER, 0, inLine.due(inLine.plan(), false, 0));
    assertPlan(Phase.OVER, 0, inLine.due(inLine.plan(), true, 0));
    CallState tooEarly = inLine.due(inLine.plan(), true, 3);
    assertPlan(Phase.QUEUED, 3, tooEarly);
    assertNotEquals(inLine.plan(), tooEarly.plan(), "its timer is set again");
  }

  @Test
  void timerOfAnEarlierPlanIsIgnored() {
    CallState pauses = pausing();
    assertSame(pauses, pauses.due(pauses.plan() - 1, true, LEFT));
    CallState asks = asking(false);
    assertSame(asks, asks.due(asks.plan(), true, LEFT));
  }
}
