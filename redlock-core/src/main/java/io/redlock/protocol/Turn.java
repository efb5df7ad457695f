package io.redlock.protocol;

import org.jspecify.annotations.Nullable;

/**
 * The decision on a round.
 *
 * @param attempted the end of the attempt; null if it goes on, and for an extend
 */
public record Turn(Outcome outcome, @Nullable Attempted attempted) {

  /** The outcome of the round. */
  public enum Outcome {
    /** It is not decided yet. */
    NOTHING,
    /** A grant of a higher token is to be sent to all nodes. */
    PROPOSED,
    /** The attempt succeeded. */
    HELD,
    /** The attempt failed, and the owner has ended. */
    FAILED,
    /** The extend succeeded. */
    EXTENDED,
    /** The extend has no certain result. */
    UNKNOWN,
    /** The extend lost the lease: too few nodes still hold it. */
    REFUSED,
    /** The lease is lost: it was not extended in time. */
    EXPIRED,
    /** It counts nothing, since the attempt or the lease had ended. */
    OVER;

    private final Turn plain = new Turn(this, null);
  }

  /**
   * The end of an attempt.
   *
   * @param decision the decision of its last round
   * @param round that round
   * @param rivals those in the way
   */
  public record Attempted(AcquireRound.Decision decision, AcquireRound round, Rivals rivals) {

    /**
     * Returns true if a fair caller that goes on keeps its tickets. Too slow, or without a quorum
     * of nodes that may yet grant, it would only block waiters that could succeed.
     */
    public boolean keepsPlace() {
      return decision != AcquireRound.Decision.TOO_SLOW
          && round.reachedQuorum(rivals.endless()); // Q4
    }

    /** Returns true if it failed only because of others' leases and tickets. */
    public boolean isBehindOthers() {
      return decision == AcquireRound.Decision.CONTENDED && !round.wasGrantedAnywhere();
    }
  }

  static Turn of(Outcome outcome) {
    return outcome.plain;
  }
}
