package io.redlock.driver;

import io.redlock.AcquireResult;
import io.redlock.Lease;
import io.redlock.Votes;
import io.redlock.protocol.AcquireRound.Decision;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The end of an attempt, as it was at the moment of its decision: nothing that a node answers later
 * changes it.
 *
 * @param decision of the attempt's last round
 * @param lease null unless the decision is {@link Decision#HELD}
 * @param votes what each node had said by then
 * @param takenRemainingMillis the shortest life that a refusing node gave its present holder or the
 *     first ticket in its queue; −1 where none has an end
 * @param keepsPlace true if the caller's place in the queues is worth keeping: cut off from a
 *     quorum, or too slow, it would only block those that could win
 * @param isBehindOthers true if nothing but others' leases and tickets stood in the way
 */
record AttemptEnd(
    Decision decision,
    @Nullable Lease lease,
    Votes votes,
    long takenRemainingMillis,
    boolean keepsPlace,
    boolean isBehindOthers) {

  AcquireResult.Outcome outcome() {
    return switch (decision) {
      case HELD -> AcquireResult.Outcome.ACQUIRED;
      case CONTENDED -> AcquireResult.Outcome.CONTENDED;
      case TOO_SLOW -> AcquireResult.Outcome.TOO_SLOW;
      default -> AcquireResult.Outcome.UNAVAILABLE;
    };
  }

  AcquireResult result() {
    return switch (outcome()) {
      case ACQUIRED -> new AcquireResult.Acquired(Objects.requireNonNull(lease), votes);
      case CONTENDED -> new AcquireResult.Contended(votes);
      case TOO_SLOW -> new AcquireResult.TooSlow(votes);
      case UNAVAILABLE -> new AcquireResult.Unavailable(votes);
    };
  }
}
