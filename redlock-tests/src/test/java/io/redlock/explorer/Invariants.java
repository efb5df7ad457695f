package io.redlock.explorer;

import io.redlock.explorer.ExplorerInvariant.Violated;
import io.redlock.spi.NodeReply.Kind;
import io.redlock.spi.NodeRequest;
import io.redlock.testkit.NodeModel.Cell;
import io.redlock.testkit.ReaderChecks;
import java.util.function.Supplier;

/** The checks: each returns if its invariant holds and throws {@link Violated} if it does not. */
final class Invariants {

  private Invariants() {}

  static void leasesDoNotOverlap(int goodLeases) {
    check(goodLeases <= 1, ExplorerInvariant.I1, () -> goodLeases + " leases");
  }

  static void leaseIsBacked(String owner, int backing, int quorum) {
    check(backing >= quorum, ExplorerInvariant.I1_BACKED, () -> owner + ": " + backing + " nodes");
  }

  static void leaseIsEntitled(String owner, long nowNanos, long entitledNanos) {
    check(
        nowNanos < entitledNanos,
        ExplorerInvariant.I2,
        () -> owner + ": good at " + nowNanos + " ns, entitled until " + entitledNanos);
  }

  static void leaseIsGoodAtFirst(String owner, boolean isGood) {
    check(isGood, ExplorerInvariant.I2, () -> owner + ": over when it was handed out");
  }

  /** The floor is the highest token of the leases acquired before; others are all that were. */
  static void tokenIsNewAndHighest(String owner, long token, long floor, long[] others) {
    check(token > floor, ExplorerInvariant.I3, () -> owner + ": " + token + " after " + floor);
    for (long other : others) {
      check(token != other, ExplorerInvariant.I3, () -> owner + ": " + token + " twice");
    }
  }

  /** Another owner's lease had the first token, and was passed on up to the last. */
  static void tokenIsOfNoOther(String owner, long token, long first, long last) {
    check(
        token < first || token > last, ExplorerInvariant.I3, () -> owner + ": " + token + " twice");
  }

  static void releasedOwnerIsNotStored(String owner, boolean isBuried, boolean isStored) {
    check(!isBuried || !isStored, ExplorerInvariant.I5, () -> owner + " is stored again");
  }

  /** Nothing is under way to the node for the ended owner, and it is not to be told of the end. */
  static void endedOwnerIsNotLeftBehind(String owner, boolean isQuiet, boolean isStored) {
    check(!isQuiet || !isStored, ExplorerInvariant.I5, () -> owner + " is left behind");
  }

  static void nobodyAcquiredMeanwhile(String owner, boolean isOvertaken) {
    check(!isOvertaken, ExplorerInvariant.I6, () -> owner);
  }

  static void freedOwnerIsNotExtended(String owner, int freed, int quorum) {
    check(freed < quorum, ExplorerInvariant.I22, () -> owner + ": by " + freed + " nodes");
  }

  static void fullBallotDecides(String owner, boolean isDecided, int answers, int nodes) {
    check(isDecided || answers < nodes, ExplorerInvariant.I7, () -> owner);
  }

  static void votesOnlyIfAllowed(Kind said, boolean mayVote) {
    boolean votes = said == Kind.GRANTED || said == Kind.JOINED;
    check(mayVote || !votes, ExplorerInvariant.I8, () -> said + " by a node that abstains");
  }

  static void grantIsCounted(Kind said, long token, long counter) {
    boolean votes = said == Kind.GRANTED || said == Kind.JOINED;
    check(
        !votes || counter >= token,
        ExplorerInvariant.I8,
        () -> token + " granted, " + counter + " counted");
  }

  static void counterNeverFalls(long before, long after) {
    check(after >= before, ExplorerInvariant.I8, () -> "counter " + before + " became " + after);
  }

  /** It was set to at most the time and the skew, or one more than the highest anywhere. */
  static void counterDoesNotRunAhead(long counter, long limit, long highest) {
    check(
        counter <= Math.max(limit, highest + 1),
        ExplorerInvariant.I20,
        () -> counter + ", the highest was " + highest);
  }

  static void ownerNeverShortens(Cell before, Cell after, String owner) {
    boolean kept = before.owner().equals(owner) && after.owner().equals(owner);
    check(
        !kept || after.lockUntilMillis() >= before.lockUntilMillis(),
        ExplorerInvariant.I8,
        () -> owner + ": " + before.lockUntilMillis() + " ms became " + after.lockUntilMillis());
  }

  /** What another reader has stays as it was, and the key ends with the longest of them. */
  static void readersStay(Cell before, Cell after, String owner) {
    String shortened = ReaderChecks.shortened(before, after, owner);
    check(shortened.isEmpty(), ExplorerInvariant.I8, () -> shortened);
  }

  static void readerIsAboveWriters(NodeRequest request, Kind said, long floor) {
    boolean comes = request.shared() && (said == Kind.GRANTED || said == Kind.JOINED);
    check(
        !comes || request.token() > floor,
        ExplorerInvariant.I8,
        () -> request.token() + " reads, a writer had " + floor);
  }

  /** Or a reader that was set free could join at its old token. */
  static void freedNameHasNoFloor(Cell after) {
    check(after.floor() == after.counter(), ExplorerInvariant.I8, () -> "floor " + after.floor());
  }

  static void waiterIsQueued(NodeRequest request, Kind said, Cell after) {
    if (request instanceof NodeRequest.Grant grant
        && grant.ticket() != null
        && (said == Kind.GRANTED || said == Kind.HELD || said == Kind.WAIT)) {
      String waiter = grant.ticket().waiter();
      check(
          after.queue().stream().anyMatch(place -> place.waiter().equals(waiter)),
          ExplorerInvariant.I8,
          () -> waiter + " has no ticket after " + said);
    }
  }

  static void floorNeverFalls(long before, long after) {
    check(after >= before, ExplorerInvariant.I8, () -> "floor " + before + " became " + after);
  }

  /** No reader stays for longer than it asked, and the key ends with them. */
  static void readersStayNoLonger(Cell before, Cell after, NodeRequest request, long nowMillis) {
    String outlived = ReaderChecks.outlived(before, after, request, nowMillis);
    check(outlived.isEmpty(), ExplorerInvariant.I29, () -> outlived);
  }

  /** Where nobody writes, and unless it was released there. */
  static void readerIsLetIn(String owner, Kind said, boolean wasReleased) {
    boolean isRefused = said == Kind.HELD || said == Kind.STALE || said == Kind.WAIT;
    check(wasReleased || !isRefused, ExplorerInvariant.I28, () -> owner + ": " + said);
  }

  static void leaseRestsOnQuorum(String owner, int granted, int quorum) {
    check(granted >= quorum, ExplorerInvariant.I9, () -> owner + ": " + granted + " grants");
  }

  static void lostLeaseStaysLost(String owner, boolean wasGood) {
    check(wasGood, ExplorerInvariant.I11, () -> owner);
  }

  /** The waiters it may not pass, as bits. */
  static void nobodyIsPassed(String owner, int passed) {
    check(passed == 0, ExplorerInvariant.I13, () -> owner + " passes " + Integer.bitCount(passed));
  }

  static void firstInLineIsGranted(String waiter, int grants, int quorum) {
    check(
        grants >= quorum,
        ExplorerInvariant.I14,
        () -> waiter + " would have " + grants + " grants");
  }

  static void setIsHeldAsWhole(String owner, boolean holdsAny, boolean holdsAll) {
    check(holdsAll || !holdsAny, ExplorerInvariant.I15, () -> owner);
  }

  private static void check(boolean holds, ExplorerInvariant invariant, Supplier<String> detail) {
    if (!holds) {
      throw new Violated(invariant, detail.get());
    }
  }
}
