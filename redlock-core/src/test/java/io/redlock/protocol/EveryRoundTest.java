package io.redlock.protocol;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.redlock.ReleaseResult;
import io.redlock.protocol.Decision.Outcome;
import io.redlock.protocol.ExtendRound.Purpose;
import io.redlock.spi.NodeReply.Kind;
import io.redlock.spi.Quorum;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.stream.IntStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Every ballot of few nodes, of one group and of two, is decided as plain words say. */
class EveryRoundTest {

  private static final long START = Long.MAX_VALUE - 2_000_000_000L;
  private static final long WALL = 1_767_225_600_000_000L;

  /** One of each that is decided alike. */
  private static final Kind[] CLASSES = {
    Kind.GRANTED,
    Kind.EXTENDED,
    Kind.STALE,
    Kind.CLOCK,
    Kind.WAIT,
    Kind.NOT_HELD,
    Kind.RELEASED,
    Kind.UNREACHABLE
  };

  /** The rules in plain words, by what the open nodes can still answer. */
  private record Plain(Quorum quorum, Ballot ballot) {

    boolean can(Predicate<Ballot> wish) {
      for (int node = 0; node < ballot.nodes(); node++) {
        if (ballot.isPending(node)) {
          for (Kind kind : CLASSES) {
            if (new Plain(quorum, ballot.with(node, kind)).can(wish)) {
              return true;
            }
          }
          return false;
        }
      }
      return wish.test(ballot);
    }

    private boolean isQuorum(Ballot answers, Kind... yes) {
      return isQuorum(answers, List.of(yes)::contains);
    }

    private boolean isQuorum(Ballot answers, Predicate<Kind> yes) {
      int set = 0;
      for (int node = 0; node < answers.nodes(); node++) {
        set |= !answers.isPending(node) && yes.test(Told.kind(answers, node)) ? 1 << node : 0;
      }
      return hasMajority(set, quorum.present())
          && (quorum.future() == 0 || hasMajority(set, quorum.future()));
    }

    private static boolean hasMajority(int set, int group) {
      return 2 * Integer.bitCount(set & group) > Integer.bitCount(group);
    }

    private static boolean isRefusal(Kind kind) {
      return kind == Kind.HELD || kind == Kind.WAIT || kind == Kind.STALE;
    }

    boolean isContended(Ballot answers) {
      return !isQuorum(answers, kind -> !isRefusal(kind));
    }

    Outcome acquired(int number) {
      if (isQuorum(ballot, Kind.GRANTED)) {
        return Outcome.HELD;
      }
      if (can(all -> isQuorum(all, Kind.GRANTED))) {
        return Outcome.NOTHING;
      }
      if (number < AcquireRound.MAX_ROUNDS && can(all -> isQuorum(all, Kind.GRANTED, Kind.STALE))) {
        return Outcome.PROPOSED;
      }
      boolean isRefused = has(Plain::isRefusal);
      if (isRefused && !can(all -> !isContended(all))) {
        return Outcome.CONTENDED;
      }
      if (has(kind -> kind == Kind.CLOCK)
          && can(all -> isQuorum(all, Kind.GRANTED, Kind.STALE, Kind.CLOCK))) {
        return Outcome.CLOCK_REFUSED;
      }
      return isRefused && can(this::isContended) ? Outcome.NOTHING : Outcome.UNAVAILABLE;
    }

    private boolean has(Predicate<Kind> which) {
      return IntStream.range(0, ballot.nodes())
          .anyMatch(node -> !ballot.isPending(node) && which.test(Told.kind(ballot, node)));
    }

    /** Returns true if it failed though enough nodes granted, or are held, queued or ahead. */
    boolean isAtWork() {
      return isQuorum(ballot, kind -> kind == Kind.GRANTED || isRefusal(kind))
          && !isQuorum(ballot, Kind.GRANTED);
    }

    boolean rulesOutAnother() {
      return !isQuorum(ballot.closed(), kind -> kind != Kind.GRANTED);
    }

    boolean isLost(Ballot answers) {
      return !isQuorum(answers, kind -> kind != Kind.NOT_HELD);
    }

    Outcome extended() {
      if (isQuorum(ballot, Kind.EXTENDED, Kind.JOINED)) {
        return Outcome.EXTENDED;
      }
      if (!can(all -> !isLost(all))) {
        return Outcome.REFUSED;
      }
      return can(all -> isQuorum(all, Kind.EXTENDED, Kind.JOINED)) || can(this::isLost)
          ? Outcome.NOTHING
          : Outcome.UNKNOWN;
    }

    ReleaseResult released() {
      if (isQuorum(ballot, Kind.RELEASED)) {
        return ReleaseResult.RELEASED;
      }
      return isLost(ballot.closed()) ? ReleaseResult.NOT_HELD : ReleaseResult.UNCONFIRMED;
    }
  }

  private static void everyBallot(Kind[] kinds, Ballot soFar, int node, Consumer<Ballot> check) {
    if (node == soFar.nodes()) {
      check.accept(soFar);
      return;
    }
    everyBallot(kinds, soFar, node + 1, check);
    for (Kind kind : kinds) {
      everyBallot(kinds, soFar.with(node, kind), node + 1, check);
    }
  }

  private static void check(Quorum quorum, Ballot ballot) {
    Plain plain = new Plain(quorum, ballot);
    LeaseTerms terms = new LeaseTerms(quorum, 10_000, 102_000_000, 0, 0);
    for (int number = 1; number <= AcquireRound.MAX_ROUNDS; number++) {
      AcquireRound round =
          new AcquireRound(terms, number, 1, new Deadline(START, WALL), 0, 0, ballot, Rivals.NONE);
      assertEquals(plain.acquired(number), round.decide(START, WALL), plain::toString);
      assertEquals(plain.isAtWork(), round.keepsPlace(), plain::toString);
      assertEquals(plain.rulesOutAnother(), round.rulesOutAnother(), plain::toString);
    }
    Deadline current = new Deadline(START, WALL).plus(3_000_000_000L);
    ExtendRound round =
        new ExtendRound(4, Purpose.CALLED, terms, new Deadline(START, WALL), ballot);
    assertEquals(plain.extended(), round.decide(current, START, WALL), plain::toString);
    int all = (1 << quorum.nodes()) - 1;
    ReleaseRound release = new ReleaseRound(quorum, all, 0, 0, ballot);
    assertEquals(plain.released(), release.known(), plain::toString);
  }

  @ParameterizedTest
  @CsvSource({"1,0", "3,0", "7,0", "1,2", "1,6", "3,4", "1,7", "7,1"})
  void everyKindOfAnswer(int present, int future) {
    Quorum quorum = new Quorum(present, future);
    Ballot none = Ballot.empty(quorum.nodes());
    everyBallot(Kind.values(), none, 0, ballot -> check(quorum, ballot));
  }

  @ParameterizedTest
  @CsvSource({"15,0", "31,0", "3,12", "7,14"})
  void everyClassOfAnswersOfMoreNodes(int present, int future) {
    Quorum quorum = new Quorum(present, future);
    Ballot none = Ballot.empty(quorum.nodes());
    everyBallot(CLASSES, none, 0, ballot -> check(quorum, ballot));
  }
}
