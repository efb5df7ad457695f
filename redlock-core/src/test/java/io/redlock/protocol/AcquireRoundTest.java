package io.redlock.protocol;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.protocol.AcquireRound.Decision;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReply.Kind;
import io.redlock.spi.Quorum;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class AcquireRoundTest {

  private static final long TTL_MILLIS = 10_000;
  private static final long DRIFT_NANOS = LeaseTerms.driftNanos(TTL_MILLIS, 10_000);
  private static final long MIN_VALIDITY_NANOS = 1_000_000_000L;
  private static final long TOKEN = 1_000_000;
  private static final long START = -77;
  private static final long WALL = 1_767_225_600_000_000L;

  private static AcquireRound round(int nodes) {
    LeaseTerms terms =
        new LeaseTerms(Quorum.of(nodes), TTL_MILLIS, DRIFT_NANOS, MIN_VALIDITY_NANOS, 0);
    return AcquireRound.first(terms, TOKEN, START, WALL);
  }

  private static AcquireRound numbered(int number, Ballot ballot) {
    AcquireRound first = round(ballot.nodes());
    return new AcquireRound(first.terms(), number, TOKEN, START, WALL, first.highestSeen(), ballot);
  }

  private static NodeReply reply(Kind kind) {
    return switch (kind) {
      case HELD -> NodeReply.held(5_000, TOKEN - 10, "");
      case STALE -> NodeReply.stale(TOKEN);
      default -> NodeReply.of(kind, "");
    };
  }

  private static Decision decide(AcquireRound round) {
    return round.decide(START + 1_000_000, WALL + 1_000);
  }

  /** The number of nodes per answer; the rules depend on these numbers alone. */
  private record Answers(int granted, int stale, int clock, int taken, int other, int pending) {

    int nodes() {
      return granted + stale + clock + taken + other + pending;
    }

    boolean isHeld() {
      return 2 * granted > nodes();
    }

    /** Returns true if the nodes that refused would prevent it even if all others granted. */
    boolean isContended() {
      return !new Answers(nodes() - taken - stale, 0, 0, taken + stale, 0, 0).isHeld();
    }

    /** Returns true if answers of the open nodes can still make the condition true. */
    boolean canYet(Predicate<Answers> wish) {
      for (int grant = 0; grant <= pending; grant++) {
        for (int take = 0; take <= pending - grant; take++) {
          int fail = pending - grant - take;
          if (wish.test(
              new Answers(granted + grant, stale, clock, taken + take, other + fail, 0))) {
            return true;
          }
        }
      }
      return false;
    }

    Answers ifStaleHadGranted() {
      return new Answers(granted + stale, 0, clock, taken, other, pending);
    }

    Answers ifClocksHadGranted() {
      return new Answers(granted + clock, stale, 0, taken, other, pending);
    }

    /** The rules, in the order in which the protocol gives them. */
    Decision expected(int number) {
      if (isHeld()) {
        return Decision.HELD;
      }
      if (canYet(Answers::isHeld)) {
        return Decision.WAIT;
      }
      boolean anotherRound = number < 3;
      if (anotherRound && stale > 0 && ifStaleHadGranted().canYet(Answers::isHeld)) {
        return Decision.PROPOSE_HIGHER;
      }
      boolean settled = !canYet(answers -> !answers.isContended());
      if (settled && isContended()) {
        return Decision.CONTENDED;
      }
      if (clock > 0 && ifClocksHadGranted().ifStaleHadGranted().canYet(Answers::isHeld)) {
        return Decision.CLOCK_REFUSED;
      }
      boolean someTaken = taken + stale > 0;
      return someTaken && canYet(Answers::isContended) ? Decision.WAIT : Decision.UNAVAILABLE;
    }
  }

  private static Answers answersOf(Ballot ballot) {
    int[] counts = new int[6];
    for (int node = 0; node < ballot.nodes(); node++) {
      if (ballot.isPending(node)) {
        counts[5]++;
        continue;
      }
      switch (ballot.kind(node)) {
        case GRANTED -> counts[0]++;
        case STALE -> counts[1]++;
        case CLOCK -> counts[2]++;
        case HELD, WAIT -> counts[3]++;
        default -> counts[4]++;
      }
    }
    return new Answers(counts[0], counts[1], counts[2], counts[3], counts[4], counts[5]);
  }

  /** A cache: millions of ballots are only a few thousand mixes of answers. */
  private static final List<Map<Answers, Decision>> EXPECTED =
      List.of(new HashMap<>(), new HashMap<>(), new HashMap<>(), new HashMap<>());

  private static void check(AcquireRound round) {
    Answers answers = answersOf(round.ballot());
    Decision expected =
        EXPECTED.get(round.number()).computeIfAbsent(answers, key -> key.expected(round.number()));
    if (decide(round) != expected) {
      assertEquals(expected, decide(round), () -> answers + " in round " + round.number());
    }
  }

  /** Returns every ballot of this number of nodes: each has given any answer or none. */
  private static void everyBallot(Ballot soFar, int node, Consumer<Ballot> check) {
    if (node == soFar.nodes()) {
      check.accept(soFar);
      return;
    }
    everyBallot(soFar, node + 1, check);
    for (Kind kind : Kind.values()) {
      everyBallot(soFar.with(node, kind), node + 1, check);
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 4, 5})
  void everyBallotOfFewNodesIsDecidedByTheProtocol(int nodes) {
    long[] ballots = new long[1];
    everyBallot(
        Ballot.empty(nodes),
        0,
        ballot -> {
          ballots[0]++;
          check(numbered(1, ballot));
          check(numbered(AcquireRound.MAX_ROUNDS, ballot));
        });
    assertEquals(Math.round(Math.pow(Kind.values().length + 1, nodes)), ballots[0]);
  }

  @ParameterizedTest
  @ValueSource(ints = {6, 7, 8, 9, 10, 11, 12, 13, 14, 15})
  void everyMixOfAnswersOfManyNodesIsDecidedByTheProtocol(int nodes) {
    Kind[] classes = {Kind.GRANTED, Kind.STALE, Kind.CLOCK, Kind.WAIT, Kind.UNREACHABLE};
    everyMix(Ballot.empty(nodes), 0, classes, 0);
  }

  /**
   * Nodes are alike, so only the number of nodes per answer matters; those left at the end are
   * open.
   */
  private static void everyMix(Ballot soFar, int node, Kind[] kinds, int from) {
    check(numbered(2, soFar));
    check(numbered(AcquireRound.MAX_ROUNDS, soFar));
    if (node == soFar.nodes()) {
      return;
    }
    for (int kind = from; kind < kinds.length; kind++) {
      everyMix(soFar.with(node, kinds[kind]), node + 1, kinds, kind);
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3})
  void everyAnswerInEveryOrderIsDecidedAtTheFirstMomentItCanBe(int nodes) {
    everyOrder(round(nodes));
  }

  private static void everyOrder(AcquireRound soFar) {
    check(soFar);
    for (int node = 0; node < soFar.ballot().nodes(); node++) {
      if (soFar.ballot().isPending(node)) {
        for (Kind kind : Kind.values()) {
          AcquireRound next = soFar.answered(node, reply(kind));
          assertEquals(kind, next.ballot().kind(node));
          assertEquals(next.ballot(), next.answered(node, NodeReply.GRANTED).ballot());
          everyOrder(next);
        }
      }
    }
  }

  @ParameterizedTest
  @ValueSource(longs = {11, 12, 13, 14})
  void whatWasDecidedEarlyWouldHaveBeenDecidedLateAsWell(long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    Kind[] kinds = {
      Kind.GRANTED, Kind.HELD, Kind.STALE, Kind.CLOCK, Kind.UNREACHABLE, Kind.UNKNOWN
    };
    for (int run = 0; run < 5_000; run++) {
      int nodes = 1 + random.nextInt(9);
      AcquireRound round = round(nodes);
      Decision early = Decision.WAIT;
      for (int node = 0; node < nodes; node++) {
        early = early == Decision.WAIT ? decide(round) : early;
        round = round.answered(node, reply(kinds[random.nextInt(kinds.length)]));
      }
      Decision late = decide(round);
      assertNotEquals(Decision.WAIT, late, "seed " + seed);
      if (early != Decision.WAIT && early != Decision.PROPOSE_HIGHER) {
        assertEquals(early == Decision.HELD, late == Decision.HELD, "seed " + seed);
      }
    }
  }

  @Test
  void grantIsHeldOnlyWhileTheLargerOfTheTwoElapsedTimesLeavesValidity() {
    long usableNanos = TTL_MILLIS * 1_000_000 - DRIFT_NANOS - MIN_VALIDITY_NANOS;
    AcquireRound round = round(3).answered(2, NodeReply.GRANTED).answered(0, NodeReply.GRANTED);
    for (long offMicros = -2; offMicros <= 2; offMicros++) {
      long elapsedNanos = usableNanos + offMicros * 1_000;
      Decision expected = elapsedNanos < usableNanos ? Decision.HELD : Decision.TOO_SLOW;
      assertEquals(expected, round.decide(START + elapsedNanos, WALL), "monotonic " + offMicros);
      assertEquals(expected, round.decide(START, WALL + elapsedNanos / 1_000), "wall " + offMicros);
      assertEquals(expected, round.decide(START + elapsedNanos, WALL + elapsedNanos / 1_000));
      assertEquals(expected, round.decide(START + elapsedNanos, WALL - 3_600_000_000L));
    }
    assertEquals(Decision.HELD, round.decide(START + usableNanos - 1, WALL));
    assertEquals(Decision.TOO_SLOW, round.decide(START + usableNanos, WALL));
  }

  @ParameterizedTest
  @ValueSource(longs = {21, 22})
  void deadlineIsNeverLaterThanStartPlusTtlMinusDrift(long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    for (int run = 0; run < 10_000; run++) {
      long ttlMillis = 10 + random.nextLong(30_000);
      long driftNanos = LeaseTerms.driftNanos(ttlMillis, random.nextLong(400_000));
      long start = random.nextLong();
      LeaseTerms terms =
          new LeaseTerms(Quorum.of(1), ttlMillis, driftNanos, random.nextLong(1_000_000), 0);
      AcquireRound round =
          AcquireRound.first(terms, TOKEN, start, WALL).answered(0, NodeReply.GRANTED);
      long elapsedNanos = random.nextLong(2 * ttlMillis * 1_000_000);
      long validityNanos = ttlMillis * 1_000_000 - elapsedNanos - driftNanos;
      if (round.decide(start + elapsedNanos, WALL) == Decision.HELD) {
        assertTrue(validityNanos > terms.minValidityNanos(), "seed " + seed);
      }
      assertEquals(ttlMillis * 1_000_000 - driftNanos, round.deadline().nanos() - start);
      assertEquals(
          Math.floorDiv(ttlMillis * 1_000_000 - driftNanos, 1_000L),
          round.deadline().wallMicros() - WALL);
    }
  }

  @Test
  void higherTokenIsProposedToAllNodesInARoundOfItsOwn() {
    AcquireRound first =
        round(5)
            .answered(0, NodeReply.GRANTED)
            .answered(1, NodeReply.stale(TOKEN + 70))
            .answered(2, NodeReply.held(900, TOKEN + 90, ""))
            .answered(3, NodeReply.stale(TOKEN + 20));
    assertEquals(Decision.PROPOSE_HIGHER, decide(first));
    AcquireRound second = first.next(START + 5, WALL + 6);
    assertEquals(TOKEN + 91, second.token());
    assertEquals(2, second.number());
    assertEquals(START + 5, second.startNanos());
    assertEquals(WALL + 6, second.startWallMicros());
    assertEquals(Ballot.empty(5), second.ballot(), "earlier grants do not count");
    assertEquals(Decision.WAIT, decide(second));
  }

  @Test
  void tokenRisesWithEachRoundEvenIfNobodySaysHowHighTheCounterIs() {
    AcquireRound round = round(1).answered(0, NodeReply.stale(0));
    assertEquals(TOKEN + 1, round.next(START, WALL).token());
  }

  @Test
  void noMoreThanThreeRoundsAreTried() {
    AcquireRound round = round(3);
    int rounds = 1;
    while (true) {
      AcquireRound refused =
          round.answered(0, NodeReply.stale(round.token())).answered(1, NodeReply.stale(5));
      if (decide(refused) != Decision.PROPOSE_HIGHER) {
        assertEquals(Decision.CONTENDED, decide(refused));
        break;
      }
      round = refused.next(START, WALL);
      rounds++;
    }
    assertEquals(3, rounds);
  }

  @Test
  void counterIsOutbidHoweverFarItIsAheadOfTheClock() {
    long hourMicros = 3_600_000_000L;
    AcquireRound stale = round(1).answered(0, NodeReply.stale(TOKEN + hourMicros));
    assertEquals(Decision.PROPOSE_HIGHER, decide(stale));
    AcquireRound next = stale.next(START, WALL);
    assertEquals(TOKEN + hourMicros + 1, next.token());
    assertEquals(TOKEN + hourMicros, next.highestSeen(), "the counter that the token succeeds");
  }

  @Test
  void highestSeenIsTheHighestCounterOfAllRefusalsInAllRounds() {
    AcquireRound first =
        round(3)
            .answered(0, NodeReply.stale(TOKEN + 7))
            .answered(1, NodeReply.held(-1, TOKEN + 9, ""))
            .answered(2, NodeReply.GRANTED);
    assertEquals(TOKEN + 9, first.highestSeen());
    AcquireRound second = first.next(START, WALL).answered(0, NodeReply.stale(TOKEN + 8));
    assertEquals(TOKEN + 9, second.highestSeen());
    assertEquals(TOKEN + 9, second.timedOut().highestSeen());
  }

  @ParameterizedTest
  @EnumSource(Kind.class)
  void quorumIsReachedWhereAQuorumGrantsOrIsTakenOrStale(Kind kind) {
    boolean isAtWork = Set.of(Kind.GRANTED, Kind.HELD, Kind.WAIT, Kind.STALE).contains(kind);
    AcquireRound one = round(3).answered(1, reply(kind));
    assertFalse(one.reachedQuorum());
    assertEquals(isAtWork, one.answered(2, NodeReply.GRANTED).reachedQuorum());
    assertEquals(isAtWork, one.answered(0, reply(kind)).timedOut().reachedQuorum());
    assertEquals(kind == Kind.GRANTED, one.wasGrantedAnywhere());
    assertTrue(one.answered(0, NodeReply.GRANTED).wasGrantedAnywhere());
  }

  @Test
  void nothingIsReachedBeforeTheFirstAnswer() {
    assertFalse(round(3).reachedQuorum());
    assertFalse(round(3).wasGrantedAnywhere());
  }

  @Test
  void anotherQuorumIsRuledOutOnceTooFewNodesAreLeftForIt() {
    AcquireRound one = round(4).answered(1, NodeReply.GRANTED);
    assertFalse(one.rulesOutAnother());
    assertFalse(one.answered(2, reply(Kind.HELD)).timedOut().rulesOutAnother());
    assertTrue(one.answered(2, NodeReply.GRANTED).rulesOutAnother());
  }

  @Test
  void oneDeadNodeDoesNotTurnContendedIntoUnavailable() {
    List<Kind> kinds = List.of(Kind.UNREACHABLE, Kind.HELD, Kind.HELD, Kind.GRANTED);
    AcquireRound round = round(5);
    for (int node = 0; node < kinds.size(); node++) {
      round = round.answered(node, reply(kinds.get(node)));
    }
    assertEquals(Decision.WAIT, decide(round));
    assertEquals(Decision.CONTENDED, decide(round.answered(4, reply(Kind.HELD))));
    assertEquals(Decision.UNAVAILABLE, decide(round.answered(4, reply(Kind.UNREACHABLE))));
  }

  @Test
  void afterTheTimeoutNothingIsWaitedForAndNoRoundFollows() {
    everyBallot(
        Ballot.empty(3),
        0,
        ballot -> {
          AcquireRound late = numbered(1, ballot).timedOut();
          Decision decision = decide(late);
          assertNotEquals(Decision.WAIT, decision, ballot::toString);
          assertNotEquals(Decision.PROPOSE_HIGHER, decision, ballot::toString);
          assertEquals(late.ballot(), late.answered(0, NodeReply.GRANTED).ballot());
        });
  }
}
