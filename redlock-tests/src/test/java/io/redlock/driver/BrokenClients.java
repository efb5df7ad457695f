package io.redlock.driver;

import io.redlock.protocol.AcquireRound;
import io.redlock.protocol.Ballot;
import io.redlock.protocol.Deadline;
import io.redlock.protocol.ExtendRound;
import io.redlock.protocol.Footprint;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReply.Kind;
import io.redlock.spi.NodeRequest.Ticket;

/** Clients that break one rule each, all of them seen in the wild or tempting. */
public final class BrokenClients {

  private static final long FAR_NANOS = Long.MAX_VALUE / 2;

  private BrokenClients() {}

  /** Counts validity from when the quorum was there. */
  public static class StampsAtTheEnd extends ClientModel {
    public StampsAtTheEnd(int nodes, long driftNanos, int maxRounds) {
      super(nodes, driftNanos, maxRounds);
    }

    @Override
    protected Deadline heldUntil(AcquireRound round, Clocks now) {
      return round.terms().deadline(now.nanos(), now.wallMicros());
    }
  }

  /** Believes its wall clock. */
  public static class TrustsTheWallClock extends ClientModel {
    public TrustsTheWallClock(int nodes, long driftNanos, int maxRounds) {
      super(nodes, driftNanos, maxRounds);
    }

    @Override
    protected Deadline heldUntil(AcquireRound round, Clocks now) {
      return new Deadline(FAR_NANOS, round.deadline().wallMicros());
    }
  }

  /** Believes its monotonic clock, which stops when the machine sleeps. */
  public static class TrustsTheMonotonicClock extends ClientModel {
    public TrustsTheMonotonicClock(int nodes, long driftNanos, int maxRounds) {
      super(nodes, driftNanos, maxRounds);
    }

    @Override
    protected Deadline heldUntil(AcquireRound round, Clocks now) {
      return new Deadline(round.deadline().nanos(), Long.MAX_VALUE);
    }
  }

  /** Takes nothing off for clocks that run fast. */
  public static class IgnoresDrift extends ClientModel {
    public IgnoresDrift(int nodes, long driftNanos, int maxRounds) {
      super(nodes, 0, maxRounds);
    }
  }

  /** Takes a quorum for success, however late it comes. */
  public static class IgnoresElapsedTime extends ClientModel {
    public IgnoresElapsedTime(int nodes, long driftNanos, int maxRounds) {
      super(nodes, driftNanos, maxRounds);
    }

    @Override
    protected AcquireRound.Decision decide(AcquireRound round, Clocks now) {
      AcquireRound.Decision decision = super.decide(round, now);
      return decision == AcquireRound.Decision.TOO_SLOW ? AcquireRound.Decision.HELD : decision;
    }
  }

  /** Is content with half of the nodes, rounded down. */
  public static class CountsHalf extends ClientModel {
    public CountsHalf(int nodes, long driftNanos, int maxRounds) {
      super(nodes, driftNanos, maxRounds);
    }

    @Override
    protected AcquireRound.Decision decide(AcquireRound round, Clocks now) {
      boolean half = round.ballot().count(Ballot.GRANTED) >= nodes / 2;
      boolean inTime = round.deadline().remainingNanos(now.nanos(), now.wallMicros()) > 0;
      return half && inTime ? AcquireRound.Decision.HELD : super.decide(round, now);
    }
  }

  /** Takes no answer for a yes. */
  public static class CountsErrors extends ClientModel {
    public CountsErrors(int nodes, long driftNanos, int maxRounds) {
      super(nodes, driftNanos, maxRounds);
    }

    @Override
    protected AcquireRound counted(AcquireRound round, int node, NodeReply reply) {
      boolean isError = reply.kind() == Kind.UNKNOWN || reply.kind() == Kind.UNREACHABLE;
      return super.counted(round, node, isError ? NodeReply.GRANTED : reply);
    }
  }

  /** Counts a yes once for every time it is configured, which is twice. */
  public static class CountsTwice extends ClientModel {
    public CountsTwice(int nodes, long driftNanos, int maxRounds) {
      super(nodes, driftNanos, maxRounds);
    }

    @Override
    protected AcquireRound counted(AcquireRound round, int node, NodeReply reply) {
      return super.counted(super.counted(round, node, reply), (node + 1) % nodes, reply);
    }
  }

  /** Counts what earlier rounds were granted. */
  public static class CountsAllRounds extends ClientModel {
    public CountsAllRounds(int nodes, long driftNanos, int maxRounds) {
      super(nodes, driftNanos, maxRounds);
    }

    @Override
    protected boolean counts(AcquireRound round, int tag) {
      return tag <= round.number();
    }
  }

  /** Releases where it was told yes, and nowhere else. */
  public static class ReleasesWhereGranted extends ClientModel {
    public ReleasesWhereGranted(int nodes, long driftNanos, int maxRounds) {
      super(nodes, driftNanos, maxRounds);
    }

    @Override
    protected int releaseSet(Footprint footprint, int unanswered) {
      return footprint.yes();
    }
  }

  /** Releases where it acquired, whatever extends have done since. */
  public static class ForgetsExtends extends ClientModel {
    public ForgetsExtends(int nodes, long driftNanos, int maxRounds) {
      super(nodes, driftNanos, maxRounds);
    }

    @Override
    protected Kind booked(Kind kind, int tag) {
      return tag > AcquireRound.MAX_ROUNDS ? Kind.NOT_HELD : kind;
    }
  }

  /** Tidies up after itself as soon as it holds: who has not said yes is released. */
  public static class ReleasesStragglers extends ClientModel {
    public ReleasesStragglers(int nodes, long driftNanos, int maxRounds) {
      super(nodes, driftNanos, maxRounds);
    }

    @Override
    protected int releasedWhenHeld(AcquireRound round) {
      int stragglers = 0;
      for (int node = 0; node < nodes; node++) {
        stragglers |= round.ballot().isPending(node) ? 1 << node : 0;
      }
      return stragglers;
    }
  }

  /** Takes one node's word for all. */
  public static class ExtendsByAnyNode extends ClientModel {
    public ExtendsByAnyNode(int nodes, long driftNanos, int maxRounds) {
      super(nodes, driftNanos, maxRounds);
    }

    @Override
    protected ExtendRound.Decision decide(ExtendRound round, Deadline current, Clocks now) {
      boolean any = round.ballot().count(Ballot.HELD) > 0;
      boolean inTime = current.remainingNanos(now.nanos(), now.wallMicros()) > 0;
      return any && inTime ? ExtendRound.Decision.EXTENDED : super.decide(round, current, now);
    }
  }

  /** Counts an extension from when the quorum was there. */
  public static class ExtendsFromTheEnd extends ClientModel {
    public ExtendsFromTheEnd(int nodes, long driftNanos, int maxRounds) {
      super(nodes, driftNanos, maxRounds);
    }

    @Override
    protected Deadline extendedUntil(ExtendRound round, Clocks now) {
      return round.terms().deadline(now.nanos(), now.wallMicros());
    }
  }

  /** Extends what may have been somebody else's in between. */
  public static class ExtendsWhatIsOver extends ClientModel {
    public ExtendsWhatIsOver(int nodes, long driftNanos, int maxRounds) {
      super(nodes, driftNanos, maxRounds);
    }

    @Override
    protected ExtendRound.Decision decide(ExtendRound round, Deadline current, Clocks now) {
      return super.decide(round, new Deadline(FAR_NANOS, Long.MAX_VALUE), now);
    }
  }

  /** Comes last again with each attempt. */
  public static class DrawsTicketsAnew extends ClientModel {
    public DrawsTicketsAnew(int nodes, long driftNanos, int maxRounds) {
      super(nodes, driftNanos, maxRounds);
    }

    @Override
    protected Ticket ticket(int waiter, long micros, long token) {
      return super.ticket(waiter, 0, token);
    }
  }

  /** Takes its ticket back where it releases, and nowhere else. */
  public static class LeavesTicketsBehind extends ClientModel {
    public LeavesTicketsBehind(int nodes, long driftNanos, int maxRounds) {
      super(nodes, driftNanos, maxRounds);
    }

    @Override
    public int withdrawsFrom(int released) {
      return 0;
    }
  }

  /** Passes its own idea of the time off as the successor of a counter. */
  public static class VouchesForItself extends ClientModel {
    public VouchesForItself(int nodes, long driftNanos, int maxRounds) {
      super(nodes, driftNanos, maxRounds);
    }

    @Override
    protected long reported(AcquireRound round) {
      return round.token() - 1;
    }
  }
}
