package io.redlock.protocol;

import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReply.Kind;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.NodeRequest.Ticket;
import io.redlock.spi.Quorum;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The life of one owner id, from its first grant to the last acknowledged release: every rule of a
 * client that the rounds do not have. It has no clock, thread, future, lock or node. The driver,
 * the simulator and the explorer run this same class.
 *
 * <p>Each event returns a {@link Turn}: what came of it, and where a release goes now. An answer is
 * recorded at once; the round is decided by {@link #decide}, which needs the time. Mutable, and
 * guarded by its user; {@link #books} is its value.
 */
public final class Tenure {

  /** Marks the answers to the release. Acquire rounds are marked by their number, from 1. */
  public static final int RELEASE_TAG = -1;

  private static final int COUNT_BITS = 4;
  private static final int MOST = (1 << COUNT_BITS) - 1;

  /** Where in its life an owner is. */
  public enum Phase {
    /** Nothing was sent. */
    NEW,
    /** A grant is under way. */
    ACQUIRING,
    /** It holds a lease. */
    HOLDING,
    /** The lease is lost; its keys stay until its deadline, so that the holder can stop. */
    LOST,
    /** Only its release is sent. */
    ENDED
  }

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
     * Returns true if a fair caller that goes on keeps its tickets. Too slow, or without a quorum,
     * it would only block waiters that could succeed.
     */
    public boolean keepsPlace() {
      return decision != AcquireRound.Decision.TOO_SLOW && round.reachedQuorum(); // Q4
    }

    /** Returns true if it failed only because of others' leases and tickets. */
    public boolean isBehindOthers() {
      return decision == AcquireRound.Decision.CONTENDED && !round.wasGrantedAnywhere();
    }
  }

  /**
   * The consequences of an event.
   *
   * @param outcome what came of it
   * @param targets the nodes to send the release to now, as bits
   * @param isLast true if no request of the caller follows that release
   * @param attempted the end of the attempt; null if it goes on
   */
  public record Turn(Outcome outcome, int targets, boolean isLast, @Nullable Attempted attempted) {

    private static final Turn[] PLAIN = new Turn[Outcome.values().length];

    static {
      for (Outcome outcome : Outcome.values()) {
        PLAIN[outcome.ordinal()] = new Turn(outcome, 0, false, null);
      }
    }

    /** Returns the turn with this outcome, and nothing else. */
    private static Turn of(Outcome outcome) {
      return PLAIN[outcome.ordinal()];
    }

    /** Returns true if the release begins now. */
    public boolean isRelease() {
      return outcome == Outcome.ENDED || outcome == Outcome.FAILED;
    }
  }

  /**
   * An extend under way.
   *
   * @param tag marks its answers
   * @param lengthens false if it only finds out whether a quorum holds the lease
   * @param isHanded true if every node was handed the request
   */
  public record Extending(int tag, ExtendRound round, boolean lengthens, boolean isHanded) {}

  /**
   * The value of a tenure. Two tenures with equal books go on alike.
   *
   * @param acquire the round under way, while it acquires
   * @param rivals those in the way of that round
   * @param isHanded true if every node was handed that round's request
   * @param extending the extends under way
   * @param begun the number of extends begun
   * @param handing the number of requests that are being handed to nodes
   * @param token the highest token proposed
   * @param reported the highest counter that a token was to exceed
   * @param longestTtlMillis the longest life of keys that was asked for
   * @param deadline the end of the lease
   * @param lossTime when the lease is lost if it is not extended
   * @param footprint where keys may be
   * @param unanswered the number of requests that each node has not answered, four bits each
   * @param isLast true if no request of the caller follows the release, once that is due
   * @param release how far the release has come
   */
  public record Books(
      Phase phase,
      @Nullable AcquireRound acquire,
      Rivals rivals,
      boolean isHanded,
      List<Extending> extending,
      int begun,
      int handing,
      long token,
      long reported,
      long longestTtlMillis,
      @Nullable Deadline deadline,
      @Nullable Deadline lossTime,
      Footprint footprint,
      long unanswered,
      boolean isLast,
      @Nullable ReleaseRound release) {}

  private final TenureRules rules;
  private final Quorum quorum;
  private final int nodes;
  private final boolean isFair;
  private final boolean isUnlessHeld;

  private Phase phase = Phase.NEW;
  private @Nullable AcquireRound acquire;
  private Rivals rivals = Rivals.NONE;
  private boolean isHanded;
  private List<Extending> extending = List.of();
  private int begun;
  private int handing;
  private long token;
  private long reported;
  private long longestTtlMillis;
  private @Nullable Deadline deadline;
  private @Nullable Deadline lossTime;
  private Footprint footprint = Footprint.NONE;
  private long unanswered;
  private boolean isLast;
  private @Nullable ReleaseRound release;

  /**
   * Creates a tenure of which nothing was sent.
   *
   * @param quorum the nodes that are enough
   * @param isFair true if its caller may leave tickets on nodes
   * @param isUnlessHeld true if its caller gives up once one client is known to hold the resource
   */
  public Tenure(TenureRules rules, Quorum quorum, boolean isFair, boolean isUnlessHeld) {
    this.rules = rules;
    this.quorum = quorum;
    this.nodes = quorum.nodes();
    this.isFair = isFair;
    this.isUnlessHeld = isUnlessHeld;
  }

  /** Makes this the tenure with these books. */
  public void open(Books books) {
    phase = books.phase;
    acquire = books.acquire;
    rivals = books.rivals;
    isHanded = books.isHanded;
    extending = books.extending;
    begun = books.begun;
    handing = books.handing;
    token = books.token;
    reported = books.reported;
    longestTtlMillis = books.longestTtlMillis;
    deadline = books.deadline;
    lossTime = books.lossTime;
    footprint = books.footprint;
    unanswered = books.unanswered;
    isLast = books.isLast;
    release = books.release;
  }

  /** Returns its value. */
  public Books books() {
    return new Books(
        phase,
        acquire,
        rivals,
        isHanded,
        extending,
        begun,
        handing,
        token,
        reported,
        longestTtlMillis,
        deadline,
        lossTime,
        footprint,
        unanswered,
        isLast,
        release);
  }

  // Acquire.

  /** Begins the attempt, unless it was abandoned. The clocks were read before. */
  public Turn begin(LeaseTerms terms, long proposed, long nowNanos, long nowWallMicros) {
    return phase == Phase.NEW
        ? propose(AcquireRound.first(terms, proposed, nowNanos, nowWallMicros)) // T1
        : Turn.of(Outcome.NOTHING);
  }

  private Turn propose(AcquireRound round) {
    phase = Phase.ACQUIRING;
    acquire = round;
    rivals = Rivals.NONE;
    isHanded = false;
    token = round.token();
    reported = Math.max(reported, rules.reported(round));
    sending(round.terms().ttlMillis());
    return Turn.of(Outcome.PROPOSED);
  }

  /** Returns the grant of the round under way. */
  public NodeRequest.Grant grant(List<String> names, String owner, @Nullable Ticket ticket) {
    AcquireRound round = acquire;
    if (round == null) {
      throw new IllegalStateException("no grant is under way");
    }
    return new NodeRequest.Grant(
        names, owner, token, rules.reported(round), round.terms().ttlMillis(), ticket);
  }

  /** Returns the number of the acquire round under way; 0 if there is none. */
  public int round() {
    return acquire == null ? 0 : acquire.number();
  }

  // Extend.

  /**
   * Begins an extend. The clocks were read before.
   *
   * @param lengthens false if it only finds out whether a quorum holds the lease
   * @return what marks its answers; 0 if there is no lease, and nothing may be sent
   */
  public int extend(LeaseTerms terms, boolean lengthens, long nowNanos, long nowWallMicros) {
    if (phase != Phase.HOLDING) {
      return 0; // E8
    }
    int tag = AcquireRound.MAX_ROUNDS + ++begun;
    ExtendRound round = ExtendRound.begin(terms, nowNanos, nowWallMicros); // E4
    List<Extending> more = new ArrayList<>(extending);
    more.add(new Extending(tag, round, lengthens, false));
    extending = List.copyOf(more);
    sending(terms.ttlMillis());
    return tag;
  }

  // Every request.

  private void sending(long ttlMillis) {
    handing++;
    longestTtlMillis = Math.max(longestTtlMillis, ttlMillis);
    for (int node = 0; node < nodes; node++) {
      if (unanswered(node) < MOST) {
        unanswered += 1L << COUNT_BITS * node;
      } else {
        footprint = footprint.with(node, Kind.UNKNOWN); // too many to count
      }
    }
  }

  private int unanswered(int node) {
    return (int) (unanswered >>> COUNT_BITS * node) & MOST;
  }

  /**
   * Records that a request is in its nodes' lanes. Only now its round may be decided, and a release
   * may follow it.
   *
   * @param all true if every node has it; otherwise its round is never decided
   */
  public Turn handed(int tag, boolean all) {
    handing--;
    isHanded |= all && acquire != null; // A7
    Extending extend = extending(tag);
    if (extend != null) {
      replace(extend, new Extending(tag, extend.round, extend.lengthens, all));
    }
    return phase == Phase.ENDED ? releaseIfDue(Outcome.ENDED, null) : Turn.of(Outcome.NOTHING);
  }

  /** Records a node's answer. */
  public void answered(int node, int tag, NodeReply reply) {
    if (release != null) {
      release = tag == RELEASE_TAG ? release.answered(node, reply) : release;
      return;
    }
    if (unanswered(node) > 0) {
      unanswered -= 1L << COUNT_BITS * node;
    }
    footprint = footprint.with(node, rules.booked(reply.kind(), tag)); // R5, R8
    if (acquire != null && rules.counts(acquire, tag)) {
      acquire = rules.counted(acquire, node, reply);
      rivals = rivals.with(node, reply);
      return;
    }
    Extending extend = extending(tag);
    if (extend != null) {
      replace(
          extend,
          new Extending(
              tag, extend.round.answered(node, reply), extend.lengthens, extend.isHanded));
    }
  }

  /** Records that the node timeout of this round has passed: missing answers are unknown. */
  public void timedOut(int tag) {
    if (tag == RELEASE_TAG) {
      release = release == null ? null : release.timedOut();
    } else if (acquire != null) {
      acquire = acquire.timedOut(); // A7
    } else {
      Extending extend = extending(tag);
      if (extend != null) {
        replace(
            extend, new Extending(tag, extend.round.timedOut(), extend.lengthens, extend.isHanded));
      }
    }
  }

  /** Returns true if an answer with this tag counts in a round that is under way. */
  public boolean counts(int tag) {
    return acquire != null && rules.counts(acquire, tag) || extending(tag) != null;
  }

  private @Nullable Extending extending(int tag) {
    for (Extending extend : extending) {
      if (extend.tag == tag) {
        return extend;
      }
    }
    return null;
  }

  private void replace(Extending old, @Nullable Extending next) {
    List<Extending> changed = new ArrayList<>(extending);
    changed.remove(old);
    if (next != null) {
      changed.add(next);
    }
    extending = List.copyOf(changed);
  }

  /** Decides the acquire round under way, or this extend, by its answers and the time. */
  public Turn decide(int tag, long nowNanos, long nowWallMicros) {
    if (tag > AcquireRound.MAX_ROUNDS) {
      return decideExtend(tag, nowNanos, nowWallMicros);
    }
    AcquireRound round = acquire;
    if (round == null) {
      return Turn.of(Outcome.OVER);
    }
    if (!isHanded) {
      return Turn.of(Outcome.NOTHING);
    }
    AcquireRound.Decision decision = rules.decide(round, nowNanos, nowWallMicros);
    return switch (decision) {
      case WAIT -> Turn.of(Outcome.NOTHING);
      case HELD -> held(round, nowNanos, nowWallMicros);
      case PROPOSE_HIGHER ->
          rules.mayFollow(round)
              ? propose(round.next(nowNanos, nowWallMicros))
              : failed(decision, round);
      case CONTENDED ->
          isUnlessHeld && rivals.mayBeSettledBy(quorum, round.pending())
              ? Turn.of(Outcome.NOTHING)
              : failed(decision, round);
      default -> failed(decision, round);
    };
  }

  private Turn held(AcquireRound round, long nowNanos, long nowWallMicros) {
    phase = Phase.HOLDING;
    acquire = null;
    deadline = rules.heldUntil(round, nowNanos, nowWallMicros);
    lossTime = round.terms().lossTime(deadline);
    return new Turn(
        Outcome.HELD,
        rules.releasedWhenHeld(round),
        false,
        new Attempted(AcquireRound.Decision.HELD, round, rivals));
  }

  private Turn failed(AcquireRound.Decision decision, AcquireRound round) {
    Attempted attempted = new Attempted(decision, round, rivals);
    close(isFair && !attempted.keepsPlace());
    return releaseIfDue(Outcome.FAILED, attempted); // A8
  }

  private Turn decideExtend(int tag, long nowNanos, long nowWallMicros) {
    Extending extend = extending(tag);
    if (extend == null) {
      return Turn.of(Outcome.OVER);
    }
    Deadline until = Objects.requireNonNull(deadline);
    Deadline loss = Objects.requireNonNull(lossTime);
    if (!extend.isHanded) {
      return Turn.of(Outcome.NOTHING);
    }
    ExtendRound.Decision decision =
        rules.decide(extend.round, loss, until, nowNanos, nowWallMicros);
    if (decision == ExtendRound.Decision.WAIT) {
      return Turn.of(Outcome.NOTHING);
    }
    replace(extend, null);
    return switch (decision) {
      case EXTENDED -> {
        if (extend.lengthens) {
          Deadline extended = rules.extendedUntil(extend.round, nowNanos, nowWallMicros);
          deadline = until.max(extended); // E8
          lossTime = loss.max(extend.round.terms().lossTime(extended));
        }
        yield Turn.of(Outcome.EXTENDED);
      }
      case LOST -> {
        boolean isExpired = loss.remainingNanos(nowNanos, nowWallMicros) <= 0;
        lose(); // E6
        yield Turn.of(isExpired ? Outcome.EXPIRED : Outcome.REFUSED);
      }
      default -> Turn.of(Outcome.UNKNOWN); // E7
    };
  }

  // The end.

  /** Loses the lease: the keys stay until its deadline. Returns false if it had ended before. */
  public boolean lose() {
    if (phase != Phase.HOLDING) {
      return false; // L1
    }
    phase = Phase.LOST; // R4
    extending = List.of();
    return true;
  }

  /**
   * Ends the owner: released, abandoned, or at the deadline of a lost lease. From now on only its
   * release is sent, behind every request that is being handed to nodes.
   *
   * @param last true if no request of the caller follows the release
   */
  public Turn end(boolean last) {
    if (phase != Phase.ENDED) {
      close(last);
      return releaseIfDue(Outcome.ENDED, null);
    }
    isLast |= last;
    return Turn.of(Outcome.NOTHING);
  }

  private void close(boolean last) {
    phase = Phase.ENDED;
    acquire = null;
    rivals = Rivals.NONE;
    extending = List.of();
    begun = 0;
    deadline = null;
    lossTime = null;
    isLast = last;
  }

  private Turn releaseIfDue(Outcome outcome, @Nullable Attempted attempted) {
    if (handing > 0) {
      return Turn.of(Outcome.NOTHING); // R6
    }
    int silent = 0;
    for (int node = 0; node < nodes; node++) {
      silent |= unanswered(node) > 0 ? 1 << node : 0;
    }
    int targets = rules.releaseSet(footprint, silent);
    release = ReleaseRound.begin(quorum, targets);
    footprint = Footprint.NONE;
    unanswered = 0;
    isHanded = false;
    return new Turn(outcome, targets, isLast, attempted);
  }

  /** Returns its release, which buries the highest token that it proposed. */
  public NodeRequest.Release release(
      List<String> names, String owner, boolean last, @Nullable Ticket ticket) {
    return new NodeRequest.Release(names, owner, token, reported, last, ticket); // R6
  }

  // What it is.

  /**
   * Returns how long the keys of its lease may stay, once it is lost. The monotonic clock decides,
   * so that a wall clock that is set forward does not shorten the time to stop.
   */
  public long keptNanos(long nowNanos) {
    return phase == Phase.LOST ? Objects.requireNonNull(deadline).nanos() - nowNanos : 0; // R4
  }

  /** Returns where in its life it is. */
  public Phase phase() {
    return phase;
  }

  /** Returns the highest token that it has proposed. */
  public long token() {
    return token;
  }

  /** Returns the longest life of keys that it has asked for. */
  public long longestTtlMillis() {
    return longestTtlMillis;
  }

  /** Returns the end of its lease; null if it has none. */
  public @Nullable Deadline deadline() {
    return deadline;
  }

  /** Returns when its lease is lost if it is not extended; null if it has none. */
  public @Nullable Deadline lossTime() {
    return lossTime;
  }

  /** Returns true if the node has said yes to this owner, and no release was sent. */
  public boolean wasGrantedBy(int node) {
    return (footprint.yes() & 1 << node) != 0;
  }

  /** Returns how far its release has come; null if it was not sent. */
  public @Nullable ReleaseRound release() {
    return release;
  }
}
