package io.redlock.driver;

import io.redlock.protocol.AcquireRound.Decision;
import io.redlock.protocol.Ballot;

/**
 * The waiting of one call as a pure value: events go in, the next value comes out, and its phase
 * says what the call does now. It has no thread, no future and no clock: whoever owns these passes
 * the time that is left, makes an attempt when the phase is {@link Phase#ASKS}, and reports {@link
 * #due} after {@link #nanos} when it is a phase of waiting.
 *
 * <p>An event that does not concern the call returns the same plan, so a plan's number tells a
 * timer or an answer that comes too late.
 *
 * @param rules what does not change during the call
 * @param phase what the call does now
 * @param nanos how long the phase lasts at most, from the event that began it
 * @param boundNanos the longest pause that the last refusal allows
 * @param plan the number of phases begun so far
 * @param attempts the number of attempts begun so far
 * @param clockLearned true if nodes have refused a token of this call for their clocks' sake
 * @param lineMoved true if the local line has moved since the attempt began
 * @param wokenBy the nodes that have woken the call since its last attempt began, as bits
 */
record Waiting(
    Rules rules,
    Phase phase,
    long nanos,
    long boundNanos,
    int plan,
    int attempts,
    boolean clockLearned,
    boolean lineMoved,
    int wokenBy) {

  /** Blocking longer than this have no end, and need no timer. */
  static final long ENDLESS_NANOS = Long.MAX_VALUE / 4;

  /** The time for the other nodes' wake-ups after the first. */
  static final long WAKE_PATIENCE_NANOS = 5_000_000;

  /** What a call does. */
  enum Phase {
    /** It stands behind others of its own process. */
    IN_LINE,
    /** It asks the nodes: an attempt is under way. */
    ASKS,
    /** It has failed, and waits for its retry strategy to choose a pause. */
    PONDERS,
    /** It pauses between two attempts. */
    PAUSES,
    /** It has given up, or was ended. */
    OVER
  }

  /**
   * What does not change during a call.
   *
   * @param isFair true if the call waits in the nodes' queues
   * @param nodes how many nodes there are
   * @param ticketNanos how long a node that granted keeps the ticket
   * @param patienceNanos how long the retry strategy may take
   */
  record Rules(boolean isFair, int nodes, long ticketNanos, long patienceNanos) {}

  /** A call that stands in line without a timer, before it knows its place there. */
  static Waiting begin(Rules rules) {
    return new Waiting(rules, Phase.IN_LINE, ENDLESS_NANOS, Long.MAX_VALUE, 0, 0, false, false, 0);
  }

  /** True if the phase ends by itself. */
  boolean isTimed() {
    return phase != Phase.ASKS && phase != Phase.OVER && nanos < ENDLESS_NANOS;
  }

  /** After the call has joined its line, unless the line has moved since. */
  Waiting joined(boolean mayAsk, long leftNanos) {
    if (plan > 0) {
      return this;
    }
    return mayAsk ? asks() : with(Phase.IN_LINE, leftNanos);
  }

  /** After the line has moved, so that this call is its head: asks after a delay. */
  Waiting moved(long delayNanos, long leftNanos) {
    return switch (phase) {
      case OVER -> this;
      case ASKS -> noting(true, wokenBy);
      default -> {
        if (leftNanos <= 0) {
          yield over();
        }
        yield delayNanos > 0 ? with(Phase.PAUSES, Math.min(delayNanos, leftNanos)) : asks();
      }
    };
  }

  /**
   * After a wake-up by a node: a hint. The other nodes will send one as well if they can, so the
   * call asks when a quorum has, or a moment after the first.
   *
   * @param hasTickets true if nodes may have a ticket of this call
   */
  Waiting woken(int node, boolean hasTickets, long leftNanos) {
    if (phase == Phase.OVER || !rules.isFair || !hasTickets) {
      return this;
    }
    Waiting noted = noting(lineMoved, wokenBy | 1 << node);
    if (phase == Phase.ASKS) {
      return noted;
    }
    if (noted.isWokenByQuorum()) {
      return asks();
    }
    return wokenBy == 0
        ? noted.with(Phase.PAUSES, Math.min(WAKE_PATIENCE_NANOS, Math.max(leftNanos, 1)))
        : noted;
  }

  /**
   * After the attempt has failed: asks again at once, pauses, ponders or gives up.
   *
   * @param leftNanos zero or less if the wait is over; then only clocks that were just learned are
   *     worth one more attempt
   */
  Waiting refused(AttemptEnd outcome, long leftNanos) {
    if (phase != Phase.ASKS) {
      return this;
    }
    boolean learned = clockLearned || outcome.decision() == Decision.CLOCK_REFUSED;
    boolean learns = learned != clockLearned;
    if (leftNanos <= 0 && !learns) {
      return over();
    }
    if (learns || lineMoved || isWokenByQuorum()) {
      return asks(learned);
    }
    boolean keepsPlace = rules.isFair && outcome.keepsPlace();
    boolean isHinted = keepsPlace && wokenBy != 0;
    long longestNanos = isHinted ? WAKE_PATIENCE_NANOS : Long.MAX_VALUE;
    longestNanos = Math.min(longestNanos, lifeNanos(outcome.takenRemainingMillis()));
    if (keepsPlace && outcome.isBehindOthers()) {
      // It will be woken: it only keeps its tickets alive.
      longestNanos = Math.min(longestNanos, QueuePlace.refreshNanos(QueuePlace.LIFE_NANOS));
      return with(Phase.PAUSES, Math.min(longestNanos, leftNanos));
    }
    if (keepsPlace) {
      // The others that were granted a part have tickets by now: it asks again soon, and before
      // the tickets that came with the grants have run out.
      longestNanos = Math.min(longestNanos, QueuePlace.refreshNanos(rules.ticketNanos));
    }
    return with(Phase.PONDERS, Math.min(rules.patienceNanos, leftNanos), longestNanos);
  }

  /** The life of the holder's key; with 0 ms left it is there until the node's clock moves on. */
  private static long lifeNanos(long remainingMillis) {
    return remainingMillis < 0 || remainingMillis >= Long.MAX_VALUE / 1_000_000
        ? Long.MAX_VALUE
        : (remainingMillis + 1) * 1_000_000;
  }

  /** After the retry strategy has chosen the pause that follows this plan. */
  Waiting paused(int answeredPlan, long pauseNanos, long leftNanos) {
    if (phase != Phase.PONDERS || plan != answeredPlan) {
      return this;
    }
    long nanos = Math.min(Math.min(pauseNanos, boundNanos), leftNanos);
    return with(Phase.PAUSES, Math.max(nanos, 1));
  }

  /**
   * After the time of this plan has passed. Not for a call that ponders: the default strategy
   * answers for it.
   *
   * @param mayAsk true if the call is the head of its line, or keeps tickets alive
   */
  Waiting due(int duePlan, boolean mayAsk, long leftNanos) {
    if (plan != duePlan || phase == Phase.OVER || phase == Phase.ASKS) {
      return this;
    }
    if (phase != Phase.IN_LINE && mayAsk) {
      return asks();
    }
    return leftNanos > 0 ? with(Phase.IN_LINE, leftNanos) : over();
  }

  /** After the call was ended: cancelled, closed, or served. */
  Waiting over() {
    return phase == Phase.OVER ? this : with(Phase.OVER, 0);
  }

  private boolean isWokenByQuorum() {
    return Integer.bitCount(wokenBy) >= Ballot.quorum(rules.nodes);
  }

  private Waiting asks() {
    return asks(clockLearned);
  }

  private Waiting asks(boolean learned) {
    return new Waiting(
        rules, Phase.ASKS, 0, Long.MAX_VALUE, plan + 1, attempts + 1, learned, false, 0);
  }

  private Waiting with(Phase next, long nextNanos) {
    return with(next, nextNanos, Long.MAX_VALUE);
  }

  private Waiting with(Phase next, long nextNanos, long longestNanos) {
    return new Waiting(
        rules, next, nextNanos, longestNanos, plan + 1, attempts, clockLearned, lineMoved, wokenBy);
  }

  private Waiting noting(boolean moved, int woken) {
    return new Waiting(rules, phase, nanos, boundNanos, plan, attempts, clockLearned, moved, woken);
  }
}
