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

/** The result of an attempt at the moment of its decision. Later answers do not change it. */
record AttemptEnd(
    Attempted attempted,
    @Nullable Lease lease, // null unless it succeeded
    Votes votes,
    long heldRemainingMillis) { // the shortest of a refusing node's holder or first ticket, or −1

  Decision decision() {
    return attempted.decision();
  }

  /** Returns who was in the way, as far as the answers tell. */
  By by() {
    Rivals rivals = attempted.rivals();
    Quorum quorum = attempted.round().terms().quorum();
    if (rivals.isOne(quorum)) {
      return By.HOLDER;
    }
    boolean isSplit = rivals.isSplit(quorum, attempted.round().rulesOutAnother());
    return isSplit ? By.SPLIT : By.UNKNOWN;
  }

  /** Returns the same end, with another time after which an attempt may succeed. */
  AttemptEnd remaining(long remainingMillis) {
    return new AttemptEnd(attempted, lease, votes, remainingMillis);
  }

  /** Returns true if a node refused the name: another may be free. */
  boolean isRefused() {
    return decision() == Decision.CONTENDED
        || decision() == Decision.UNAVAILABLE
            && votes.nodes().stream().anyMatch(vote -> vote.vote() == Votes.Vote.REFUSED);
  }

  /** Returns true if another client is known to hold the resource. */
  boolean isHeld() {
    return decision() == Decision.CONTENDED && by() == By.HOLDER;
  }

  AcquireResult.Outcome outcome() {
    return switch (decision()) {
      case HELD -> AcquireResult.Outcome.ACQUIRED;
      case CONTENDED -> AcquireResult.Outcome.CONTENDED;
      case TOO_SLOW -> AcquireResult.Outcome.TOO_SLOW;
      default -> AcquireResult.Outcome.UNAVAILABLE;
    };
  }

  Cause cause() {
    return switch (outcome()) {
      case ACQUIRED -> throw new IllegalStateException("it succeeded");
      case CONTENDED -> by() == By.SPLIT ? Cause.SPLIT : Cause.HELD;
      case UNAVAILABLE -> Cause.UNAVAILABLE;
      case TOO_SLOW -> Cause.TOO_SLOW;
    };
  }

  AcquireResult result() {
    boolean isContended = outcome() == AcquireResult.Outcome.CONTENDED;
    Optional<By> inTheWay = isContended ? Optional.of(by()) : Optional.empty();
    return new AcquireResult(outcome(), Optional.ofNullable(lease), votes, inTheWay);
  }
}
