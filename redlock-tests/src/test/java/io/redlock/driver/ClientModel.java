package io.redlock.driver;

import io.redlock.protocol.AcquireRound;
import io.redlock.protocol.Deadline;
import io.redlock.protocol.ExtendRound;
import io.redlock.protocol.Footprint;
import io.redlock.protocol.LeaseTerms;
import io.redlock.protocol.ReleaseRound;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReply.Kind;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.NodeRequest.Ticket;
import io.redlock.spi.Quorum;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One attempt and the lease it may become, as a pure value driven by events: the production rounds,
 * and around them no more than what {@link Claim}, {@link Attempt}, {@link Extension} and {@link
 * HeldLease} add to them. The loss margin is zero, so that a lease is used to the last instant.
 *
 * <p>Not final: what is protected here is a rule that a test can break to see it noticed.
 */
public class ClientModel {

  /** The only resource that is fought for. */
  public static final List<String> NAMES = List.of("r");

  /** Marks a release; acquire rounds count from 1, extends follow them. */
  public static final int RELEASE_TAG = 15;

  /** Marks the withdrawal of a ticket, which nobody waits for. */
  public static final int WITHDRAW_TAG = 14;

  private static final int EXTEND_TAG = AcquireRound.MAX_ROUNDS;
  private static final int COUNT_BITS = 4;

  /** Where in its life an owner is. */
  public enum Phase {
    IDLE,
    ACQUIRING,
    HOLDING,
    ENDED
  }

  /** What came of an event. */
  public enum Outcome {
    NOTHING,
    PROPOSED,
    HELD,
    EXTENDED,
    ENDED
  }

  /** What a client's two clocks show. */
  public record Clocks(long nanos, long wallMicros) {}

  /**
   * An owner's books.
   *
   * @param acquire the round under way while it acquires
   * @param extend the extend under way while it holds, if any
   * @param extensions how many extends it has begun
   * @param token the lease's token, 0 before
   * @param reported the highest counter that its tokens were to exceed
   * @param deadline the lease's end
   * @param unanswered how many requests each node has not answered, four bits each
   * @param release how far its release has come, once it has ended
   */
  public record Client(
      Phase phase,
      @Nullable AcquireRound acquire,
      @Nullable ExtendRound extend,
      int extensions,
      long token,
      long reported,
      @Nullable Deadline deadline,
      Footprint footprint,
      int unanswered,
      @Nullable ReleaseRound release) {

    /** Nothing done yet. */
    public static final Client IDLE =
        new Client(Phase.IDLE, null, null, 0, 0, 0, null, Footprint.NONE, 0, null);

    /** Whether the holder is told that its lease is good. */
    public boolean isValid(Clocks now) {
      return deadline != null && deadline.remainingNanos(now.nanos, now.wallMicros) > 0;
    }

    /** The number of the acquire round under way. */
    public int round() {
      return acquire == null ? 0 : acquire.number();
    }

    /** The token proposed in the acquire round under way. */
    public long proposed() {
      return acquire == null ? 0 : acquire.token();
    }

    /** Whether an extend is under way. */
    public boolean isExtending() {
      return extend != null;
    }

    private boolean isUnanswered(int node) {
      return (unanswered >>> COUNT_BITS * node & 15) != 0;
    }

    private Client acquiring(AcquireRound round) {
      return new Client(
          Phase.ACQUIRING, round, null, 0, 0, reported, null, footprint, unanswered, null);
    }

    private Client exceeding(long counter) {
      return new Client(
          phase,
          acquire,
          extend,
          extensions,
          token,
          counter,
          deadline,
          footprint,
          unanswered,
          null);
    }

    private Client extending(@Nullable ExtendRound round, int begun) {
      return new Client(
          phase, null, round, begun, token, reported, deadline, footprint, unanswered, null);
    }

    private Client holding(long heldToken, Deadline until) {
      return new Client(
          Phase.HOLDING,
          null,
          null,
          extensions,
          heldToken,
          reported,
          until,
          footprint,
          unanswered,
          null);
    }

    private Client ended(ReleaseRound round, long buried) {
      return new Client(
          Phase.ENDED, null, null, 0, buried, reported, null, Footprint.NONE, 0, round);
    }

    private Client awaiting(int nodes) {
      int more = unanswered;
      for (int node = 0; node < nodes; node++) {
        more += 1 << COUNT_BITS * node;
      }
      return new Client(
          phase, acquire, extend, extensions, token, reported, deadline, footprint, more, release);
    }

    private Client booked(int node, Kind kind) {
      return new Client(
          phase,
          acquire,
          extend,
          extensions,
          token,
          reported,
          deadline,
          footprint.with(node, kind),
          unanswered - (1 << COUNT_BITS * node),
          release);
    }
  }

  /**
   * A step of an owner's life.
   *
   * @param client the books after it
   * @param send what it sends, if anything
   * @param targets the nodes it sends that to, as bits
   * @param tag what the answers will be told by
   * @param goesOn whether a fair waiter keeps its place in the queues although this has ended
   */
  public record Turn(
      Client client,
      Outcome outcome,
      @Nullable NodeRequest send,
      int targets,
      int tag,
      boolean goesOn) {

    Turn(Client client, Outcome outcome, @Nullable NodeRequest send, int targets, int tag) {
      this(client, outcome, send, targets, tag, false);
    }

    static Turn of(Client client, Outcome outcome) {
      return new Turn(client, outcome, null, 0, 0);
    }
  }

  protected final int nodes;
  private final long driftNanos;
  private final int maxRounds;

  /**
   * What a client is told.
   *
   * @param driftNanos what is taken off every ttl
   * @param maxRounds how many rounds are explored, at most as many as the protocol has
   */
  public ClientModel(int nodes, long driftNanos, int maxRounds) {
    this.nodes = nodes;
    this.driftNanos = driftNanos;
    this.maxRounds = maxRounds;
  }

  /** Begins the attempt. */
  public final Turn start(long ttlMillis, long token, Clocks now) {
    AcquireRound first = AcquireRound.first(terms(ttlMillis), token, now.nanos, now.wallMicros);
    return propose(Client.IDLE, first);
  }

  private Turn propose(Client client, AcquireRound round) {
    NodeRequest grant =
        new NodeRequest.Grant(
            NAMES, "", round.token(), reported(round), round.terms().ttlMillis(), null);
    Client next = client.acquiring(round).exceeding(reported(round)).awaiting(nodes);
    return new Turn(next, Outcome.PROPOSED, grant, allNodes(), round.number());
  }

  /** Begins an extend; the lease is valid. */
  public final Turn extend(Client client, long ttlMillis, long micros, Clocks now) {
    ExtendRound round = ExtendRound.begin(terms(ttlMillis), now.nanos, now.wallMicros);
    int begun = client.extensions + 1;
    NodeRequest extend = new NodeRequest.Extend(NAMES, "", client.token, ttlMillis, micros);
    Client next = client.extending(round, begun).awaiting(nodes);
    return new Turn(next, Outcome.PROPOSED, extend, allNodes(), EXTEND_TAG + begun);
  }

  /** A node has answered, or its answer will never come. */
  public final Turn answered(Client client, int node, int tag, NodeReply reply, Clocks now) {
    if (tag == RELEASE_TAG) {
      return told(client, node, reply);
    }
    if (client.phase == Phase.ENDED) {
      return Turn.of(client, Outcome.NOTHING);
    }
    Client booked = client.booked(node, booked(reply.kind(), tag));
    AcquireRound acquire = booked.acquire;
    ExtendRound extend = booked.extend;
    if (acquire != null && counts(acquire, tag)) {
      return acquiring(booked, counted(acquire, node, reply), now);
    }
    if (extend != null && tag == EXTEND_TAG + booked.extensions) {
      return extending(booked, extend.answered(node, reply), now);
    }
    return Turn.of(booked, Outcome.NOTHING);
  }

  /** Whether an answer with this tag counts in no round that is under way. */
  public final boolean isLate(Client client, int tag) {
    AcquireRound acquire = client.acquire;
    boolean counts = acquire != null && counts(acquire, tag);
    return !counts && (client.extend == null || tag != EXTEND_TAG + client.extensions);
  }

  private Turn told(Client client, int node, NodeReply reply) {
    if (client.release == null) {
      return Turn.of(client, Outcome.NOTHING);
    }
    ReleaseRound round = client.release.answered(node, reply);
    Client next = client.ended(round, client.token);
    return round.owes(node)
        ? new Turn(
            next, Outcome.NOTHING, release(client.token, client.reported), 1 << node, RELEASE_TAG)
        : Turn.of(next, Outcome.NOTHING);
  }

  /** The node timeout has passed for the round under way. */
  public final Turn timedOut(Client client, Clocks now) {
    AcquireRound acquire = client.acquire;
    ExtendRound extend = client.extend;
    if (acquire != null) {
      return acquiring(client, acquire.timedOut(), now);
    }
    return extend == null
        ? Turn.of(client, Outcome.NOTHING)
        : extending(client, extend.timedOut(), now);
  }

  private Turn acquiring(Client client, AcquireRound round, Clocks now) {
    AcquireRound.Decision decision = decide(round, now);
    return switch (decision) {
      case WAIT -> Turn.of(client.acquiring(round), Outcome.NOTHING);
      case HELD -> held(client.holding(round.token(), heldUntil(round, now)), round);
      case PROPOSE_HIGHER ->
          round.number() < maxRounds
              ? propose(client, round.next(now.nanos, now.wallMicros))
              : end(client, keepsPlace(round, decision));
      default -> end(client, keepsPlace(round, decision));
    };
  }

  private Turn held(Client client, AcquireRound round) {
    int early = releasedWhenHeld(round);
    return early == 0
        ? Turn.of(client, Outcome.HELD)
        : new Turn(
            client, Outcome.HELD, release(client.token, client.reported), early, RELEASE_TAG);
  }

  private Turn extending(Client client, ExtendRound round, Clocks now) {
    Deadline deadline = client.deadline;
    if (deadline == null) {
      throw new IllegalStateException("extends what it does not hold: " + client);
    }
    return switch (decide(round, deadline, now)) {
      case WAIT -> Turn.of(client.extending(round, client.extensions), Outcome.NOTHING);
      case EXTENDED ->
          Turn.of(
              client.holding(client.token, deadline.max(extendedUntil(round, now))),
              Outcome.EXTENDED);
      case LOST -> end(client);
      case UNKNOWN -> Turn.of(client.extending(null, client.extensions), Outcome.NOTHING);
    };
  }

  /** Gives up the attempt, or ends the lease: released or lost makes no difference to nodes. */
  public final Turn end(Client client) {
    return end(client, false);
  }

  private Turn end(Client client, boolean goesOn) {
    int unanswered = 0;
    for (int node = 0; node < nodes; node++) {
      unanswered |= client.isUnanswered(node) ? 1 << node : 0;
    }
    int targets = releaseSet(client.footprint, unanswered);
    long token = client.acquire == null ? client.token : client.acquire.token();
    Client ended = client.ended(ReleaseRound.begin(quorum(), targets), token);
    return new Turn(
        ended, Outcome.ENDED, release(token, client.reported), targets, RELEASE_TAG, goesOn);
  }

  private static NodeRequest release(long token, long reported) {
    return new NodeRequest.Release(NAMES, "", token, reported, false, null);
  }

  /** With the ticket of a waiter that came at the given time, or comes with this request. */
  public final NodeRequest asking(NodeRequest grant, int waiter, long micros) {
    NodeRequest.Grant unfair = (NodeRequest.Grant) grant;
    return new NodeRequest.Grant(
        NAMES,
        "",
        unfair.token(),
        unfair.reported(),
        unfair.ttlMillis(),
        ticket(waiter, micros, unfair.token()));
  }

  /** The last release of a waiter that came at the given time. */
  public final NodeRequest leaving(NodeRequest release, int waiter, long micros) {
    NodeRequest.Release failed = (NodeRequest.Release) release;
    return new NodeRequest.Release(
        NAMES, "", failed.token(), failed.reported(), true, place(waiter, micros));
  }

  /** Where such a waiter has nothing to release. */
  public final NodeRequest withdrawing(int waiter, long micros) {
    return new NodeRequest.RemoveTicket(NAMES, place(waiter, micros));
  }

  /** The name by which nodes know such a waiter. */
  public static String waiterName(int waiter) {
    return place(waiter, 1).waiter();
  }

  private static Ticket place(int waiter, long micros) {
    return new QueuePlace(String.valueOf(waiter), 1, true).ticket(micros);
  }

  private int allNodes() {
    return (1 << nodes) - 1;
  }

  // The rules that a test can break.

  /** The counter that the round's token succeeds. */
  protected long reported(AcquireRound round) {
    return round.highestSeen();
  }

  /** The ticket of a waiter that came at the given time, 0 for just now. */
  protected Ticket ticket(int waiter, long micros, long token) {
    return place(waiter, micros == 0 ? token : micros);
  }

  /** Whether a waiter goes on waiting where it is after an attempt that failed. */
  protected boolean keepsPlace(AcquireRound round, AcquireRound.Decision decision) {
    return decision != AcquireRound.Decision.TOO_SLOW && round.reachedQuorum();
  }

  /** The nodes that a waiter which leaves tells to take its ticket back, if not by a release. */
  public int withdrawsFrom(int released) {
    return allNodes() & ~released;
  }

  protected Quorum quorum() {
    return Quorum.of(nodes);
  }

  protected LeaseTerms terms(long ttlMillis) {
    return new LeaseTerms(quorum(), ttlMillis, driftNanos, 0);
  }

  protected boolean counts(AcquireRound round, int tag) {
    return tag == round.number();
  }

  protected AcquireRound counted(AcquireRound round, int node, NodeReply reply) {
    return round.answered(node, reply);
  }

  protected AcquireRound.Decision decide(AcquireRound round, Clocks now) {
    return round.decide(now.nanos, now.wallMicros);
  }

  protected Deadline heldUntil(AcquireRound round, Clocks now) {
    return round.deadline();
  }

  protected ExtendRound.Decision decide(ExtendRound round, Deadline current, Clocks now) {
    return round.decide(current, now.nanos, now.wallMicros);
  }

  protected Deadline extendedUntil(ExtendRound round, Clocks now) {
    return round.deadline();
  }

  protected Kind booked(Kind kind, int tag) {
    return kind;
  }

  protected int releaseSet(Footprint footprint, int unanswered) {
    return footprint.releaseSet(unanswered);
  }

  protected int releasedWhenHeld(AcquireRound round) {
    return 0;
  }
}
