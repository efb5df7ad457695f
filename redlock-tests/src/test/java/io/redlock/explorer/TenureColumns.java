package io.redlock.explorer;

import io.redlock.protocol.AcquireRound;
import io.redlock.protocol.Ballot;
import io.redlock.protocol.Deadline;
import io.redlock.protocol.ExtendRound;
import io.redlock.protocol.Footprint;
import io.redlock.protocol.ReleaseRound;
import io.redlock.protocol.Repeats;
import io.redlock.protocol.Rivals;
import io.redlock.protocol.Tenure.Phase;
import io.redlock.protocol.TenureState;
import io.redlock.spi.NodeReply.Kind;
import io.redlock.spi.Quorum;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A tenure's state in two parts: what it says of each node, and the rest. Nodes are alike, so two
 * states that differ only in the order of their nodes are one state to an explorer that keeps the
 * parts apart and sorts the nodes.
 */
final class TenureColumns {

  /** How many bits of an int a node's part takes. */
  static final int BITS = 13;

  private static final Repeats NO_REPEATS = new Repeats(0, 0, 0, 0);

  /** Nothing done yet. */
  static final TenureState NEW = blank(Phase.NEW, null);

  private static final TenureState ENDED =
      blank(
          Phase.ENDED,
          new ReleaseRound(Quorum.of(Scope.NODES), 0, 0, 0, Ballot.empty(Scope.NODES)));
  private static final Deadline PAST = new Deadline(Long.MIN_VALUE / 2, 0);

  private static final int VOTE = 0;
  private static final int YES = 4;
  private static final int UNKNOWN = 5;
  private static final int UNANSWERED = 6;
  private static final int TARGET = 10;
  private static final int ACKNOWLEDGED = 11;
  private static final int REPEATED = 12;
  private static final int NIBBLE = 15;
  private static final Kind[] KINDS = Kind.values();

  private TenureColumns() {}

  private static TenureState blank(Phase phase, @Nullable ReleaseRound release) {
    return new TenureState(
        phase,
        null,
        List.of(),
        0,
        0,
        0,
        0,
        0,
        null,
        null,
        Footprint.NONE,
        0,
        false,
        release,
        null,
        null,
        NO_REPEATS);
  }

  /** What the state says of a node. */
  static int column(TenureState state, int node) {
    int column =
        bit(state.footprint().yes(), node, YES)
            | bit(state.footprint().unknown(), node, UNKNOWN)
            | (int) (state.unanswered() >>> 4 * node & NIBBLE) << UNANSWERED;
    ReleaseRound release = state.release();
    Ballot ballot = ballot(state);
    if (ballot != null) {
      column |= vote(ballot, node);
    } else if (release != null) {
      column |=
          vote(release.ballot(), node)
              | bit(release.targets(), node, TARGET)
              | bit(release.acknowledged(), node, ACKNOWLEDGED)
              | bit(release.repeated(), node, REPEATED)
              | bit(state.repeats().waiting(), node, UNANSWERED);
    }
    return column;
  }

  private static int bit(int nodes, int node, int position) {
    return (nodes >>> node & 1) << position;
  }

  private static int vote(Ballot ballot, int node) {
    return (int) (ballot.packed() >>> 4 * node & NIBBLE) << VOTE;
  }

  /** The answers to the round under way; null if there is none. */
  private static @Nullable Ballot ballot(TenureState state) {
    AcquireRound acquire = state.acquire();
    if (acquire != null) {
      return acquire.ballot();
    }
    return switch (state.extending().size()) {
      case 0 -> null;
      case 1 -> state.extending().get(0).ballot();
      default -> throw new IllegalStateException("a column has room for one extend: " + state);
    };
  }

  /** The release is through: nothing of the state matters any more. */
  static TenureState forgotten(TenureState state) {
    ReleaseRound release = state.release();
    return release == null || !release.isComplete() ? state : ENDED;
  }

  /** Whether a node with this column is still to be told of the end. */
  static boolean owes(int column) {
    return (column >>> TARGET & 1) != 0 && (column >>> ACKNOWLEDGED & 1) == 0;
  }

  /** Whether a node with this column will be told of the end, whatever it answers yet. */
  static boolean isInReleaseSet(int column) {
    return (column >>> YES & 1) != 0 || (column >>> UNKNOWN & 1) != 0;
  }

  /** The same, some time after its deadline. */
  static TenureState expired(TenureState state) {
    return with(
        state,
        state.acquire(),
        state.extending(),
        PAST,
        state.footprint(),
        state.unanswered(),
        state.release(),
        state.repeats());
  }

  /** Whether a round is under way. */
  static boolean isUndecided(TenureState state) {
    return ballot(state) != null;
  }

  /** How many nodes have answered the round under way. */
  static int answers(TenureState state) {
    Ballot ballot = ballot(state);
    return ballot == null ? 0 : ballot.nodes() - Integer.bitCount(ballot.set(Ballot.PENDING));
  }

  /** The state without what it says of the nodes. */
  static TenureState header(TenureState state, int nodes) {
    return with(state, new int[nodes]);
  }

  /** The whole state; but the pauses of this search do not depend on how many there were. */
  static TenureState with(TenureState header, int[] columns) {
    AcquireRound acquire = header.acquire();
    ReleaseRound release = header.release();
    Repeats repeats = header.repeats();
    return with(
        header,
        acquire == null ? null : with(acquire, ballot(columns)),
        header.extending().isEmpty()
            ? List.of()
            : List.of(with(header.extending().get(0), ballot(columns))),
        null,
        new Footprint(nodes(columns, YES), nodes(columns, UNKNOWN)),
        release == null ? unanswered(columns) : 0,
        release == null
            ? null
            : new ReleaseRound(
                release.quorum(),
                nodes(columns, TARGET),
                nodes(columns, ACKNOWLEDGED),
                nodes(columns, REPEATED),
                ballot(columns)),
        new Repeats(
            0,
            release == null ? 0 : nodes(columns, UNANSWERED),
            repeats.dueNanos(),
            repeats.giveUpNanos()));
  }

  private static TenureState with(
      TenureState state,
      @Nullable AcquireRound acquire,
      List<ExtendRound> extending,
      @Nullable Deadline until,
      Footprint footprint,
      long unanswered,
      @Nullable ReleaseRound release,
      Repeats repeats) {
    return new TenureState(
        state.phase(),
        acquire,
        extending,
        state.begun(),
        state.token(),
        state.leaseToken(),
        state.reported(),
        state.longestTtlMillis(),
        until == null ? state.deadline() : until,
        until == null ? state.lossTime() : until,
        footprint,
        unanswered,
        state.isLast(),
        release,
        state.renewal(),
        state.reaffirmation(),
        repeats);
  }

  private static AcquireRound with(AcquireRound round, Ballot ballot) {
    Rivals rivals = round.rivals();
    Rivals timeless = new Rivals(rivals.named(), -1, rivals.endless()); // no rule needs the time
    return with(round, round.highestSeen(), round.highestBefore(), ballot, timeless);
  }

  /** Returns the round with other counters, answers and rivals. */
  static AcquireRound with(
      AcquireRound round, long seen, long before, Ballot ballot, Rivals rivals) {
    return new AcquireRound(
        round.terms(), round.number(), round.token(), round.start(), seen, before, ballot, rivals);
  }

  private static ExtendRound with(ExtendRound round, Ballot ballot) {
    return new ExtendRound(round.tag(), round.purpose(), round.terms(), round.start(), ballot);
  }

  private static Ballot ballot(int[] columns) {
    Ballot ballot = Ballot.empty(columns.length);
    for (int node = 0; node < columns.length; node++) {
      int vote = columns[node] >>> VOTE & NIBBLE;
      if (vote != 0) {
        ballot = ballot.with(node, KINDS[vote - 1]);
      }
    }
    return ballot;
  }

  private static int nodes(int[] columns, int position) {
    int nodes = 0;
    for (int node = 0; node < columns.length; node++) {
      nodes |= (columns[node] >>> position & 1) << node;
    }
    return nodes;
  }

  private static long unanswered(int[] columns) {
    long unanswered = 0;
    for (int node = 0; node < columns.length; node++) {
      unanswered |= (long) (columns[node] >>> UNANSWERED & NIBBLE) << 4 * node;
    }
    return unanswered;
  }
}
