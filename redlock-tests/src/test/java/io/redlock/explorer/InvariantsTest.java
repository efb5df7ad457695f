package io.redlock.explorer;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.redlock.explorer.ExplorerInvariant.Violated;
import io.redlock.spi.HolderLabel;
import io.redlock.spi.NodeReply.Kind;
import io.redlock.spi.NodeRequest.Grant;
import io.redlock.spi.NodeRequest.Release;
import io.redlock.spi.NodeRequest.Ticket;
import io.redlock.testkit.NodeModel.Cell;
import io.redlock.testkit.NodeModel.Place;
import io.redlock.testkit.NodeModel.Reader;
import io.redlock.testkit.NodeModel.Reading;
import java.util.List;
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
  void tokenOfALeaseThatWasPassedOnIsNobodyElses() {
    good(() -> Invariants.tokenIsOfNoOther("A", 4, 5, 7));
    good(() -> Invariants.tokenIsOfNoOther("A", 8, 5, 7));
    for (long token = 5; token <= 7; token++) {
      long its = token;
      bad(ExplorerInvariant.I3, () -> Invariants.tokenIsOfNoOther("A", its, 5, 7));
    }
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
  void extendAfterAQuorumHasSetItsOwnerFreeIsWrong() {
    good(() -> Invariants.freedOwnerIsNotExtended("A", 1, 2));
    bad(ExplorerInvariant.I22, () -> Invariants.freedOwnerIsNotExtended("A", 2, 2));
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

  private static Cell read(long lockUntilMillis, Reader... readers) {
    Reading reading = new Reading(List.of(readers), 0, 0, 0);
    return new Cell(HolderLabel.SHARED, 0, lockUntilMillis, 5, 900, List.of(), reading);
  }

  private static Reader reader(String owner, long untilMillis) {
    return new Reader(owner, untilMillis, false);
  }

  @Test
  void readerStaysAndTheKeyWithIt() {
    Cell two = read(100, reader("A", 100), reader("B", 50));
    good(() -> Invariants.readersStay(two, read(50, reader("B", 50)), "A"));
    good(() -> Invariants.readersStay(two, read(110, reader("A", 100), reader("B", 110)), "B"));
    good(() -> Invariants.readersStay(two, two.locked("X", 100), "X"));
    bad(ExplorerInvariant.I8, () -> Invariants.readersStay(two, read(50, reader("B", 50)), "B"));
    Cell shorter = read(100, reader("A", 100), reader("B", 49));
    bad(ExplorerInvariant.I8, () -> Invariants.readersStay(two, shorter, "B"));
    Cell shortKey = read(99, reader("A", 100), reader("B", 50));
    bad(ExplorerInvariant.I8, () -> Invariants.readersStay(two, shortKey, "B"));
  }

  @Test
  void readerAndKeyLiveAsLongAsWasAskedFor() {
    Cell one = read(50, reader("B", 50));
    Grant grant = new Grant(List.of("r"), "A", 5, 0, 60, null, 5);
    Cell both = read(100, reader("A", 100), reader("B", 50));
    good(() -> Invariants.readersStayNoLonger(one, both, grant, 40));
    bad(ExplorerInvariant.I29, () -> Invariants.readersStayNoLonger(one, both, grant, 39));
    Cell longKey = read(101, reader("A", 100), reader("B", 50));
    bad(ExplorerInvariant.I29, () -> Invariants.readersStayNoLonger(one, longKey, grant, 40));
    Cell longOther = read(100, reader("A", 100), reader("B", 51));
    bad(ExplorerInvariant.I29, () -> Invariants.readersStayNoLonger(one, longOther, grant, 40));
    Release release = new Release(List.of("r"), "A", 5, 0, false, null, 0);
    good(() -> Invariants.readersStayNoLonger(both, read(51, reader("B", 50)), release, 50));
    bad(
        ExplorerInvariant.I29,
        () -> Invariants.readersStayNoLonger(both, read(52, reader("B", 50)), release, 50));
  }

  @Test
  void readerIsAboveAllWritersAndIsNotRefusedWithoutThem() {
    Grant grant = new Grant(List.of("r"), "A", 5, 0, 60, null, 5);
    good(() -> Invariants.readerIsAboveWriters(grant, Kind.GRANTED, 4));
    good(() -> Invariants.readerIsAboveWriters(grant, Kind.STALE, 5));
    bad(ExplorerInvariant.I8, () -> Invariants.readerIsAboveWriters(grant, Kind.GRANTED, 5));
    good(() -> Invariants.floorNeverFalls(5, 5));
    bad(ExplorerInvariant.I8, () -> Invariants.floorNeverFalls(5, 4));
    good(() -> Invariants.freedNameHasNoFloor(read(100)));
    Cell floored = read(100).read(new Reading(List.of(), 5, 4, 900));
    bad(ExplorerInvariant.I8, () -> Invariants.freedNameHasNoFloor(floored));
    good(() -> Invariants.readerIsLetIn("A", Kind.CLOCK, false));
    good(() -> Invariants.readerIsLetIn("A", Kind.STALE, true));
    bad(ExplorerInvariant.I28, () -> Invariants.readerIsLetIn("A", Kind.STALE, false));
  }

  @Test
  void waiterHasTicketWhereItAsked() {
    Grant grant = new Grant(List.of("r"), "A", 5, 0, 60, new Ticket("c", 7, 5, 9, true), 5);
    Cell empty = read(100, reader("B", 100));
    Cell queued = empty.queued(List.of(new Place("c:07", 5, 100)));
    good(() -> Invariants.waiterIsQueued(grant, Kind.WAIT, queued));
    good(() -> Invariants.waiterIsQueued(grant, Kind.STALE, empty));
    bad(ExplorerInvariant.I8, () -> Invariants.waiterIsQueued(grant, Kind.WAIT, empty));
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
