package io.redlock.protocol;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.redlock.spi.NodeReply.Kind;
import io.redlock.spi.Quorum;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class JointRoundsTest {

  private static final long START = -77;
  private static final long WALL = 1_767_225_600_000_000L;
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

  private static boolean hasMajority(int set, int group) {
    return 2 * Integer.bitCount(set & group) > Integer.bitCount(group);
  }

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

    private boolean both(Ballot answers, Predicate<Kind> yes) {
      int set = 0;
      for (int node = 0; node < answers.nodes(); node++) {
        set |= !answers.isPending(node) && yes.test(answers.kind(node)) ? 1 << node : 0;
      }
      return hasMajority(set, quorum.present()) && hasMajority(set, quorum.future());
    }

    boolean isHeld(Ballot answers) {
      return both(answers, kind -> kind == Kind.GRANTED);
    }

    boolean isContended(Ballot answers) {
      return !both(answers, kind -> kind != Kind.WAIT && kind != Kind.STALE);
    }

    AcquireRound.Decision acquired(int number) {
      if (isHeld(ballot)) {
        return AcquireRound.Decision.HELD;
      }
      if (can(this::isHeld)) {
        return AcquireRound.Decision.WAIT;
      }
      if (number < AcquireRound.MAX_ROUNDS
          && can(all -> both(all, kind -> kind == Kind.GRANTED || kind == Kind.STALE))) {
        return AcquireRound.Decision.PROPOSE_HIGHER;
      }
      boolean isRefused = ballot.count(Ballot.REFUSED) > 0;
      if (isRefused && !can(all -> !isContended(all))) {
        return AcquireRound.Decision.CONTENDED;
      }
      if (ballot.count(Ballot.CLOCK) > 0
          && can(
              all ->
                  both(
                      all,
                      kind -> kind == Kind.GRANTED || kind == Kind.STALE || kind == Kind.CLOCK))) {
        return AcquireRound.Decision.CLOCK_REFUSED;
      }
      return isRefused && can(this::isContended)
          ? AcquireRound.Decision.WAIT
          : AcquireRound.Decision.UNAVAILABLE;
    }

    boolean isExtended(Ballot answers) {
      return both(answers, kind -> kind == Kind.EXTENDED);
    }

    boolean isLost(Ballot answers) {
      return !both(answers, kind -> kind != Kind.NOT_HELD);
    }

    ExtendRound.Decision extended() {
      if (isExtended(ballot)) {
        return ExtendRound.Decision.EXTENDED;
      }
      if (!can(all -> !isLost(all))) {
        return ExtendRound.Decision.LOST;
      }
      return can(this::isExtended) || can(this::isLost)
          ? ExtendRound.Decision.WAIT
          : ExtendRound.Decision.UNKNOWN;
    }

    ReleaseRound.Known released() {
      if (both(ballot, kind -> kind == Kind.RELEASED)) {
        return ReleaseRound.Known.RELEASED;
      }
      return !both(open(), kind -> kind != Kind.NOT_HELD)
          ? ReleaseRound.Known.NOT_HELD
          : ReleaseRound.Known.UNCONFIRMED;
    }

    private Ballot open() {
      return ballot.closed();
    }
  }

  private static void everyBallot(Ballot soFar, int node, Consumer<Ballot> check) {
    if (node == soFar.nodes()) {
      check.accept(soFar);
      return;
    }
    everyBallot(soFar, node + 1, check);
    for (Kind kind : CLASSES) {
      everyBallot(soFar.with(node, kind), node + 1, check);
    }
  }

  @ParameterizedTest
  @CsvSource({"1,2", "1,6", "3,4", "1,7", "7,1", "3,12", "7,14"})
  void roundsOfTwoGroupsAreDecidedByTheProtocol(int present, int future) {
    Quorum quorum = new Quorum(present, future);
    LeaseTerms terms = new LeaseTerms(quorum, 10_000, 102_000_000, 0, 0);
    Deadline current = Deadline.after(START, WALL, 3_000_000_000L);
    everyBallot(
        Ballot.empty(quorum.nodes()),
        0,
        ballot -> {
          Plain plain = new Plain(quorum, ballot);
          for (int number = 2; number <= AcquireRound.MAX_ROUNDS; number++) {
            AcquireRound round = new AcquireRound(terms, number, 1, START, WALL, 0, ballot);
            assertEquals(plain.acquired(number), round.decide(START, WALL), plain::toString);
          }
          ExtendRound round = new ExtendRound(terms, START, WALL, ballot);
          assertEquals(plain.extended(), round.decide(current, START, WALL), plain::toString);
          int all = (1 << quorum.nodes()) - 1;
          ReleaseRound release = new ReleaseRound(quorum, all, 0, 0, ballot);
          assertEquals(plain.released(), release.known(), plain::toString);
        });
  }
}
