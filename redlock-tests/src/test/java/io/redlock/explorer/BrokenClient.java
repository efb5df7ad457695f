package io.redlock.explorer;

import io.redlock.protocol.AcquireRound;
import io.redlock.protocol.Ballot;
import io.redlock.protocol.Deadline;
import io.redlock.protocol.Decision.Outcome;
import io.redlock.protocol.ExtendRound;
import io.redlock.protocol.Footprint;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReply.Kind;
import io.redlock.spi.NodeRequest.Ticket;

/** Clients that break one rule each, all of them seen in the wild or tempting. */
enum BrokenClient implements Scope.ClientRules {
  /** Counts validity from when the quorum was there. */
  STAMPS_AT_THE_END,
  /** Believes its wall clock. */
  TRUSTS_THE_WALL_CLOCK,
  /** Believes its monotonic clock, which stops when the machine sleeps. */
  TRUSTS_THE_MONOTONIC_CLOCK,
  /** Takes nothing off for clocks that run fast. */
  IGNORES_DRIFT,
  /** Takes a quorum for success, however late it comes. */
  IGNORES_ELAPSED_TIME,
  /** Is content with half of the nodes, rounded down. */
  COUNTS_HALF,
  /** Takes no answer for a yes. */
  COUNTS_ERRORS,
  /** Counts a yes once for every time it is configured, which is twice. */
  COUNTS_TWICE,
  /** Counts what earlier rounds were granted. */
  COUNTS_ALL_ROUNDS,
  /** Releases where it was told yes, and nowhere else. */
  RELEASES_WHERE_GRANTED,
  /** Releases where it acquired, whatever extends have done since. */
  FORGETS_EXTENDS,
  /** Tidies up after itself as soon as it holds: who has not said yes is released. */
  RELEASES_STRAGGLERS,
  /** Takes one node's word for all. */
  EXTENDS_BY_ANY_NODE,
  /** Counts an extension, or a renewal, from when the quorum was there. */
  EXTENDS_FROM_THE_END,
  /** Extends what may have been somebody else's in between. */
  EXTENDS_WHAT_IS_OVER,
  /** Comes last again with each attempt. */
  DRAWS_TICKETS_ANEW,
  /** Takes its ticket back where it releases, and nowhere else. */
  LEAVES_TICKETS_BEHIND,
  /** Takes the tokens above the lowest counter that a grant named. */
  PASSES_ABOVE_THE_LOWEST,
  /** Takes no counter for the lowest one. */
  PASSES_ABOVE_NOTHING,
  /** Takes the tokens above the counters of its first round, whichever round was granted. */
  PASSES_ABOVE_THE_FIRST_ROUND,
  /** Passes its lease on above the token that was granted. */
  PASSES_ABOVE_ITS_TOKEN,
  /** Passes its token on with the lease. */
  PASSES_THE_SAME_TOKEN,
  /** Passes a lease on that is over. */
  PASSES_WHAT_IS_OVER,
  /** Passes its own idea of the time off as the successor of a counter. */
  VOUCHES_FOR_ITSELF;

  @Override
  public ExplorerRules with(Scope scope) {
    return new Rules(this, scope);
  }

  /** The rules of production, but for one. */
  private static final class Rules extends ExplorerRules {

    private static final long FAR_NANOS = Long.MAX_VALUE / 2;
    private static final Deadline NEVER = new Deadline(FAR_NANOS, Long.MAX_VALUE);

    private final BrokenClient broken;

    Rules(BrokenClient broken, Scope scope) {
      super(scope);
      this.broken = broken;
    }

    private boolean isBroken(BrokenClient rule) {
      return broken == rule;
    }

    // Rounds.

    @Override
    protected Deadline heldUntil(AcquireRound round, long nowNanos, long nowWallMicros) {
      Deadline right = super.heldUntil(round, nowNanos, nowWallMicros);
      return switch (broken) {
        case STAMPS_AT_THE_END -> round.terms().deadline(new Deadline(nowNanos, nowWallMicros));
        case TRUSTS_THE_WALL_CLOCK -> new Deadline(FAR_NANOS, right.wallMicros());
        case TRUSTS_THE_MONOTONIC_CLOCK -> new Deadline(right.nanos(), Long.MAX_VALUE);
        case IGNORES_DRIFT -> {
          long ttlNanos = round.terms().ttlMillis() * 1_000_000;
          yield round.start().plus(ttlNanos);
        }
        default -> right;
      };
    }

    @Override
    protected Outcome decide(AcquireRound round, long nowNanos, long nowWallMicros) {
      Outcome right = super.decide(round, nowNanos, nowWallMicros);
      int granted = Integer.bitCount(round.ballot().set(Ballot.GRANTED));
      boolean isHalf = granted >= round.ballot().nodes() / 2;
      boolean isInTime = round.deadline().remainingNanos(nowNanos, nowWallMicros) > 0;
      boolean isHeld =
          isBroken(IGNORES_ELAPSED_TIME) && right == Outcome.TOO_SLOW
              || isBroken(COUNTS_HALF) && isHalf && isInTime;
      return isHeld ? Outcome.HELD : right;
    }

    @Override
    protected AcquireRound counted(AcquireRound round, int node, NodeReply reply) {
      boolean isError = reply.kind() == Kind.UNKNOWN || reply.kind() == Kind.UNREACHABLE;
      NodeReply heard = isBroken(COUNTS_ERRORS) && isError ? NodeReply.GRANTED : reply;
      AcquireRound after = super.counted(round, node, heard);
      boolean isGranted = reply.kind() == Kind.GRANTED;
      return switch (broken) {
        case COUNTS_TWICE -> super.counted(after, (node + 1) % round.ballot().nodes(), reply);
        case PASSES_ABOVE_THE_LOWEST ->
            isGranted && round.wasGrantedAnywhere()
                ? above(after, Math.min(round.highestBefore(), reply.counter()))
                : after;
        case PASSES_ABOVE_NOTHING ->
            isGranted && reply.counter() == 0 ? above(after, round.highestBefore()) : after;
        default -> after;
      };
    }

    private static AcquireRound above(AcquireRound round, long counter) {
      return TenureColumns.with(
          round, round.highestSeen(), counter, round.ballot(), round.rivals());
    }

    @Override
    protected boolean counts(AcquireRound round, int tag) {
      return isBroken(COUNTS_ALL_ROUNDS) ? tag <= round.number() : super.counts(round, tag);
    }

    @Override
    protected long reported(AcquireRound round) {
      return isBroken(VOUCHES_FOR_ITSELF) ? round.token() - 1 : super.reported(round);
    }

    @Override
    Ticket ticket(int waiter, boolean isShared, long micros, long token) {
      return super.ticket(waiter, isShared, isBroken(DRAWS_TICKETS_ANEW) ? 0 : micros, token);
    }

    @Override
    int withdrawsFrom(int released) {
      return isBroken(LEAVES_TICKETS_BEHIND) ? 0 : super.withdrawsFrom(released);
    }

    // Releases.

    @Override
    protected int releaseSet(Footprint footprint, int unanswered) {
      return isBroken(RELEASES_WHERE_GRANTED)
          ? footprint.yes()
          : super.releaseSet(footprint, unanswered);
    }

    @Override
    protected Kind booked(Kind kind, int tag) {
      boolean isForgotten = isBroken(FORGETS_EXTENDS) && tag > AcquireRound.MAX_ROUNDS;
      return isForgotten ? Kind.NOT_HELD : super.booked(kind, tag);
    }

    @Override
    int releasedWhenHeld(AcquireRound round) {
      int stragglers = 0;
      for (int node = 0; node < round.ballot().nodes(); node++) {
        boolean isReleased = isBroken(RELEASES_STRAGGLERS) && round.ballot().isPending(node);
        stragglers |= isReleased ? 1 << node : 0;
      }
      return stragglers;
    }

    // Extends.

    @Override
    protected Outcome decide(ExtendRound round, Deadline loss, long nowNanos, long nowWallMicros) {
      boolean isAny = round.ballot().set(Ballot.HELD) != 0;
      boolean isInTime = loss.remainingNanos(nowNanos, nowWallMicros) > 0;
      if (isBroken(EXTENDS_BY_ANY_NODE) && isAny && isInTime) {
        return Outcome.EXTENDED;
      }
      return isBroken(EXTENDS_WHAT_IS_OVER)
          ? super.decide(round, NEVER, nowNanos, nowWallMicros)
          : super.decide(round, loss, nowNanos, nowWallMicros);
    }

    @Override
    protected Deadline extendedUntil(ExtendRound round, long nowNanos, long nowWallMicros) {
      return isBroken(EXTENDS_FROM_THE_END)
          ? round.terms().deadline(new Deadline(nowNanos, nowWallMicros))
          : super.extendedUntil(round, nowNanos, nowWallMicros);
    }

    // Leases that are passed on.

    @Override
    protected long firstToken(AcquireRound round) {
      return isBroken(PASSES_ABOVE_THE_FIRST_ROUND) && round.number() > 1
          ? round.token() - TOKENS_TO_PASS
          : super.firstToken(round);
    }

    @Override
    long nextToken(long token) {
      return isBroken(PASSES_THE_SAME_TOKEN) ? token : super.nextToken(token);
    }

    @Override
    protected boolean mayPass(
        boolean isHeld, boolean isNext, boolean isUnchanged, boolean isInTime) {
      return switch (broken) {
        case PASSES_ABOVE_ITS_TOKEN -> isHeld && isUnchanged;
        case PASSES_THE_SAME_TOKEN -> isHeld;
        case PASSES_WHAT_IS_OVER -> isNext;
        default -> super.mayPass(isHeld, isNext, isUnchanged, isInTime);
      };
    }
  }
}
