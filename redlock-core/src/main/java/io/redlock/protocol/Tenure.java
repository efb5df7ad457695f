package io.redlock.protocol;

import io.redlock.protocol.Decision.Outcome;
import io.redlock.protocol.ExtendRound.Purpose;
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
 * <p>An event changes the state; {@link #due} says what the state demands, and changes nothing. An
 * answer is recorded at once; the round is decided by {@link #decide}, which needs the time. What
 * finds no memory has changed nothing. Mutable, and guarded by its user; only {@link #lossTime} may
 * be read without that.
 */
public final class Tenure {

  /** Marks the answers to the release. Acquire rounds are marked by their number, from 1. */
  public static final int RELEASE_TAG = -1;

  private static final int COUNT_BITS = 4;
  private static final int MOST = (1 << COUNT_BITS) - 1;
  private static final long NEVER = Long.MAX_VALUE;
  private static final Due[] DUES = Due.values();

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

  /** The demands that the state may make, first things first. */
  public enum Due {
    /** The lease is to be lost: {@link #lose}. */
    LOSS,
    /** An extend is to begin that renews the lease: {@link #next}. */
    RENEWAL,
    /** An extend is to begin that finds out whether a quorum holds the lease: {@link #next}. */
    CONFIRMATION,
    /** The keys of the lost lease have been kept until its deadline: {@link #end}. */
    END,
    /** The release is to begin: {@link #beginRelease}. */
    RELEASE,
    /** No key can be left: {@link #giveUp}. */
    GIVING_UP,
    /** The release is to be sent again to {@link #repeated}. */
    REPEAT,
    /** Nothing now. */
    NOTHING
  }

  final TenureRules rules;
  private final Quorum quorum;
  private final boolean isFair;
  private final boolean isUnlessHeld;
  private final boolean isShared;
  private final boolean mayPass;

  // Its state, which tests of all interleavings copy.

  Phase phase = Phase.NEW;
  @Nullable AcquireRound acquire; // the round under way, while it acquires
  List<ExtendRound> extending = List.of(); // the extends under way
  int begun; // the number of extends begun
  long token; // the highest token proposed
  long leaseToken; // the token of the lease; 0 if it has none
  long reported; // the highest counter that a token was to exceed
  long longestTtlMillis; // the longest life of keys that was asked for
  @Nullable Deadline deadline; // the end of the lease
  volatile @Nullable Deadline lossTime; // when the lease is lost if it is not extended
  Footprint footprint = Footprint.NONE; // where keys may be
  long unanswered; // the number of requests that each node has not answered, four bits each
  boolean isLast; // true if no request of the caller follows the release, once that is due
  @Nullable ReleaseRound release; // how far the release has come
  @Nullable Renewal renewal; // when the lease is renewed; null if it is not
  @Nullable Reaffirmation reaffirmation; // when the lease is confirmed; null if no node was reset
  Repeats repeats = Repeats.NONE; // when the release is sent again

  /**
   * Creates a tenure of which nothing was sent.
   *
   * @param quorum the nodes that are enough
   * @param isFair true if its caller may leave tickets on nodes
   * @param isUnlessHeld true if its caller gives up once one client is known to hold the resource
   * @param isShared true if it asks for a shared lease, to read
   * @param mayPass true if its lease is to leave tokens for those to whom it is passed on
   */
  public Tenure(
      TenureRules rules,
      Quorum quorum,
      boolean isFair,
      boolean isUnlessHeld,
      boolean isShared,
      boolean mayPass) {
    this.rules = rules;
    this.quorum = quorum;
    this.isFair = isFair;
    this.isUnlessHeld = isUnlessHeld;
    this.isShared = isShared;
    this.mayPass = mayPass;
  }

  // Acquire.

  /** Begins the attempt, unless it was abandoned. The clocks were read before. */
  public void begin(LeaseTerms terms, long proposed, long nowNanos, long nowWallMicros) {
    if (phase == Phase.NEW) {
      propose(AcquireRound.first(terms, proposed, nowNanos, nowWallMicros)); // T1
    }
  }

  private Decision propose(AcquireRound round) {
    phase = Phase.ACQUIRING;
    acquire = round;
    token = round.token();
    reported = Math.max(reported, rules.reported(round));
    longestTtlMillis = Math.max(longestTtlMillis, round.terms().ttlMillis());
    return Decision.of(Outcome.PROPOSED);
  }

  /**
   * Returns the grant of the round under way.
   *
   * @param sentMicros of a reader: the time, by the nodes' median clock
   */
  public NodeRequest.Grant grant(
      List<String> names, String owner, @Nullable Ticket ticket, long sentMicros) {
    AcquireRound round = Objects.requireNonNull(acquire, "no grant is under way");
    return new NodeRequest.Grant(
        names,
        owner,
        token,
        rules.reported(round),
        round.terms().ttlMillis(),
        ticket,
        isShared ? sentMicros : 0); // S4
  }

  /** Returns the number of the acquire round under way; 0 if there is none. */
  public int round() {
    return acquire == null ? 0 : acquire.number();
  }

  // Extend.

  /** Returns the extend that is due, which has not begun. The clocks were read before. */
  public ExtendRound next(Due due, long nowNanos, long nowWallMicros) {
    if (due == Due.RENEWAL) {
      return next(
          Purpose.RENEWED, Objects.requireNonNull(renewal).terms(), nowNanos, nowWallMicros);
    }
    long leftNanos = Objects.requireNonNull(deadline).remainingNanos(nowNanos, nowWallMicros);
    LeaseTerms terms = rules.surroundings.termsFor().apply(leftNanos);
    return next(Purpose.CONFIRMED, terms, nowNanos, nowWallMicros); // E10
  }

  /** Returns an extend with this purpose, which has not begun. The clocks were read before. */
  public ExtendRound next(Purpose purpose, LeaseTerms terms, long nowNanos, long nowWallMicros) {
    int tag = AcquireRound.MAX_ROUNDS + begun + 1;
    Ballot none = Ballot.empty(quorum.nodes());
    return new ExtendRound(tag, purpose, terms, new Deadline(nowNanos, nowWallMicros), none); // E4
  }

  /**
   * Returns the request of this extend.
   *
   * @param sentMicros the time, by the nodes' median clock
   */
  public NodeRequest.Extend request(
      ExtendRound extend, List<String> names, String owner, long sentMicros) {
    long ttlMillis = extend.terms().ttlMillis();
    return new NodeRequest.Extend(names, owner, token, ttlMillis, sentMicros, isShared); // P6
  }

  /** Begins this extend, if there is a lease; otherwise it is over. */
  public void begin(ExtendRound extend) {
    if (phase != Phase.HOLDING) {
      return; // E8
    }
    List<ExtendRound> more = extendingWithout(null, extend);
    Reaffirmation asking = reaffirmation == null ? null : reaffirmation.with(extend.purpose());
    extending = more;
    reaffirmation = asking; // from here on nothing takes memory
    begun++;
    longestTtlMillis = Math.max(longestTtlMillis, extend.terms().ttlMillis());
  }

  /** Renews the lease from now on, until then. */
  public void renew(LeaseTerms terms, Deadline until, long nowNanos) {
    if (phase == Phase.HOLDING) {
      renewal = Renewal.begin(terms, until, nowNanos);
    }
  }

  /** Records that nodes, given as bits, were reset: a lease of theirs is confirmed then. */
  public void reset(int reset, long dueNanos) {
    if (phase == Phase.HOLDING && (footprint.yes() & reset) != 0) {
      reaffirmation = Reaffirmation.begin(isExtending(Purpose.CONFIRMED), dueNanos); // E10
    }
  }

  private boolean isExtending(Purpose purpose) {
    for (ExtendRound extend : extending) {
      if (extend.purpose() == purpose) {
        return true;
      }
    }
    return false;
  }

  // Every request.

  /**
   * Records that a node is about to be handed the request of a round.
   *
   * @return false if the round is over, and the node must not get it
   */
  public boolean sending(int tag, int node) {
    if (!isUnderWay(tag)) {
      return false;
    }
    if (unanswered(node) < MOST) {
      unanswered += 1L << COUNT_BITS * node;
    } else {
      footprint = footprint.with(node, Kind.UNKNOWN); // too many to count
    }
    return true;
  }

  /** Returns true if this round is neither decided nor over. */
  public boolean isUnderWay(int tag) {
    return tag == round() || extending(tag) != null;
  }

  private int unanswered(int node) {
    return (int) (unanswered >>> COUNT_BITS * node) & MOST;
  }

  /** Gives up an extend that cannot be decided: its result is unknown. */
  public void failed(int tag, long nowNanos) {
    ExtendRound extend = extending(tag);
    if (extend != null) {
      over(extend, Outcome.UNKNOWN, nowNanos); // E7
    }
  }

  /** Records a node's answer. */
  public void answered(int node, int tag, NodeReply reply) {
    if (release != null) {
      return;
    }
    if (unanswered(node) > 0) {
      unanswered -= 1L << COUNT_BITS * node;
    }
    footprint = footprint.with(node, rules.booked(reply.kind(), tag)); // R5, R8
    if (acquire != null && rules.counts(acquire, tag)) {
      acquire = rules.counted(acquire, node, reply);
      return;
    }
    ExtendRound extend = extending(tag);
    if (extend != null) {
      extending = extendingWithout(extend, extend.answered(node, reply));
    }
  }

  /** Records a node's answer to the release. */
  public void released(int node, NodeReply reply, long nowNanos) {
    ReleaseRound round = release;
    if (round != null) {
      release = round.answered(node, reply);
      repeats =
          release.owes(node) ? repeats.owed(node, nowNanos, rules) : repeats.acknowledged(node);
    }
  }

  /** Records that the node timeout of this round has passed: missing answers are unknown. */
  public void timedOut(int tag) {
    if (tag == RELEASE_TAG) {
      release = release == null ? null : release.timedOut();
    } else if (acquire != null) {
      acquire = acquire.timedOut(); // A7
    } else {
      ExtendRound extend = extending(tag);
      if (extend != null) {
        extending = extendingWithout(extend, extend.timedOut());
      }
    }
  }

  @Nullable ExtendRound extending(int tag) {
    for (ExtendRound extend : extending) {
      if (extend.tag() == tag) {
        return extend;
      }
    }
    return null;
  }

  private List<ExtendRound> extendingWithout(@Nullable ExtendRound old, ExtendRound... next) {
    List<ExtendRound> changed = new ArrayList<>(extending);
    changed.remove(old);
    changed.addAll(List.of(next));
    return List.copyOf(changed);
  }

  /**
   * Decides the acquire round under way, or this extend, by its answers and the time. Every node
   * was handed its request before.
   */
  public Decision decide(int tag, long nowNanos, long nowWallMicros) {
    if (tag > AcquireRound.MAX_ROUNDS) {
      return decideExtend(tag, nowNanos, nowWallMicros);
    }
    AcquireRound round = acquire;
    if (round == null) {
      return Decision.of(Outcome.OVER);
    }
    Outcome outcome = rules.decide(round, nowNanos, nowWallMicros);
    return switch (outcome) {
      case NOTHING -> Decision.of(outcome);
      case HELD -> held(round, nowNanos, nowWallMicros);
      case PROPOSED -> propose(round.next(nowNanos, nowWallMicros));
      case CONTENDED ->
          isUnlessHeld && round.rivals().mayBeSettledBy(quorum, round.pending())
              ? Decision.of(Outcome.NOTHING)
              : failed(outcome, round);
      default -> failed(outcome, round);
    };
  }

  private Decision held(AcquireRound round, long nowNanos, long nowWallMicros) {
    Decision decision = new Decision(Outcome.HELD, round);
    Deadline until = rules.heldUntil(round, nowNanos, nowWallMicros);
    lossTime = round.terms().lossTime(until);
    deadline = until;
    leaseToken = mayPass ? rules.firstToken(round) : token; // P2
    phase = Phase.HOLDING;
    acquire = null;
    return decision;
  }

  /**
   * Passes the lease on: the next caller has one with the next token of this owner, until the same
   * deadline. Sends nothing.
   *
   * @param next the token of the next lease
   * @param terms the terms of the next call
   * @return false if the lease cannot be passed on, and nothing has changed
   */
  public boolean pass(long next, LeaseTerms terms, long nowNanos, long nowWallMicros) {
    long leftNanos = deadline == null ? 0 : deadline.remainingNanos(nowNanos, nowWallMicros);
    boolean isNext = next == leaseToken + 1 && next <= token; // P2
    boolean isUnchanged = begun == 0 && longestTtlMillis == terms.ttlMillis();
    boolean isInTime = leftNanos > terms.minValidityNanos(); // P3
    if (!rules.mayPass(phase == Phase.HOLDING, isNext, isUnchanged, isInTime)) {
      return false;
    }
    leaseToken = next;
    renewal = null;
    return true;
  }

  private Decision failed(Outcome outcome, AcquireRound round) {
    Decision decision = new Decision(outcome, round);
    end(isFair && !round.keepsPlace()); // A8
    return decision;
  }

  private Decision decideExtend(int tag, long nowNanos, long nowWallMicros) {
    ExtendRound extend = extending(tag);
    if (extend == null) {
      return Decision.of(Outcome.OVER);
    }
    Deadline until = Objects.requireNonNull(deadline);
    Deadline loss = Objects.requireNonNull(lossTime);
    Outcome outcome = rules.decide(extend, loss, nowNanos, nowWallMicros);
    switch (outcome) {
      case NOTHING -> {}
      case EXPIRED, REFUSED -> lose(); // E6
      default -> { // E7
        if (outcome == Outcome.EXTENDED && extend.purpose() != Purpose.CONFIRMED) {
          Deadline extended = rules.extendedUntil(extend, nowNanos, nowWallMicros);
          deadline = until.max(extended); // E8
          lossTime = loss.max(extend.terms().lossTime(extended));
        }
        over(extend, outcome, nowNanos);
      }
    }
    return Decision.of(outcome);
  }

  /** Ends an extend that has not ended the lease, and plans what follows it. */
  private void over(ExtendRound extend, Outcome outcome, long nowNanos) {
    List<ExtendRound> others = extendingWithout(extend); // first: without memory nothing changes
    boolean isCertain = outcome == Outcome.EXTENDED;
    if (extend.purpose() == Purpose.RENEWED) {
      Renewal now = Objects.requireNonNull(renewal);
      renewal =
          isCertain
              ? Renewal.begin(now.terms(), now.until(), nowNanos)
              : now.failed(nowNanos, rules); // E9
    } else if (extend.purpose() == Purpose.CONFIRMED) {
      reaffirmation =
          Objects.requireNonNull(reaffirmation).answered(isCertain, nowNanos, rules); // E10
    }
    extending = others;
  }

  // What is due.

  /** Returns the first thing that is due at this time. */
  public Due due(long nowNanos, long nowWallMicros) {
    for (Due due : DUES) {
      if (delayNanos(due, nowNanos, nowWallMicros) <= 0) {
        return due;
      }
    }
    return Due.NOTHING;
  }

  /**
   * Returns how long it is until something is {@link #due}; 0 or less if it is now, {@link
   * Long#MAX_VALUE} if nothing is planned.
   */
  public long delayNanos(long nowNanos, long nowWallMicros) {
    long delayNanos = NEVER;
    for (Due due : DUES) {
      delayNanos = Math.min(delayNanos, delayNanos(due, nowNanos, nowWallMicros));
    }
    return delayNanos;
  }

  private long delayNanos(Due due, long nowNanos, long nowWallMicros) {
    return switch (due) {
      case LOSS -> // T4
          phase == Phase.HOLDING
              ? Objects.requireNonNull(lossTime).remainingNanos(nowNanos, nowWallMicros)
              : NEVER;
      case RENEWAL ->
          isRenewed(nowNanos, nowWallMicros) && !isExtending(Purpose.RENEWED)
              ? Objects.requireNonNull(renewal).dueNanos() - nowNanos
              : NEVER;
      case CONFIRMATION ->
          reaffirmation != null && reaffirmation.isDue()
              ? reaffirmation.dueNanos() - nowNanos
              : NEVER;
      case END -> // R4, by the clock that nobody sets: no time to stop is cut short
          phase == Phase.LOST ? Objects.requireNonNull(deadline).nanos() - nowNanos : NEVER;
      case RELEASE -> phase == Phase.ENDED && release == null ? 0 : NEVER;
      case GIVING_UP ->
          release != null && release.isOverdue() ? repeats.giveUpNanos() - nowNanos : NEVER;
      case REPEAT ->
          release == null || repeats.waiting() == 0 ? NEVER : repeats.dueNanos() - nowNanos;
      case NOTHING -> NEVER;
    };
  }

  // The end.

  /** Loses the lease, unless it has ended: the keys stay until its deadline. */
  public void lose() {
    if (phase == Phase.HOLDING) { // L1
      phase = Phase.LOST; // R4
      endExtends();
    }
  }

  /**
   * Ends the owner: released, abandoned, or at the deadline of a lost lease. From now on only its
   * release is sent.
   *
   * @param last true if no request of the caller follows the release
   */
  public void end(boolean last) {
    if (phase == Phase.ENDED) {
      isLast |= last;
      return;
    }
    phase = Phase.ENDED;
    acquire = null;
    endExtends();
    begun = 0;
    leaseToken = 0;
    deadline = null;
    lossTime = null;
    isLast = last;
  }

  private void endExtends() {
    extending = List.of();
    renewal = null;
    reaffirmation = null;
  }

  /**
   * Begins the release of an owner that has ended. No request of it is being handed to a node, so
   * the release comes behind them all.
   *
   * @return the nodes to send it to, as bits
   */
  public int beginRelease(long nowNanos) {
    int silent = 0;
    for (int node = 0; node < quorum.nodes(); node++) {
      silent |= unanswered(node) > 0 ? 1 << node : 0;
    }
    int targets = rules.releaseSet(footprint, silent);
    ReleaseRound round = ReleaseRound.begin(quorum, targets);
    repeats = new Repeats(0, 0, 0, rules.giveUpNanos(nowNanos, longestTtlMillis));
    release = round; // R6
    footprint = Footprint.NONE;
    unanswered = 0;
    return targets;
  }

  /** Records that the release is sent again; returns the nodes that get it, as bits. */
  public int repeated() {
    int targets = repeats.waiting();
    repeats = repeats.sent();
    return targets;
  }

  /** Makes a repeat of the release due at this time instead, since there may be no later one. */
  public void hurry(long dueNanos) {
    repeats = repeats.dueAt(dueNanos);
  }

  /** Gives the release up, since no key can be left. */
  public void giveUp() {
    release = Objects.requireNonNull(release).givenUp();
    repeats = Repeats.NONE;
  }

  /** Returns its release, which buries the highest token that it proposed. */
  public NodeRequest.Release release(List<String> names, String owner, @Nullable Ticket ticket) {
    long sharedTtlMillis = isShared ? longestTtlMillis : 0; // S6
    return new NodeRequest.Release(
        names, owner, token, reported, isLast, ticket, sharedTtlMillis); // R6
  }

  // What it is.

  /** Returns true if its lease will be renewed again. */
  public boolean isRenewed(long nowNanos, long nowWallMicros) {
    return renewal != null && !renewal.isOver(nowNanos, nowWallMicros);
  }

  /** Returns true if the lease has been held for as long as it may be renewed. */
  public boolean isHeldOut(long nowNanos) {
    return renewal != null && renewal.until().nanos() - nowNanos <= 0;
  }

  /** Returns where in its life it is. */
  public Phase phase() {
    return phase;
  }

  /** Returns the highest token that it has proposed; it changes no more once it holds a lease. */
  public long token() {
    return token;
  }

  /** Returns the token of its lease; 0 if it has none. */
  public long leaseToken() {
    return leaseToken;
  }

  /** Returns when its lease is lost if it is not extended; null if it has none. */
  public @Nullable Deadline lossTime() {
    return lossTime;
  }

  /** Returns true if a key of the owner may be left that its release has to reach. */
  public boolean mayHaveLeftKeys(long nowNanos) {
    return repeats.giveUpNanos() - nowNanos > 0; // R7
  }

  /** Returns how far its release has come; null if it was not sent. */
  public @Nullable ReleaseRound release() {
    return release;
  }
}
