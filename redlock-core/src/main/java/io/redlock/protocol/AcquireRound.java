package io.redlock.protocol;

import io.redlock.spi.NodeReply;

/**
 * One fan-out of a grant to all nodes, as a pure value: events go in, the next value comes out, and
 * {@link #decide} says what to do. It has no thread, no future and no clock; the driver, the
 * simulator and the exhaustive explorer run this same class.
 *
 * <ol>
 *   <li>The start is read on both clocks before the first send.
 *   <li>Only grants of this owner and token in this round count, each node once. What earlier
 *       rounds of the attempt got is asked for again.
 *   <li>With a quorum, time is read again: held if start + ttl − drift is far enough away.
 *   <li>Where only stale counters stand between the attempt and a quorum, the same owner proposes a
 *       higher token to all nodes, in a round with a start of its own.
 *   <li>Otherwise the attempt has failed, as soon as a quorum is ruled out and it is settled
 *       whether the nodes that said "taken" did it alone. (One dead node of five must not turn
 *       "contended" into "unavailable" just because its refusal comes first.)
 * </ol>
 *
 * @param terms what is asked
 * @param number which round of the attempt, from 1
 * @param token the fencing token proposed
 * @param startNanos monotonic time before the first send
 * @param startWallMicros wall time before the first send
 * @param highestSeen the highest counter reported so far in the attempt
 * @param ballot the answers so far
 */
public record AcquireRound(
    Terms terms,
    int number,
    long token,
    long startNanos,
    long startWallMicros,
    long highestSeen,
    Ballot ballot) {

  /** How often one attempt may ask all nodes. */
  public static final int MAX_ROUNDS = 3;

  /** What to do next. */
  public enum Decision {
    /** A quorum is possible, or the reason of the failure is not settled: wait. */
    WAIT,
    /** A quorum granted in time. */
    HELD,
    /** Start {@link #next}. */
    PROPOSE_HIGHER,
    /** Failed because nodes' clocks refused the token: learn them and make a new attempt. */
    CLOCK_REFUSED,
    /** Failed: others are ahead on so many nodes that no quorum is left. */
    CONTENDED,
    /** Failed: too few nodes could say yes. */
    UNAVAILABLE,
    /** Failed: the quorum came too late to be of use. */
    TOO_SLOW
  }

  /** The first round of an attempt, before anything is sent. */
  public static AcquireRound first(Terms terms, long token, long startNanos, long startWallMicros) {
    return new AcquireRound(
        terms, 1, token, startNanos, startWallMicros, 0, Ballot.empty(terms.nodes()));
  }

  /** After a node's answer to this round's grant. */
  public AcquireRound answered(int node, NodeReply reply) {
    long seen = Math.max(highestSeen, reply.fence());
    return with(number, seen, ballot.with(node, reply.kind()));
  }

  /** After the attempt's time: who has not answered is unknown, and no other round will follow. */
  public AcquireRound timedOut() {
    return with(MAX_ROUNDS, highestSeen, ballot.closed());
  }

  private AcquireRound with(int round, long seen, Ballot answers) {
    return new AcquireRound(terms, round, token, startNanos, startWallMicros, seen, answers);
  }

  /** What to do now; decided by the answers, and by the time if they are a quorum. */
  public Decision decide(long nowNanos, long nowWallMicros) {
    int yes = ballot.count(Ballot.GRANTED);
    if (yes >= ballot.quorum()) {
      long left = deadline().remainingNanos(nowNanos, nowWallMicros);
      return left > terms.minValidityNanos() ? Decision.HELD : Decision.TOO_SLOW;
    }
    int pending = ballot.count(Ballot.PENDING);
    if (yes + pending >= ballot.quorum()) {
      return Decision.WAIT;
    }
    int stale = ballot.count(Ballot.STALE);
    if (number < MAX_ROUNDS && yes + stale + pending >= ballot.quorum()) {
      return Decision.PROPOSE_HIGHER;
    }
    int taken = ballot.count(Ballot.TAKEN);
    if (ballot.excludesQuorum(taken)) {
      return Decision.CONTENDED;
    }
    int clock = ballot.count(Ballot.CLOCK);
    if (clock > 0 && yes + stale + clock + pending >= ballot.quorum()) {
      return Decision.CLOCK_REFUSED;
    }
    boolean unsettled = taken > 0 && ballot.excludesQuorum(taken + pending);
    return unsettled ? Decision.WAIT : Decision.UNAVAILABLE;
  }

  /** Whether a quorum of nodes was found at work, whatever it said. */
  public boolean reachedQuorum() {
    return ballot.count(Ballot.GRANTED | Ballot.TAKEN) >= ballot.quorum();
  }

  /** Whether any node granted. */
  public boolean wasGrantedAnywhere() {
    return ballot.count(Ballot.GRANTED) > 0;
  }

  /** Until when this round's quorum holds. */
  public Deadline deadline() {
    return terms.deadline(startNanos, startWallMicros);
  }

  /** The round in which the same owner proposes a token above every counter seen. */
  public AcquireRound next(long nowNanos, long nowWallMicros) {
    return new AcquireRound(
        terms,
        number + 1,
        Math.max(token, highestSeen) + 1,
        nowNanos,
        nowWallMicros,
        highestSeen,
        Ballot.empty(terms.nodes()));
  }
}
