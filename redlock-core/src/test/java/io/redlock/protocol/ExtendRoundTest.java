package io.redlock.protocol;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import io.redlock.protocol.ExtendRound.Decision;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReply.Kind;
import io.redlock.spi.Quorum;
import java.util.function.Predicate;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ExtendRoundTest {

  private static final long TTL_MILLIS = 10_000;
  private static final long DRIFT_NANOS = LeaseTerms.driftNanos(TTL_MILLIS, 10_000);
  private static final long MIN_VALIDITY_NANOS = 1_000_000_000L;
  private static final long START = Long.MAX_VALUE - 2_000_000_000L;
  private static final long WALL = 1_767_225_600_000_000L;
  private static final Deadline CURRENT = Deadline.after(START, WALL, 3_000_000_000L);

  private static ExtendRound round(int nodes) {
    LeaseTerms terms =
        new LeaseTerms(Quorum.of(nodes), TTL_MILLIS, DRIFT_NANOS, MIN_VALIDITY_NANOS, 0);
    return ExtendRound.begin(terms, START, WALL);
  }

  private static Decision decide(ExtendRound round) {
    return round.decide(CURRENT, START + 1_000_000, WALL + 1_000);
  }

  /** The numbers of nodes that hold it, do not hold it, gave no usable answer, or none yet. */
  private record Answers(int yes, int notHeld, int other, int pending) {

    int nodes() {
      return yes + notHeld + other + pending;
    }

    boolean isHeld() {
      return 2 * yes > nodes();
    }

    boolean isRefused() {
      return !new Answers(nodes() - notHeld, notHeld, 0, 0).isHeld();
    }

    boolean canYet(Predicate<Answers> wish) {
      for (int extend = 0; extend <= pending; extend++) {
        for (int refuse = 0; refuse <= pending - extend; refuse++) {
          int fail = pending - extend - refuse;
          if (wish.test(new Answers(yes + extend, notHeld + refuse, other + fail, 0))) {
            return true;
          }
        }
      }
      return false;
    }

    Decision expected() {
      if (isHeld()) {
        return Decision.EXTENDED;
      }
      if (isRefused()) {
        return Decision.LOST;
      }
      boolean open = canYet(Answers::isHeld) || canYet(Answers::isRefused);
      return open ? Decision.WAIT : Decision.UNKNOWN;
    }
  }

  private static Answers answersOf(Ballot ballot) {
    int[] counts = new int[4];
    for (int node = 0; node < ballot.nodes(); node++) {
      if (ballot.isPending(node)) {
        counts[3]++;
        continue;
      }
      switch (ballot.kind(node)) {
        case EXTENDED, JOINED -> counts[0]++;
        case NOT_HELD -> counts[1]++;
        default -> counts[2]++;
      }
    }
    return new Answers(counts[0], counts[1], counts[2], counts[3]);
  }

  private static void everyOrder(ExtendRound soFar, Kind[] kinds, int firstNode) {
    Answers answers = answersOf(soFar.ballot());
    if (decide(soFar) != answers.expected()) {
      assertEquals(answers.expected(), decide(soFar), answers::toString);
    }
    for (int node = firstNode; node < soFar.ballot().nodes(); node++) {
      if (soFar.ballot().isPending(node)) {
        for (Kind kind : kinds) {
          ExtendRound next = soFar.answered(node, NodeReply.of(kind, ""));
          assertEquals(next, next.answered(node, NodeReply.EXTENDED), "each node counts once");
          everyOrder(next, kinds, firstNode == 0 && soFar.ballot().nodes() <= 3 ? 0 : node + 1);
        }
      }
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3})
  void everyAnswerInEveryOrderIsDecidedByTheProtocol(int nodes) {
    everyOrder(round(nodes), Kind.values(), 0);
  }

  @ParameterizedTest
  @ValueSource(ints = {4, 5, 6, 7, 8, 9})
  void everyVectorOfAnswersOfMoreNodesIsDecidedByTheProtocol(int nodes) {
    everyOrder(round(nodes), new Kind[] {Kind.EXTENDED, Kind.NOT_HELD, Kind.UNKNOWN}, 0);
  }

  @Test
  void nothingIsExtendedOnceTheOldDeadlineHasPassedOnEitherClock() {
    ExtendRound all =
        round(3)
            .answered(0, NodeReply.EXTENDED)
            .answered(1, NodeReply.JOINED)
            .answered(2, NodeReply.EXTENDED);
    long last = START + 3_000_000_000L - 1;
    assertEquals(Decision.EXTENDED, all.decide(CURRENT, last, WALL + 2_999_999));
    assertEquals(Decision.LOST, all.decide(CURRENT, last + 1, WALL));
    assertEquals(Decision.LOST, all.decide(CURRENT, START, WALL + 3_000_000));
    assertEquals(Decision.LOST, all.decide(CURRENT, last + 60_000_000_000L, WALL - 5));
    assertEquals(Decision.LOST, round(3).decide(CURRENT, last + 1, WALL));
  }

  @Test
  void quorumThatLeavesTooLittleValidityIsUnknownAndNotLost() {
    Deadline far = Deadline.after(START, WALL, 25_000_000_000L);
    ExtendRound quorum = round(1).answered(0, NodeReply.EXTENDED);
    long usableNanos = TTL_MILLIS * 1_000_000 - DRIFT_NANOS - MIN_VALIDITY_NANOS;
    assertEquals(Decision.EXTENDED, quorum.decide(far, START + usableNanos - 1, WALL));
    assertEquals(Decision.UNKNOWN, quorum.decide(far, START + usableNanos, WALL));
    assertEquals(Decision.UNKNOWN, quorum.decide(far, START, WALL + usableNanos / 1_000));
  }

  @Test
  void extensionIsMeasuredFromItsOwnStart() {
    long validityNanos = TTL_MILLIS * 1_000_000 - DRIFT_NANOS;
    assertEquals(Deadline.after(START, WALL, validityNanos), round(3).deadline());
  }

  @Test
  void afterTheTimeoutNothingIsWaitedFor() {
    for (Kind first : Kind.values()) {
      for (Kind second : Kind.values()) {
        ExtendRound late =
            round(3)
                .answered(0, NodeReply.of(first, ""))
                .answered(1, NodeReply.of(second, ""))
                .timedOut();
        assertNotEquals(Decision.WAIT, decide(late), first + ", " + second);
      }
    }
    assertEquals(Decision.UNKNOWN, decide(round(3).timedOut()));
  }
}
