package io.redlock.driver;

import io.redlock.AcquireResult;
import io.redlock.AcquireResult.By;
import io.redlock.Lease;
import io.redlock.RetryStrategy.Cause;
import io.redlock.Votes;
import io.redlock.protocol.AcquireRound.Decision;
import io.redlock.protocol.Rivals;
import io.redlock.protocol.Turn.Attempted;
import io.redlock.spi.Quorum;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The result of an attempt at the moment of its decision. Later answers do not change it.
 *
 * @param decision the decision of the attempt's last round
 * @param lease null unless the decision is {@link Decision#HELD}
 * @param votes the answers of the nodes until then
 * @param heldRemainingMillis the shortest remaining life of a holder's key or first ticket that a
 *     refusing node reported; −1 if none reported an end
 * @param keepsPlace true if the caller keeps its tickets; without a quorum, or too slow, it would
 *     only block waiters that could succeed
 * @param isBehindOthers true if the lease failed only because of others' leases and tickets
 * @param by who was in the way, as far as the answers tell
 */
record AttemptEnd(
    Decision decision,
    @Nullable Lease lease,
    Votes votes,
    long heldRemainingMillis,
    boolean keepsPlace,
    boolean isBehindOthers,
    By by) {

  /** Returns the end of an attempt; the lease is null if there is none. */
  static AttemptEnd of(Attempted end, Quorum quorum, @Nullable Lease lease, Votes votes) {
    return new AttemptEnd(
        end.decision(),
        lease,
        votes,
        end.rivals().remainingMillis(),
        end.keepsPlace(),
        end.isBehindOthers(),
        by(end, quorum));
  }

  private static By by(Attempted end, Quorum quorum) {
    Rivals rivals = end.rivals();
    if (rivals.isOne(quorum)) {
      return By.HOLDER;
    }
    return rivals.isSplit(quorum, end.round().rulesOutAnother()) ? By.SPLIT : By.UNKNOWN;
  }

  /** Returns the same end, with another time after which an attempt may succeed. */
  AttemptEnd remaining(long remainingMillis) {
    return new AttemptEnd(decision, lease, votes, remainingMillis, keepsPlace, isBehindOthers, by);
  }

  /** Returns true if a node refused the name: another may be free. */
  boolean isRefused() {
    return decision == Decision.CONTENDED
        || decision == Decision.UNAVAILABLE
            && votes.nodes().stream().anyMatch(vote -> vote.vote() == Votes.Vote.REFUSED);
  }

  /** Returns true if another client is known to hold the resource. */
  boolean isHeld() {
    return decision == Decision.CONTENDED && by == By.HOLDER;
  }

  AcquireResult.Outcome outcome() {
    return switch (decision) {
      case HELD -> AcquireResult.Outcome.ACQUIRED;
      case CONTENDED -> AcquireResult.Outcome.CONTENDED;
      case TOO_SLOW -> AcquireResult.Outcome.TOO_SLOW;
      default -> AcquireResult.Outcome.UNAVAILABLE;
    };
  }

  /** Returns why the attempt failed. */
  Cause cause() {
    return switch (outcome()) {
      case ACQUIRED -> throw new IllegalStateException("it succeeded");
      case CONTENDED -> by == By.SPLIT ? Cause.SPLIT : Cause.HELD;
      case UNAVAILABLE -> Cause.UNAVAILABLE;
      case TOO_SLOW -> Cause.TOO_SLOW;
    };
  }

  AcquireResult result() {
    boolean isContended = outcome() == AcquireResult.Outcome.CONTENDED;
    Optional<By> inTheWay = isContended ? Optional.of(by) : Optional.empty();
    return new AcquireResult(outcome(), Optional.ofNullable(lease), votes, inTheWay);
  }
}
