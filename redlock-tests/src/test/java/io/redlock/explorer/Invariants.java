package io.redlock.explorer;

import io.redlock.explorer.ExplorerInvariant.Violated;
import io.redlock.spi.NodeReply.Kind;
import io.redlock.spi.NodeRequest;
import io.redlock.testkit.NodeModel.Cell;
import io.redlock.testkit.NodeModel.Reader;
import java.util.List;

/** The checks: each returns if its invariant holds and throws {@link Violated} if it does not. */
final class Invariants {

  private Invariants() {}

  static void leasesDoNotOverlap(int goodLeases) {
    check(goodLeases <= 1, ExplorerInvariant.I1, goodLeases + " leases");
  }

  static void leaseIsBacked(String owner, int backing, int quorum) {
    check(backing >= quorum, ExplorerInvariant.I1_BACKED, owner + ": " + backing + " nodes");
  }

  static void leaseIsEntitled(String owner, long nowNanos, long entitledNanos) {
    check(
        nowNanos < entitledNanos,
        ExplorerInvariant.I2,
        owner + ": good at " + nowNanos + " ns, entitled until " + entitledNanos);
  }

  static void leaseIsGoodAtFirst(String owner, boolean isGood) {
    check(isGood, ExplorerInvariant.I2, owner + ": over when it was handed out");
  }

  /** The floor is the highest token of the leases acquired before; others are all that were. */
  static void tokenIsNewAndHighest(String owner, long token, long floor, long[] others) {
    check(token > floor, ExplorerInvariant.I3, owner + ": " + token + " after " + floor);
    for (long other : others) {
      check(token != other, ExplorerInvariant.I3, owner + ": " + token + " twice");
    }
  }

  static void releasedOwnerIsNotStored(String owner, boolean isBuried, boolean isStored) {
    check(!isBuried || !isStored, ExplorerInvariant.I5, owner + " is stored again");
  }

  /** Nothing is under way to the node for the ended owner, and it is not to be told of the end. */
  static void endedOwnerIsNotLeftBehind(String owner, boolean isQuiet, boolean isStored) {
    check(!isQuiet || !isStored, ExplorerInvariant.I5, owner + " is left behind");
  }

  static void nobodyAcquiredMeanwhile(String owner, boolean isOvertaken) {
    check(!isOvertaken, ExplorerInvariant.I6, owner);
  }

  static void fullBallotDecides(String owner, boolean isDecided, int answers, int nodes) {
    check(isDecided || answers < nodes, ExplorerInvariant.I7, owner);
  }

  static void votesOnlyIfAllowed(Kind said, boolean mayVote) {
    boolean votes = said == Kind.GRANTED || said == Kind.JOINED;
    check(mayVote || !votes, ExplorerInvariant.I8, said + " by a node that abstains");
  }

  static void grantIsCounted(Kind said, long token, long counter) {
    boolean votes = said == Kind.GRANTED || said == Kind.JOINED;
    check(
        !votes || counter >= token,
        ExplorerInvariant.I8,
        token + " granted, " + counter + " counted");
  }

  static void counterNeverFalls(long before, long after) {
    check(after >= before, ExplorerInvariant.I8, "counter " + before + " became " + after);
  }

  /** It was set to at most the time and the skew, or one more than the highest anywhere. */
  static void counterDoesNotRunAhead(long counter, long limit, long highest) {
    check(
        counter <= Math.max(limit, highest + 1),
        ExplorerInvariant.I20,
        counter + ", the highest was " + highest);
  }

  static void ownerNeverShortens(Cell before, Cell after, String owner) {
    boolean kept = before.owner().equals(owner) && after.owner().equals(owner);
    check(
        !kept || after.lockUntilMillis() >= before.lockUntilMillis(),
        ExplorerInvariant.I8,
        owner + ": " + before.lockUntilMillis() + " ms became " + after.lockUntilMillis());
  }

  /** What another reader has stays as it was, and the key ends with the longest of them. */
  static void readersStay(Cell before, Cell after, String owner) {
    if (!before.isShared() || !after.isShared()) {
      return;
    }
    for (Reader reader : before.readers()) {
      long untilMillis = entryMillis(after, reader.owner());
      boolean isItsOwn = reader.owner().equals(owner);
      check(
          untilMillis >= reader.untilMillis() || isItsOwn && untilMillis < 0,
          ExplorerInvariant.I8,
          owner + ": " + reader + " became " + untilMillis + " ms");
    }
    long longestMillis = longestMillis(after);
    check(
        after.lockUntilMillis() >= longestMillis,
        ExplorerInvariant.I8,
        "a key until " + after.lockUntilMillis() + " ms, a reader until " + longestMillis);
  }

  static void readerIsAboveWriters(NodeRequest request, Kind said, long floor) {
    boolean comes = request.shared() && (said == Kind.GRANTED || said == Kind.JOINED);
    check(
        !comes || request.token() > floor,
        ExplorerInvariant.I8,
        request.token() + " reads, a writer had " + floor);
  }

  static void waiterIsQueued(NodeRequest request, Kind said, Cell after) {
    if (request instanceof NodeRequest.Grant grant
        && grant.ticket() != null
        && (said == Kind.GRANTED || said == Kind.HELD || said == Kind.WAIT)) {
      String waiter = grant.ticket().waiter();
      check(
          after.queue().stream().anyMatch(place -> place.waiter().equals(waiter)),
          ExplorerInvariant.I8,
          waiter + " has no ticket after " + said);
    }
  }

  static void floorNeverFalls(long before, long after) {
    check(after >= before, ExplorerInvariant.I8, "floor " + before + " became " + after);
  }

  /** A shared key with its readers alone: none of them was asked to stay for longer. */
  static void readersStayNoLonger(Cell before, Cell after, NodeRequest request, long nowMillis) {
    if (!after.isShared()) {
      return;
    }
    long ttlMillis = 0;
    if (request instanceof NodeRequest.Grant grant) {
      ttlMillis = grant.ttlMillis();
    } else if (request instanceof NodeRequest.Extend extend) {
      ttlMillis = extend.ttlMillis();
    }
    for (Reader reader : after.readers()) {
      boolean asks = ttlMillis > 0 && reader.owner().equals(request.owner());
      long asked = asks ? nowMillis + ttlMillis : -1;
      check(
          reader.untilMillis() <= Math.max(asked, entryMillis(before, reader.owner())),
          ExplorerInvariant.I29,
          reader + " after " + request);
    }
    check(
        after.lockUntilMillis() <= Math.max(longestMillis(after), nowMillis + 1),
        ExplorerInvariant.I29,
        "a key until " + after.lockUntilMillis() + " ms with " + after.readers());
  }

  private static long entryMillis(Cell cell, String owner) {
    for (Reader reader : cell.readers()) {
      if (reader.owner().equals(owner)) {
        return reader.untilMillis();
      }
    }
    return -1;
  }

  private static long longestMillis(Cell cell) {
    List<Reader> readers = cell.readers();
    return readers.isEmpty() ? -1 : readers.get(0).untilMillis();
  }

  /** Where nobody writes, and unless it was released there. */
  static void readerIsLetIn(String owner, Kind said, boolean wasReleased) {
    boolean isRefused = said == Kind.HELD || said == Kind.STALE || said == Kind.WAIT;
    check(wasReleased || !isRefused, ExplorerInvariant.I28, owner + ": " + said);
  }

  static void leaseRestsOnQuorum(String owner, int granted, int quorum) {
    check(granted >= quorum, ExplorerInvariant.I9, owner + ": " + granted + " grants");
  }

  static void lostLeaseStaysLost(String owner, boolean wasGood) {
    check(wasGood, ExplorerInvariant.I11, owner);
  }

  /** The waiters it may not pass, as bits. */
  static void nobodyIsPassed(String owner, int passed) {
    check(passed == 0, ExplorerInvariant.I13, owner + " passes " + Integer.bitCount(passed));
  }

  static void firstInLineIsGranted(String waiter, int grants, int quorum) {
    check(grants >= quorum, ExplorerInvariant.I14, waiter + " would have " + grants + " grants");
  }

  static void setIsHeldAsWhole(String owner, boolean holdsAny, boolean holdsAll) {
    check(holdsAll || !holdsAny, ExplorerInvariant.I15, owner);
  }

  private static void check(boolean holds, ExplorerInvariant invariant, String detail) {
    if (!holds) {
      throw new Violated(invariant, detail);
    }
  }
}
