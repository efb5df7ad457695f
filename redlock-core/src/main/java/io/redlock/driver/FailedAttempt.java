package io.redlock.driver;

import io.redlock.AcquireResult;
import io.redlock.AcquireResult.By;
import io.redlock.RetryStrategy.Cause;
import io.redlock.Votes;
import io.redlock.protocol.AcquireRound;
import io.redlock.protocol.Decision.Outcome;
import io.redlock.protocol.Rivals;
import io.redlock.spi.Quorum;

/** An attempt that failed, at the moment of its decision. Later answers do not change it. */
record FailedAttempt(Outcome decision, AcquireRound round, Votes votes) {

  /** Returns who was in the way, as far as the answers tell. */
  By by() {
    Rivals rivals = round.rivals();
    Quorum quorum = round.terms().quorum();
    if (rivals.isOne(quorum)) {
      return By.HOLDER;
    }
    return rivals.isSplit(quorum, round.rulesOutAnother()) ? By.SPLIT : By.UNKNOWN;
  }

  /** Returns true if a node refused the name: another may be free. */
  boolean isRefused() {
    return decision == Outcome.CONTENDED
        || decision == Outcome.UNAVAILABLE
            && votes.nodes().stream().anyMatch(vote -> vote.vote() == Votes.Vote.REFUSED);
  }

  /** Returns true if another client is known to hold the resource. */
  boolean isHeld() {
    return decision == Outcome.CONTENDED && by() == By.HOLDER;
  }

  /** Returns true if it failed only because of others' leases and tickets. */
  boolean isBehindOthers() {
    return decision == Outcome.CONTENDED && !round.wasGrantedAnywhere();
  }

  /** Returns why it failed. */
  Cause cause() {
    return switch (decision) {
      case CONTENDED -> by() == By.SPLIT ? Cause.SPLIT : Cause.HELD;
      case TOO_SLOW -> Cause.TOO_SLOW;
      default -> Cause.UNAVAILABLE;
    };
  }

  AcquireResult result() {
    return switch (decision) {
      case CONTENDED -> AcquireResult.contended(by(), votes);
      case TOO_SLOW -> AcquireResult.tooSlow(votes);
      default -> AcquireResult.unavailable(votes);
    };
  }
}
