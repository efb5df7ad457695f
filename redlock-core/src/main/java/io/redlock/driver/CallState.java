package io.redlock.driver;

import io.redlock.LeaseRequest;
import io.redlock.protocol.Decision.Outcome;
import io.redlock.spi.Quorum;

/**
 * The state of a call for a lease: queued, asking, pausing or over. A pure value: each event
 * returns the next one, whose phase says what the call does now. It has no thread, no future and no
 * clock. Its owner has these: it passes the time that is left, makes an attempt when the phase is
 * {@link Phase#ASKS}, and calls {@link #due} when a phase of waiting has lasted {@link #nanos}.
 *
 * <p>An event that does not concern the call keeps the plan, so an answer that comes too late is
 * recognized by the number of its plan.
 */
record CallState(
    LeaseRequest request,
    Phase phase,
    long nanos, // how long the phase lasts at most, from the event that began it
    long boundNanos, // the longest pause that the last refusal allows
    int plan, // the number of phases begun so far
    boolean clockLearned, // nodes have refused a token of this call by their clocks
    int wokenBy) { // the nodes that have woken the call since its last attempt began, as bits

  static final long ENDLESS_NANOS = Long.MAX_VALUE / 4; // longer waits need no timer
  static final long WAKE_PATIENCE_NANOS = 5_000_000; // for other wake-ups after the first; Q7
  static final int WOKEN_BY_ALL = -1; // or by its local queue

  enum Phase {
    QUEUED, // behind other calls of its process
    ASKS, // the nodes: for a lease, or which of several names are free
    PONDERS, // its attempt has failed, and its retry strategy is to choose a pause
    PAUSES, // between two attempts
    OVER // it has given up, or was ended
  }

  /** Returns a queued call without a timer, before it knows its place in the queue. */
  static CallState begin(LeaseRequest request) {
    return new CallState(request, Phase.QUEUED, ENDLESS_NANOS, Long.MAX_VALUE, 0, false, 0);
  }

  boolean isTimed() {
    return phase != Phase.ASKS && phase != Phase.OVER && nanos < ENDLESS_NANOS;
  }

  /** Returns the value after the call has joined its queue, unless the queue has moved since. */
  CallState joined(boolean mayAsk, long leftNanos) {
    if (plan > 0) {
      return this;
    }
    return mayAsk ? asks(clockLearned) : with(Phase.QUEUED, leftNanos);
  }

  /** Returns the value after the call has become the head of its queue: it asks after a delay. */
  CallState moved(long delayNanos, long leftNanos) {
    return switch (phase) {
      case OVER -> this;
      case ASKS -> noting(WOKEN_BY_ALL);
      default -> {
        if (leftNanos <= 0) {
          yield over();
        }
        yield delayNanos > 0
            ? with(Phase.PAUSES, Math.min(delayNanos, leftNanos))
            : asks(clockLearned);
      }
    };
  }

  /**
   * Returns the value after a wake-up by these nodes, given as bits, which is a hint. The other
   * nodes send one as well if they can, so the call asks when a quorum has, or a moment after the
   * first.
   *
   * @param quorum the nodes that are enough
   * @param hasTickets true if nodes may have a ticket of this call
   */
  CallState woken(int nodes, Quorum quorum, boolean hasTickets, long leftNanos) {
    if (phase == Phase.OVER || !request.isFair() || !hasTickets) {
      return this;
    }
    CallState noted = noting(wokenBy | nodes);
    if (phase == Phase.ASKS) {
      return noted;
    }
    if (quorum.isReachedBy(noted.wokenBy)) {
      return asks(clockLearned);
    }
    return wokenBy == 0
        ? noted.with(Phase.PAUSES, Math.min(WAKE_PATIENCE_NANOS, Math.max(leftNanos, 1)))
        : noted;
  }

  /**
   * Returns the value after a failed attempt: the call asks again at once, pauses, ponders or gives
   * up.
   *
   * @param heldMillis the shortest life that is left of a holder's key or first ticket, or −1
   * @param patienceNanos how long the retry strategy may take
   * @param leftNanos zero or less if the wait is over; then there is one more attempt only if nodes
   *     have just refused a token by their clocks
   */
  CallState refused(FailedAttempt outcome, long heldMillis, long patienceNanos, long leftNanos) {
    if (phase != Phase.ASKS) {
      return this;
    }
    boolean learned = clockLearned || outcome.decision() == Outcome.CLOCK_REFUSED;
    boolean learns = learned != clockLearned;
    boolean isOver = leftNanos <= 0 || request.isUnlessHeld() && outcome.isHeld();
    if (isOver && !learns) {
      return over();
    }
    if (learns || outcome.round().terms().quorum().isReachedBy(wokenBy)) {
      return asks(learned);
    }
    long longestNanos = lifeNanos(heldMillis);
    if (request.isFair() && outcome.round().keepsPlace()) {
      boolean isBehind = outcome.isBehindOthers();
      // Others that were granted a part have tickets by now. It asks again soon, before its own
      // tickets from those nodes that granted expire.
      long ticketNanos = isBehind ? Long.MAX_VALUE : Settings.saturatedNanos(request.ttl());
      long keptNanos = Math.min(QueuePlace.LIFE_NANOS, ticketNanos);
      longestNanos = Math.min(longestNanos, keptNanos / 3);
      longestNanos = wokenBy == 0 ? longestNanos : Math.min(longestNanos, WAKE_PATIENCE_NANOS);
      if (isBehind) { // it will be woken; until then it only keeps its tickets alive
        return with(Phase.PAUSES, Math.min(longestNanos, leftNanos));
      }
    }
    return with(Phase.PONDERS, Math.min(patienceNanos, leftNanos), longestNanos);
  }

  /**
   * Returns the life of the holder's key: with 0 ms left it is there until the next millisecond.
   */
  private static long lifeNanos(long remainingMillis) {
    return remainingMillis < 0 || remainingMillis >= Long.MAX_VALUE / 1_000_000
        ? Long.MAX_VALUE
        : (remainingMillis + 1) * 1_000_000;
  }

  /** Returns the value after the retry strategy has chosen the pause that follows this plan. */
  CallState paused(int answeredPlan, long pauseNanos, long leftNanos) {
    if (phase != Phase.PONDERS || plan != answeredPlan) {
      return this;
    }
    long nanos = Math.min(Math.min(pauseNanos, boundNanos), leftNanos);
    return with(Phase.PAUSES, Math.max(nanos, 1));
  }

  /**
   * Returns the value after the time of a timed phase has passed. Not for a call that ponders: for
   * it, the default strategy chooses the pause.
   *
   * @param mayAsk true if the call is the head of its queue, or keeps tickets alive
   */
  CallState due(boolean mayAsk, long leftNanos) {
    if (phase != Phase.QUEUED && mayAsk) {
      return asks(clockLearned);
    }
    return leftNanos > 0 ? with(Phase.QUEUED, leftNanos) : over();
  }

  /** Returns true if it may take over a lease: it waits, and asks no node. */
  boolean mayTakeOver() {
    return phase != Phase.ASKS && phase != Phase.OVER; // P1
  }

  CallState over() {
    return phase == Phase.OVER ? this : with(Phase.OVER, 0);
  }

  private CallState asks(boolean learned) {
    return new CallState(request, Phase.ASKS, 0, Long.MAX_VALUE, plan + 1, learned, 0);
  }

  private CallState with(Phase next, long nextNanos) {
    return with(next, nextNanos, Long.MAX_VALUE);
  }

  private CallState with(Phase next, long nextNanos, long longestNanos) {
    return new CallState(request, next, nextNanos, longestNanos, plan + 1, clockLearned, wokenBy);
  }

  private CallState noting(int woken) {
    return new CallState(request, phase, nanos, boundNanos, plan, clockLearned, woken);
  }
}
