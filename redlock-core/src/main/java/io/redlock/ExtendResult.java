package io.redlock;

import io.redlock.text.Brief;
import java.time.Duration;
import java.util.Optional;

/**
 * The result of extending a lease.
 *
 * @param outcome how it ended
 * @param remaining the value of {@link Lease#remaining()} when a majority had answered; empty
 *     unless the outcome is {@link Outcome#EXTENDED}
 * @param votes the answer of each node; empty if no node was asked
 */
public record ExtendResult(Outcome outcome, Optional<Duration> remaining, Votes votes) {

  /** The three ways in which an extension ends. */
  public enum Outcome {
    /** A majority holds the lease for longer now, and has held it since it was acquired. */
    EXTENDED,
    /** The lease is lost, by this extension or before it, or was released meanwhile. */
    LOST,
    /**
     * Too few nodes answered in time to know. The lease keeps its deadline; try again while {@link
     * Lease#isValid()}.
     */
    UNKNOWN
  }

  /**
   * Checks that the outcome has what belongs to it, and nothing else.
   *
   * @throws IllegalArgumentException if a remaining time is given without {@link Outcome#EXTENDED},
   *     or is missing with it
   */
  public ExtendResult {
    if (remaining.isPresent() != (outcome == Outcome.EXTENDED)) {
      throw new IllegalArgumentException(outcome + " with remaining " + remaining);
    }
  }

  /**
   * Creates the result of an extension that succeeded.
   *
   * @param remaining the remaining time of the lease
   * @param votes the answer of each node
   * @return a result with {@link Outcome#EXTENDED}
   */
  public static ExtendResult extended(Duration remaining, Votes votes) {
    return new ExtendResult(Outcome.EXTENDED, Optional.of(remaining), votes);
  }

  /**
   * Creates the result of extending a lease that is lost or released.
   *
   * @param votes the answer of each node
   * @return a result with {@link Outcome#LOST}
   */
  public static ExtendResult lost(Votes votes) {
    return new ExtendResult(Outcome.LOST, Optional.empty(), votes);
  }

  /**
   * Creates the result of an extension that too few nodes answered.
   *
   * @param votes the answer of each node
   * @return a result with {@link Outcome#UNKNOWN}
   */
  public static ExtendResult unknown(Votes votes) {
    return new ExtendResult(Outcome.UNKNOWN, Optional.empty(), votes);
  }

  /** For example {@code LOST: 1 of 3 granted, 2 needed (…)}. */
  @Override
  public String toString() {
    return outcome
        + remaining.map(left -> " for " + Brief.duration(left)).orElse("")
        + ": "
        + votes;
  }
}
