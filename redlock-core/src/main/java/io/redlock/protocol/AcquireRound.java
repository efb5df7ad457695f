package io.redlock.protocol;

import io.redlock.protocol.Decision.Outcome;
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
 * @param start the time before the first send
 * @param highestSeen the highest counter reported so far in the attempt
 * @param highestBefore the highest counter that nodes had before they granted this round's token;
 *     {@link Long#MAX_VALUE} if one of them did not name it
 * @param ballot the answers so far
 * @param rivals those in the way
 */
public record AcquireRound(
    LeaseTerms terms,
    int number,
    long token,
    Deadline start,
    long highestSeen,
    long highestBefore,
    Ballot ballot,
    Rivals rivals) {

  /** The largest number of rounds in one attempt. */
  public static final int MAX_ROUNDS = 3;

  /** Returns the first round of an attempt, before any request is sent. */
  public static AcquireRound first(
      LeaseTerms terms, long token, long startNanos, long startWallMicros) {
    return begin(terms, 1, token, new Deadline(startNanos, startWallMicros), 0);
  }

  private static AcquireRound begin(
      LeaseTerms terms, int number, long token, Deadline start, long highestSeen) {
    Ballot none = Ballot.empty(terms.quorum().nodes());
    return new AcquireRound(terms, number, token, start, highestSeen, 0, none, Rivals.NONE);
  }

  /** Returns the round after a node's answer to its grant. */
  public AcquireRound answered(int node, NodeReply reply) {
    Ballot answers = ballot.with(node, reply.kind());
    if (reply.kind() == Kind.GRANTED) {
      long before = reply.counter() == 0 ? Long.MAX_VALUE : reply.counter(); // P2
      return with(number, highestSeen, Math.max(highestBefore, before), answers, rivals);
    }
    long seen = Math.max(highestSeen, reply.counter());
    return with(number, seen, highestBefore, answers, rivals.with(node, reply));
  }

  /** Returns the round after its timeout: missing answers are unknown, no other round follows. */
  public AcquireRound timedOut() {
    return with(MAX_ROUNDS, highestSeen, highestBefore, ballot.closed(), rivals);
  }

  private AcquireRound with(int round, long seen, long before, Ballot answers, Rivals named) {
    return new AcquireRound(terms, round, token, start, seen, before, answers, named);
  }

  /** Returns what to do now, by the answers and, if a quorum granted, by the time. */
  public Outcome decide(long nowNanos, long nowWallMicros) {
    Quorum quorum = terms.quorum();
    if (quorum.isReachedBy(ballot.set(Ballot.GRANTED))) {
      long left = deadline().remainingNanos(nowNanos, nowWallMicros);
      return left > terms.minValidityNanos() ? Outcome.HELD : Outcome.TOO_SLOW;
    }
    int open = Ballot.GRANTED | Ballot.PENDING;
    if (quorum.isReachedBy(ballot.set(open))) {
      return Outcome.NOTHING;
    }
    if (number < MAX_ROUNDS && quorum.isReachedBy(ballot.set(open | Ballot.STALE))) {
      return Outcome.PROPOSED;
    }
    int refused = ballot.set(Ballot.REFUSED);
    if (quorum.isRuledOutBy(refused)) {
      return Outcome.CONTENDED;
    }
    boolean isClock = ballot.set(Ballot.CLOCK) != 0;
    if (isClock && quorum.isReachedBy(ballot.set(open | Ballot.STALE | Ballot.CLOCK))) {
      return Outcome.CLOCK_REFUSED;
    }
    // A6
    boolean unsettled = refused != 0 && quorum.isRuledOutBy(refused | pending());
    return unsettled ? Outcome.NOTHING : Outcome.UNAVAILABLE;
  }

  /**
   * Returns true if a fair caller that goes on after its failure keeps its tickets. Too slow, or
   * without a quorum of nodes that may yet grant, it would only block waiters that could succeed.
   */
  public boolean keepsPlace() {
    Quorum quorum = terms.quorum();
    int working = ballot.set(Ballot.GRANTED | Ballot.REFUSED) & ~rivals.endless();
    return quorum.isReachedBy(working) && !quorum.isReachedBy(ballot.set(Ballot.GRANTED)); // Q4
  }

  /** Returns the nodes that have not answered, as bits. */
  public int pending() {
    return ballot.set(Ballot.PENDING);
  }

  /** Returns true if at least one node granted. */
  public boolean wasGrantedAnywhere() {
    return ballot.set(Ballot.GRANTED) != 0;
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
    return terms.deadline(start);
  }

  /** Returns the round in which the same owner proposes a token above every counter seen. */
  public AcquireRound next(long nowNanos, long nowWallMicros) {
    long higher = Math.max(token, highestSeen) + 1;
    return begin(terms, number + 1, higher, new Deadline(nowNanos, nowWallMicros), highestSeen);
  }
}
