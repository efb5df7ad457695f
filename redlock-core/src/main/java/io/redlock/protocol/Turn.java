package io.redlock.protocol;

import org.jspecify.annotations.Nullable;

/**
 * The consequences of an event.
 *
 * @param outcome what came of it
 * @param targets the nodes to send the release to now, as bits
 * @param isLast true if no request of the caller follows that release
 * @param attempted the end of the attempt; null if it goes on
 * @param extending the extend to send; null if there is none
 */
public record Turn(
    Outcome outcome,
    int targets,
    boolean isLast,
    @Nullable Attempted attempted,
    @Nullable Extending extending) {

  /** The result of an event. */
  public enum Outcome {
    /** The event changed nothing that concerns others. */
    NOTHING,
    /** A grant is to be sent to all nodes. */
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
    /** The lease is lost: it was held for as long as it may be renewed. */
    HELD_OUT,
    /** An extend is to be sent to all nodes. */
    EXTENDING,
    /** The release is to be sent again. */
    REPEATED,
    /** No key can be left: requests that wait inside their nodes are withdrawn. */
    GIVEN_UP,
    /** It counts nothing, since the attempt or the lease had ended. */
    OVER,
    /** The owner has ended. */
    ENDED
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

  private static final Turn[] PLAIN = new Turn[Outcome.values().length];

  static {
    for (Outcome outcome : Outcome.values()) {
      PLAIN[outcome.ordinal()] = new Turn(outcome, 0, false, null, null);
    }
  }

  /** Returns the turn with this outcome, and nothing else. */
  static Turn of(Outcome outcome) {
    return PLAIN[outcome.ordinal()];
  }

  /** Returns true if the release begins now. */
  public boolean isRelease() {
    return outcome == Outcome.ENDED || outcome == Outcome.FAILED;
  }
}
