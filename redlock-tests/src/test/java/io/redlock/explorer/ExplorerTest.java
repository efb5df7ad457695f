package io.redlock.explorer;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.explorer.Search.Result;
import io.redlock.testkit.Pinned;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The protocol as it is. */
class ExplorerTest extends SearchedScopes {

  static final int[] A = {0};
  static final int[] B = {1};
  static final int[] AB = {0, 1};
  static final int[] BC = {1, 2};
  private static final int[] CA = {0, 2};

  private static Scope timed(String name) {
    return Scope.of(name).attempts(2).grantTicks(2).extendTicks(2).horizon(2);
  }

  private static Scope extending() {
    return timed("2 leases with an extend each").horizon(3).extensions(1);
  }

  private static Scope losing() {
    return timed("2 leases with an extend each, a loss of data").losses(1, 2).extensions(1);
  }

  private static Scope differing() {
    return timed("2 leases, ttls of 1 and 3 ticks, a copied request")
        .grantTicks(1, 3)
        .extendTicks(1, 2)
        .extensions(1)
        .copies(1);
  }

  /** Two of three clocks were an hour ahead, and one of the two saw one attempt more. */
  private static Scope setRight(String name) {
    long hourMicros = 3_600_000_000L;
    return Scope.of(name).rounds(2).countersAtFirst(hourMicros, hourMicros + 700, 0);
  }

  static Scope crowd(String name, int... attemptsOfEach) {
    return Scope.of(name).fair(attemptsOfEach).nothingIsLate();
  }

  private static Scope sets(String name, int[]... names) {
    return Scope.of(name).sets(names).aheadMicros(0, 1);
  }

  /** Each attempt is for one of two names; apart from their order these are all ways to do so. */
  private static Scope permits(String name) {
    return sets(name, A, A, B).aheadMicros(0);
  }

  /** An owner does what is due by itself, as late as it likes. */
  private static Scope driven(String name, int ticks, int horizon) {
    return Scope.of(name).attempts(1).grantTicks(ticks).horizon(horizon).driven();
  }

  private static Scope freed() {
    return Scope.of("2 leases of a tick with an extend each, set free at any moment")
        .attempts(2)
        .horizon(2)
        .extensions(1)
        .setFree();
  }

  /** Leases that are passed on twice; the nodes' counters are next to the tokens proposed. */
  private static Scope passing(String name) {
    return Scope.of(name)
        .attempts(2)
        .aheadMicros(0, 2, 5)
        .countersAtFirst(999_999, 999_998, 999_990)
        .passes(2);
  }

  /** On this JDK as on the one on which the file was written. */
  @Test
  void theSameScopeHasTheSameStates() throws IOException {
    List<Scope> small =
        List.of(
            Scope.of("2 attempts").attempts(2).aheadMicros(0, 1),
            Scope.of("1 attempt of 3 rounds, 2 cuts, a copy")
                .attempts(1)
                .rounds(3)
                .cuts(2)
                .copies(1),
            Scope.of("2 leases of 2 ticks").attempts(2).horizon(2),
            Scope.of("1 lease with an extend, a loss of data")
                .attempts(1)
                .horizon(2)
                .extensions(1)
                .losses(1, 1)
                .cuts(1),
            Scope.of("2 fair waiters").fair(1, 1),
            Scope.of("2 attempts at overlapping sets").sets(AB, BC));
    List<String> found = new ArrayList<>();
    for (Scope scope : small) {
      Result result = explore(scope, TO_THE_END).assertExhausted();
      found.add(scope.name + ": " + result.states() + " states, depth " + result.depth());
    }
    Pinned.expect("io/redlock/explorer/states.txt", ExplorerTest.class, found);
  }

  /** Whoever adds a property and forgets that it tells attempts apart misses states. */
  @Test
  void attemptsThatDifferInAnyPropertyAreNotSearchedAsOne() {
    Result alike =
        explore(Scope.of("2 like attempts").marked("a", "a"), TO_THE_END).assertExhausted();
    Result unlike =
        explore(Scope.of("2 unlike attempts").marked("a", "b"), TO_THE_END).assertExhausted();
    assertTrue(unlike.states() > alike.states() * 3 / 2, alike + ", " + unlike);
  }

  static Stream<Scope> scopes() {
    return Stream.of(
        Scope.of("2 attempts of 2 rounds, a cut").attempts(2).rounds(2).cuts(1),
        Scope.of("3 attempts of 1 round").attempts(3),
        Scope.of("2 attempts of 2 rounds, a clock beyond the skew")
            .attempts(2)
            .rounds(2)
            .aheadMicros(0, 1_500_000),
        Scope.of("2 attempts of 2 rounds, a counter far ahead")
            .attempts(2)
            .rounds(2)
            .countersAtFirst(1L << 50, 0, 0),
        setRight("2 attempts of 2 rounds, a majority was ahead").attempts(2),
        setRight("1 lease with an extend, a majority was ahead, a cut")
            .attempts(1)
            .grantTicks(2)
            .extendTicks(2)
            .horizon(3)
            .extensions(1)
            .cuts(1)
            .copies(1),
        driven("1 release that is repeated, 3 shortages", 1, 4).with(scope -> scope.shortages = 3),
        driven("1 lease that is renewed", 4, 5).renewed(3).extensions(2),
        driven("1 lease that is renewed, a cut", 4, 3).renewed(3).extensions(1).cuts(1),
        driven("1 lease that is confirmed, a loss of data", 2, 3).losses(1, 2).extensions(1),
        timed("1 lease with 2 extends, a copy, set free at any moment")
            .attempts(1)
            .extensions(2)
            .copies(1)
            .setFree(),
        crowd("2 fair waiters, set free at any moment", 1, 1).setFree(),
        crowd("3 fair waiters", 1, 1, 1),
        crowd("2 fair waiters, one tries twice, held at first", 2, 1).heldAtFirst(),
        crowd("2 fair waiters that may die, a copied request", 1, 1).waitersDie().copies(1),
        crowd("2 fair leases, tickets of a tick", 1, 1)
            .with(scope -> scope.ticketTicks = 1)
            .horizon(3),
        sets("2 overlapping sets, 2 rounds", AB, BC).rounds(2),
        sets("2 overlapping sets, a cut", AB, BC).aheadMicros(0).cuts(1),
        Scope.of("2 names and one of them, set free at any moment").sets(AB, A).setFree(),
        passing("2 leases that are passed on"),
        passing("2 leases that are passed on, a copy").copies(1),
        passing("2 leases that are passed on, 2 rounds").aheadMicros(0, 2).rounds(2),
        passing("2 leases that are passed on, a cut").aheadMicros(0, 2).cuts(1),
        passing("2 leases that are passed on, set free at any moment").aheadMicros(0, 2).setFree(),
        passing("2 leases of 2 ticks that are passed on")
            .aheadMicros(0, 2)
            .grantTicks(2)
            .horizon(2),
        passing("2 leases that are passed on, a withdrawal")
            .aheadMicros(0, 2)
            .with(scope -> scope.withdrawals = 1),
        passing("1 lease that is passed on and confirmed, a loss of data")
            .attempts(1)
            .aheadMicros(0)
            .grantTicks(2)
            .horizon(3)
            .driven()
            .losses(1, 2)
            .extensions(1),
        sets("2 overlapping sets, leases that are passed on", AB, BC).passes(2),
        sets("2 permits, 2 leases", A, B).aheadMicros(0).grantTicks(2).horizon(2));
  }

  static Stream<Scope> largeScopes() {
    return Stream.of(
        passing("3 leases that are passed on").attempts(3).aheadMicros(0, 2),
        passing("2 leases of 2 ticks that are passed on, an extend, a loss of data")
            .aheadMicros(0)
            .grantTicks(2)
            .extendTicks(2)
            .horizon(2)
            .losses(1, 2)
            .extensions(1),
        extending(),
        freed(),
        losing(),
        differing(),
        permits("2 permits, 3 attempts"));
  }

  static Stream<Scope> longScopes() {
    return Stream.of(
        extending(),
        freed(),
        timed("2 leases with an extend each, set free at any moment").extensions(1).setFree(),
        Scope.of("2 attempts of 2 rounds, set free at any moment").attempts(2).rounds(2).setFree(),
        setRight("2 attempts of 2 rounds, a majority was ahead, a cut").attempts(2).cuts(1),
        permits("2 permits, 3 attempts"),
        crowd("2 fair waiters that may die, a cut", 1, 1).waitersDie().cuts(1),
        Scope.of("2 fair waiters, held at first").fair(1, 1).heldAtFirst(),
        crowd("2 fair waiters, both try twice, held at first", 2, 2).heldAtFirst(),
        Scope.of("2 fair leases that may lose patience")
            .fair(1, 1)
            .with(scope -> scope.ticketTicks = 1)
            .horizon(2),
        crowd("3 fair waiters, held at first", 1, 1, 1).heldAtFirst(),
        Scope.of("2 fair waiters that may lose patience, a cut").fair(1, 1).cuts(1));
  }

  static Stream<Scope> endlessScopes() {
    return Stream.of(
        losing(),
        differing(),
        permits("2 permits, 3 leases").grantTicks(2).horizon(2),
        sets("3 overlapping sets", AB, BC, CA).aheadMicros(0));
  }
}
