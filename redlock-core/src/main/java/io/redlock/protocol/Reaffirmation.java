package io.redlock.protocol;

import io.redlock.protocol.ExtendRound.Purpose;
import org.jspecify.annotations.Nullable;

/**
 * The question if a quorum still holds a lease after a node was reset: it is extended until the
 * result is certain, at most {@link #MOST} times, after pauses that double. Then the owner gives
 * up, which is safe: a node that did not answer still holds what it held, or its own reset will be
 * noticed. Another reset begins anew. An immutable value.
 *
 * @param asked the number of extends since the latest reset
 * @param isOutdated true if the answers of the extend under way may be from before that reset
 * @param isDue true if another extend is to follow
 * @param dueNanos that extend, on the monotonic clock; 0 if there is none
 */
public record Reaffirmation(int asked, boolean isOutdated, boolean isDue, long dueNanos) {

  /** The largest number of extends per reset. */
  public static final int MOST = 8;

  /** Returns the value after a reset: an extend then, or as soon as that under way has ended. */
  static Reaffirmation begin(boolean isAsking, long dueNanos) {
    return new Reaffirmation(0, isAsking, !isAsking, isAsking ? 0 : dueNanos); // E10
  }

  /** Returns the value with an extend: a renewal asks the same, and is repeated until it knows. */
  @Nullable Reaffirmation with(Purpose purpose) {
    return switch (purpose) {
      case CALLED -> this;
      case RENEWED -> isDue ? null : this; // E9
      case CONFIRMED -> new Reaffirmation(asked + 1, false, false, 0);
    };
  }

  Reaffirmation answered(boolean isCertain, long nowNanos, TenureRules rules) {
    if (isOutdated) {
      return new Reaffirmation(asked, false, true, nowNanos);
    }
    if (isCertain || asked >= MOST) {
      return new Reaffirmation(asked, false, false, 0);
    }
    return new Reaffirmation(asked, false, true, nowNanos + rules.confirmNanos(asked));
  }
}
