package io.redlock.protocol;

import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReply.Kind;
import io.redlock.spi.Quorum;

/**
 * One fan-out of a grant to all nodes, as a pure value: each event returns the next value, and
 * {@link #decide} returns what to do, by the rules A3 to A7.
 *
 * @param terms the terms of the grant
 * @param number the number of the round in its attempt, from 1
 * @param token the fencing token proposed
 * @param startNanos monotonic time before the first send
 * @param startWallMicros wall time before the first send
 * @param highestSeen the highest counter reported so far in the attempt
 * @param highestBefore the highest counter that nodes had before they granted this round's token;
 *     {@link Long#MAX_VALUE} if one of them did not name it
 * @param ballot the answers so far
 */
public record AcquireRound(
    LeaseTerms terms,
    int number,
    long token,
    long startNanos,
    long startWallMicros,
    long highestSeen,
    long highestBefore,
    Ballot ballot) {

  /** The largest number of rounds in one attempt. */
  public static final int MAX_ROUNDS = 3;

  /** The next step of the driver. */
  public enum Decision {
    /** Wait: a quorum is possible, or the reason of the failure is not settled. */
    WAIT,
    /** Succeeded: a quorum granted in time. */
    HELD,
    /** Start {@link #next}. */
    PROPOSE_HIGHER,
    /** Failed: nodes refused the token by their clocks. Learn their clocks, make a new attempt. */
    CLOCK_REFUSED,
    /** Failed: others hold the resource on so many nodes that no quorum is left. */
    CONTENDED,
    /** Failed: too few nodes could say yes. */
    UNAVAILABLE,
    /** Failed: a quorum granted, but too late. */
    TOO_SLOW
  }

  /** Returns the first round of an attempt, before any request is sent. */
  public static AcquireRound first(
      LeaseTerms terms, long token, long startNanos, long startWallMicros) {
    return new AcquireRound(
        terms, 1, token, startNanos, startWallMicros, 0, 0, Ballot.empty(terms.quorum().nodes()));
  }

  /** Returns the round after a node's answer to its grant. */
  public AcquireRound answered(int node, NodeReply reply) {
    long seen = highestSeen;
    long before = highestBefore;
    if (reply.kind() == Kind.GRANTED) {
      before = Math.max(before, reply.counter() == 0 ? Long.MAX_VALUE : reply.counter()); // P2
    } else {
      seen = Math.max(seen, reply.counter());
    }
    return with(number, seen, before, ballot.with(node, reply.kind()));
  }

  /** Returns the round after its timeout: missing answers are unknown, no other round follows. */
  public AcquireRound timedOut() {
    return with(MAX_ROUNDS, highestSeen, highestBefore, ballot.closed());
  }

  private AcquireRound with(int round, long seen, long before, Ballot answers) {
    return new AcquireRound(
        terms, round, token, startNanos, startWallMicros, seen, before, answers);
  }

  /** Returns what to do now, by the answers and, if a quorum granted, by the time. */
  public Decision decide(long nowNanos, long nowWallMicros) {
    Quorum quorum = terms.quorum();
    if (quorum.isReachedBy(ballot.set(Ballot.GRANTED))) {
      long left = deadline().remainingNanos(nowNanos, nowWallMicros);
      return left > terms.minValidityNanos() ? Decision.HELD : Decision.TOO_SLOW;
    }
    int open = Ballot.GRANTED | Ballot.PENDING;
    if (quorum.isReachedBy(ballot.set(open))) {
      return Decision.WAIT;
    }
    if (number < MAX_ROUNDS && quorum.isReachedBy(ballot.set(open | Ballot.STALE))) {
      return Decision.PROPOSE_HIGHER;
    }
    int refused = ballot.set(Ballot.REFUSED);
    if (quorum.isRuledOutBy(refused)) {
      return Decision.CONTENDED;
    }
    boolean isClock = ballot.count(Ballot.CLOCK) > 0;
    if (isClock && quorum.isReachedBy(ballot.set(open | Ballot.STALE | Ballot.CLOCK))) {
      return Decision.CLOCK_REFUSED;
    }
    // A6
    boolean unsettled = refused != 0 && quorum.isRuledOutBy(refused | pending());
    return unsettled ? Decision.WAIT : Decision.UNAVAILABLE;
  }

  /** Returns true if a quorum of nodes, without these, granted or refused. */
  public boolean reachedQuorum(int without) {
    return terms.quorum().isReachedBy(ballot.set(Ballot.GRANTED | Ballot.REFUSED) & ~without);
  }

  /** Returns the nodes that have not answered, as bits. */
  public int pending() {
    return ballot.set(Ballot.PENDING);
  }

  /** Returns true if at least one node granted. */
  public boolean wasGrantedAnywhere() {
    return ballot.count(Ballot.GRANTED) > 0;
  }

  /** Returns true if so many nodes granted that nobody else has a quorum. */
  public boolean rulesOutAnother() {
    return terms.quorum().isRuledOutBy(ballot.set(Ballot.GRANTED));
  }

  /**
   * Returns the first of the tokens, up to the round's, that a quorum which granted it gave to
   * nobody else. A lease of another owner shares a node with that quorum, which granted it before,
   * at a counter that it named, or after, above this token.
   *
   * @param most how far it may lie below the round's token
   */
  public long firstToken(long most) {
    return highestBefore >= token ? token : Math.max(highestBefore + 1, token - most); // P2
  }

  /** Returns the end of the time for which a quorum of this round holds the lock. */
  public Deadline deadline() {
    return terms.deadline(startNanos, startWallMicros);
  }

  /** Returns the round in which the same owner proposes a token above every counter seen. */
  public AcquireRound next(long nowNanos, long nowWallMicros) {
    return new AcquireRound(
        terms,
        number + 1,
        Math.max(token, highestSeen) + 1,
        nowNanos,
        nowWallMicros,
        highestSeen,
        0,
        Ballot.empty(terms.quorum().nodes()));
  }
}
