package io.redlock.explorer;

import io.redlock.protocol.AcquireRound;
import io.redlock.protocol.Ballot;
import io.redlock.protocol.Deadline;
import io.redlock.protocol.ExtendRound;
import io.redlock.protocol.Footprint;
import io.redlock.protocol.LeaseTerms;
import io.redlock.protocol.Passing;
import io.redlock.protocol.TenureRules;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReply.Kind;
import io.redlock.spi.NodeRequest.Ticket;

/** Clients that break one rule each, all of them seen in the wild or tempting. */
final class BrokenTenures {

  private static final long FAR_NANOS = Long.MAX_VALUE / 2;

  private BrokenTenures() {}

  /** Counts validity from when the quorum was there. */
  static TenureRules stampsAtTheEnd(int maxRounds) {
    return new ExplorerRules(maxRounds) {
      @Override
      protected Deadline heldUntil(AcquireRound round, long nowNanos, long nowWallMicros) {
        return round.terms().deadline(nowNanos, nowWallMicros);
      }
    };
  }

  /** Believes its wall clock. */
  static TenureRules trustsTheWallClock(int maxRounds) {
    return new ExplorerRules(maxRounds) {
      @Override
      protected Deadline heldUntil(AcquireRound round, long nowNanos, long nowWallMicros) {
        return new Deadline(FAR_NANOS, round.deadline().wallMicros());
      }
    };
  }

  /** Believes its monotonic clock, which stops when the machine sleeps. */
  static TenureRules trustsTheMonotonicClock(int maxRounds) {
    return new ExplorerRules(maxRounds) {
      @Override
      protected Deadline heldUntil(AcquireRound round, long nowNanos, long nowWallMicros) {
        return new Deadline(round.deadline().nanos(), Long.MAX_VALUE);
      }
    };
  }

  /** Takes nothing off for clocks that run fast. */
  static TenureRules ignoresDrift(int maxRounds) {
    return new ExplorerRules(maxRounds) {
      @Override
      protected Deadline heldUntil(AcquireRound round, long nowNanos, long nowWallMicros) {
        long ttlNanos = round.terms().ttlMillis() * 1_000_000;
        return Deadline.after(round.startNanos(), round.startWallMicros(), ttlNanos);
      }
    };
  }

  /** Takes a quorum for success, however late it comes. */
  static TenureRules ignoresElapsedTime(int maxRounds) {
    return new ExplorerRules(maxRounds) {
      @Override
      protected AcquireRound.Decision decide(
          AcquireRound round, long nowNanos, long nowWallMicros) {
        AcquireRound.Decision decision = super.decide(round, nowNanos, nowWallMicros);
        return decision == AcquireRound.Decision.TOO_SLOW ? AcquireRound.Decision.HELD : decision;
      }
    };
  }

  /** Is content with half of the nodes, rounded down. */
  static TenureRules countsHalf(int maxRounds) {
    return new ExplorerRules(maxRounds) {
      @Override
      protected AcquireRound.Decision decide(
          AcquireRound round, long nowNanos, long nowWallMicros) {
        boolean half = round.ballot().count(Ballot.GRANTED) >= round.ballot().nodes() / 2;
        boolean inTime = round.deadline().remainingNanos(nowNanos, nowWallMicros) > 0;
        return half && inTime
            ? AcquireRound.Decision.HELD
            : super.decide(round, nowNanos, nowWallMicros);
      }
    };
  }

  /** Takes no answer for a yes. */
  static TenureRules countsErrors(int maxRounds) {
    return new ExplorerRules(maxRounds) {
      @Override
      protected AcquireRound counted(AcquireRound round, int node, NodeReply reply) {
        boolean isError = reply.kind() == Kind.UNKNOWN || reply.kind() == Kind.UNREACHABLE;
        return super.counted(round, node, isError ? NodeReply.GRANTED : reply);
      }
    };
  }

  /** Counts a yes once for every time it is configured, which is twice. */
  static TenureRules countsTwice(int maxRounds) {
    return new ExplorerRules(maxRounds) {
      @Override
      protected AcquireRound counted(AcquireRound round, int node, NodeReply reply) {
        return super.counted(
            super.counted(round, node, reply), (node + 1) % round.ballot().nodes(), reply);
      }
    };
  }

  /** Counts what earlier rounds were granted. */
  static TenureRules countsAllRounds(int maxRounds) {
    return new ExplorerRules(maxRounds) {
      @Override
      protected boolean counts(AcquireRound round, int tag) {
        return tag <= round.number();
      }
    };
  }

  /** Releases where it was told yes, and nowhere else. */
  static TenureRules releasesWhereGranted(int maxRounds) {
    return new ExplorerRules(maxRounds) {
      @Override
      protected int releaseSet(Footprint footprint, int unanswered) {
        return footprint.yes();
      }
    };
  }

  /** Releases where it acquired, whatever extends have done since. */
  static TenureRules forgetsExtends(int maxRounds) {
    return new ExplorerRules(maxRounds) {
      @Override
      protected Kind booked(Kind kind, int tag) {
        return tag > AcquireRound.MAX_ROUNDS ? Kind.NOT_HELD : kind;
      }
    };
  }

  /** Tidies up after itself as soon as it holds: who has not said yes is released. */
  static TenureRules releasesStragglers(int maxRounds) {
    return new ExplorerRules(maxRounds) {
      @Override
      int releasedWhenHeld(AcquireRound round) {
        int stragglers = 0;
        for (int node = 0; node < round.ballot().nodes(); node++) {
          stragglers |= round.ballot().isPending(node) ? 1 << node : 0;
        }
        return stragglers;
      }
    };
  }

  /** Takes one node's word for all. */
  static TenureRules extendsByAnyNode(int maxRounds) {
    return new ExplorerRules(maxRounds) {
      @Override
      protected ExtendRound.Decision decide(
          ExtendRound round, Deadline loss, Deadline current, long nowNanos, long nowWallMicros) {
        boolean any = round.ballot().count(Ballot.HELD) > 0;
        boolean inTime = current.remainingNanos(nowNanos, nowWallMicros) > 0;
        return any && inTime
            ? ExtendRound.Decision.EXTENDED
            : super.decide(round, loss, current, nowNanos, nowWallMicros);
      }
    };
  }

  /** Counts an extension from when the quorum was there. */
  static TenureRules extendsFromTheEnd(int maxRounds) {
    return new ExplorerRules(maxRounds) {
      @Override
      protected Deadline extendedUntil(ExtendRound round, long nowNanos, long nowWallMicros) {
        return round.terms().deadline(nowNanos, nowWallMicros);
      }
    };
  }

  /** Extends what may have been somebody else's in between. */
  static TenureRules extendsWhatIsOver(int maxRounds) {
    return new ExplorerRules(maxRounds) {
      @Override
      protected ExtendRound.Decision decide(
          ExtendRound round, Deadline loss, Deadline current, long nowNanos, long nowWallMicros) {
        Deadline never = new Deadline(FAR_NANOS, Long.MAX_VALUE);
        return super.decide(round, never, never, nowNanos, nowWallMicros);
      }
    };
  }

  /** Comes last again with each attempt. */
  static class DrawsTicketsAnew extends Tickets {
    @Override
    Ticket ticket(int waiter, boolean isShared, long micros, long token) {
      return super.ticket(waiter, isShared, 0, token);
    }
  }

  /** Takes its ticket back where it releases, and nowhere else. */
  static class LeavesTicketsBehind extends Tickets {
    @Override
    int withdrawsFrom(int released) {
      return 0;
    }
  }

  /** Takes the tokens above the lowest counter that a grant named. */
  static TenureRules passesAboveTheLowest(int maxRounds) {
    return new ExplorerRules(maxRounds) {
      @Override
      protected AcquireRound counted(AcquireRound round, int node, NodeReply reply) {
        AcquireRound after = super.counted(round, node, reply);
        boolean isLower = reply.kind() == Kind.GRANTED && round.wasGrantedAnywhere();
        return isLower ? above(after, Math.min(round.highestBefore(), reply.counter())) : after;
      }
    };
  }

  private static AcquireRound above(AcquireRound round, long counter) {
    return TenureColumns.with(round, round.highestSeen(), counter, round.ballot());
  }

  /** Takes no counter for the lowest one. */
  static TenureRules passesAboveNothing(int maxRounds) {
    return new ExplorerRules(maxRounds) {
      @Override
      protected AcquireRound counted(AcquireRound round, int node, NodeReply reply) {
        AcquireRound after = super.counted(round, node, reply);
        boolean isUnknown = reply.kind() == Kind.GRANTED && reply.counter() == 0;
        return isUnknown ? above(after, round.highestBefore()) : after;
      }
    };
  }

  /** Takes the tokens above the counters of its first round, whichever round was granted. */
  static TenureRules passesAboveTheFirstRound(int maxRounds) {
    return new ExplorerRules(maxRounds) {
      @Override
      protected long firstToken(AcquireRound round) {
        return round.number() == 1 ? super.firstToken(round) : round.token() - TOKENS_TO_PASS;
      }
    };
  }

  /** Passes its lease on above the token that was granted. */
  static TenureRules passesAboveItsToken(int maxRounds) {
    return new ExplorerRules(maxRounds) {
      @Override
      protected boolean mayPass(Passing passing, long next, LeaseTerms terms) {
        return passing.isHeld() && !passing.extended();
      }
    };
  }

  /** Passes its token on with the lease. */
  static TenureRules passesTheSameToken(int maxRounds) {
    return new ExplorerRules(maxRounds) {
      @Override
      long nextToken(long token) {
        return token;
      }

      @Override
      protected boolean mayPass(Passing passing, long next, LeaseTerms terms) {
        return passing.isHeld();
      }
    };
  }

  /** Passes a lease on that is over. */
  static TenureRules passesWhatIsOver(int maxRounds) {
    return new ExplorerRules(maxRounds) {
      @Override
      protected boolean mayPass(Passing passing, long next, LeaseTerms terms) {
        return next == passing.token() + 1 && next <= passing.ownerToken();
      }
    };
  }

  /** Passes its own idea of the time off as the successor of a counter. */
  static TenureRules vouchesForItself(int maxRounds) {
    return new ExplorerRules(maxRounds) {
      @Override
      protected long reported(AcquireRound round) {
        return round.token() - 1;
      }
    };
  }

  /** Counts a renewal from when it was answered. */
  static TenureRules renewsFromTheAnswer(int maxRounds, Scope scope) {
    return new DrivenRules(maxRounds, scope) {
      @Override
      protected Deadline extendedUntil(ExtendRound round, long nowNanos, long nowWallMicros) {
        return round.terms().deadline(nowNanos, nowWallMicros);
      }
    };
  }
}
