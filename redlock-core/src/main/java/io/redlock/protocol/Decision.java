package io.redlock.protocol;

import org.jspecify.annotations.Nullable;

/**
 * The decision on a round.
 *
 * @param attempted the last round of an attempt that has ended; null if it goes on, and for an
 *     extend
 */
public record Decision(Outcome outcome, @Nullable AcquireRound attempted) {

  /** The outcome of the round. */
  public enum Outcome {
    /** It is not decided yet: a quorum is possible, or the reason of its failure is not settled. */
    NOTHING,
    /** A grant of a higher token is to be sent to all nodes. */
    PROPOSED,
    /** The attempt succeeded: a quorum granted in time. */
    HELD,
    /** It failed, and the owner has ended: nodes refused the token by their clocks. */
    CLOCK_REFUSED,
    /** It failed: others hold the resource on so many nodes that no quorum is left. */
    CONTENDED,
    /** It failed: too few nodes could say yes. */
    UNAVAILABLE,
    /** It failed: a quorum granted, but too late. */
    TOO_SLOW,
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

    private final Decision plain = new Decision(this, null);
  }

  static Decision of(Outcome outcome) {
    return outcome.plain;
  }
}
