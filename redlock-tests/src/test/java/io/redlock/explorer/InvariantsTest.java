package io.redlock.explorer;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.redlock.explorer.ExplorerInvariant.Violated;
import io.redlock.spi.NodeReply.Kind;
import io.redlock.testkit.NodeModel.Cell;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** The checks are checked: each lets pass what is good and sees what is bad, at the very edge. */
class InvariantsTest {

  private static void good(Executable check) {
    assertDoesNotThrow(check);
  }

  private static void bad(ExplorerInvariant expected, Executable check) {
    assertEquals(expected, assertThrows(Violated.class, check).invariant);
  }

  @Test
  void twoGoodLeasesOverlap() {
    good(() -> Invariants.leasesDoNotOverlap(0));
    good(() -> Invariants.leasesDoNotOverlap(1));
    bad(ExplorerInvariant.I1, () -> Invariants.leasesDoNotOverlap(2));
  }

  @Test
  void leaseThatLessThanQuorumHoldsIsNotBacked() {
    good(() -> Invariants.leaseIsBacked("A", 2, 2));
    bad(ExplorerInvariant.I1_BACKED, () -> Invariants.leaseIsBacked("A", 1, 2));
  }

  @Test
  void leaseIsOverWhenItsTimeHasCome() {
    good(() -> Invariants.leaseIsEntitled("A", 9, 10));
    bad(ExplorerInvariant.I2, () -> Invariants.leaseIsEntitled("A", 10, 10));
    good(() -> Invariants.leaseIsGoodAtFirst("A", true));
    bad(ExplorerInvariant.I2, () -> Invariants.leaseIsGoodAtFirst("A", false));
  }

  @Test
  void tokenIsAboveAllEarlierOnesAndNobodyElses() {
    good(() -> Invariants.tokenIsNewAndHighest("A", 5, 4, new long[] {0, 4, 6}));
    bad(ExplorerInvariant.I3, () -> Invariants.tokenIsNewAndHighest("A", 4, 4, new long[] {0}));
    bad(ExplorerInvariant.I3, () -> Invariants.tokenIsNewAndHighest("A", 3, 4, new long[] {0}));
    bad(ExplorerInvariant.I3, () -> Invariants.tokenIsNewAndHighest("A", 5, 4, new long[] {0, 5}));
  }

  @Test
  void counterIsOfTheTimeOrASuccessor() {
    good(() -> Invariants.counterDoesNotRunAhead(10, 10, 0));
    good(() -> Invariants.counterDoesNotRunAhead(21, 10, 20));
    bad(ExplorerInvariant.I20, () -> Invariants.counterDoesNotRunAhead(11, 10, 0));
    bad(ExplorerInvariant.I20, () -> Invariants.counterDoesNotRunAhead(22, 10, 20));
  }

  @Test
  void releasedOwnerMustNotBeStored() {
    good(() -> Invariants.releasedOwnerIsNotStored("A", false, true));
    good(() -> Invariants.releasedOwnerIsNotStored("A", true, false));
    bad(ExplorerInvariant.I5, () -> Invariants.releasedOwnerIsNotStored("A", true, true));
  }

  @Test
  void endedOwnerMustNotBeLeftBehindInQuiet() {
    good(() -> Invariants.endedOwnerIsNotLeftBehind("A", false, true));
    good(() -> Invariants.endedOwnerIsNotLeftBehind("A", true, false));
    bad(ExplorerInvariant.I5, () -> Invariants.endedOwnerIsNotLeftBehind("A", true, true));
  }

  @Test
  void extendAfterSomebodyElseAcquiredIsWrong() {
    good(() -> Invariants.nobodyAcquiredMeanwhile("A", false));
    bad(ExplorerInvariant.I6, () -> Invariants.nobodyAcquiredMeanwhile("A", true));
  }

  @Test
  void roundWithAllAnswersDecides() {
    good(() -> Invariants.fullBallotDecides("A", false, 2, 3));
    good(() -> Invariants.fullBallotDecides("A", true, 3, 3));
    bad(ExplorerInvariant.I7, () -> Invariants.fullBallotDecides("A", false, 3, 3));
  }

  @Test
  void abstainingNodeMayRefuseExtendAndRelease() {
    for (Kind kind : Kind.values()) {
      good(() -> Invariants.votesOnlyIfAllowed(kind, true));
      if (kind == Kind.GRANTED || kind == Kind.JOINED) {
        bad(ExplorerInvariant.I8, () -> Invariants.votesOnlyIfAllowed(kind, false));
      } else {
        good(() -> Invariants.votesOnlyIfAllowed(kind, false));
      }
    }
  }

  @Test
  void grantIsCountedAndCounterNeverFalls() {
    good(() -> Invariants.grantIsCounted(Kind.GRANTED, 5, 5));
    good(() -> Invariants.grantIsCounted(Kind.STALE, 5, 4));
    bad(ExplorerInvariant.I8, () -> Invariants.grantIsCounted(Kind.GRANTED, 5, 4));
    bad(ExplorerInvariant.I8, () -> Invariants.grantIsCounted(Kind.JOINED, 5, 4));
    good(() -> Invariants.counterNeverFalls(5, 5));
    bad(ExplorerInvariant.I8, () -> Invariants.counterNeverFalls(5, 4));
  }

  @Test
  void ownerMayLengthenItsKeyAndLoseIt() {
    Cell key = new Cell("A", 100, 1, 1_000);
    good(() -> Invariants.ownerNeverShortens(key, key.locked("A", 100), "A"));
    good(() -> Invariants.ownerNeverShortens(key, key.locked("", 0), "A"));
    good(() -> Invariants.ownerNeverShortens(key, key.locked("B", 50), "B"));
    bad(ExplorerInvariant.I8, () -> Invariants.ownerNeverShortens(key, key.locked("A", 99), "A"));
  }

  @Test
  void leaseRestsOnGrantsThatReallyHappened() {
    good(() -> Invariants.leaseRestsOnQuorum("A", 2, 2));
    bad(ExplorerInvariant.I9, () -> Invariants.leaseRestsOnQuorum("A", 1, 2));
  }

  @Test
  void nobodyIsPassedWhoWasQueuedFirst() {
    good(() -> Invariants.nobodyIsPassed("A", 0));
    bad(ExplorerInvariant.I13, () -> Invariants.nobodyIsPassed("A", 1));
  }

  @Test
  void firstInLineGetsQuorum() {
    good(() -> Invariants.firstInLineIsGranted("A", 2, 2));
    bad(ExplorerInvariant.I14, () -> Invariants.firstInLineIsGranted("A", 1, 2));
  }

  @Test
  void setIsHeldAsWholeOrNotAtAll() {
    good(() -> Invariants.setIsHeldAsWhole("A", false, false));
    good(() -> Invariants.setIsHeldAsWhole("A", true, true));
    bad(ExplorerInvariant.I15, () -> Invariants.setIsHeldAsWhole("A", true, false));
  }

  @Test
  void leaseThatWasOverIsNotExtended() {
    good(() -> Invariants.lostLeaseStaysLost("A", true));
    bad(ExplorerInvariant.I11, () -> Invariants.lostLeaseStaysLost("A", false));
  }
}
