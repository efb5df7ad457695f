package io.redlock.protocol;

import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReply.Kind;

/**
 * The rules by which a {@link Tenure} counts, decides and books. Not final: a test breaks one of
 * these rules to see that it is noticed. Immutable.
 */
public class TenureRules {

  /** The rules of production. */
  public static final TenureRules STANDARD = new TenureRules(AcquireRound.MAX_ROUNDS);

  private final int maxRounds;

  /** Creates rules with at most so many rounds in an attempt. */
  public TenureRules(int maxRounds) {
    this.maxRounds = maxRounds;
  }

  /** Returns true if the owner may propose a higher token after this round. */
  final boolean mayFollow(AcquireRound round) {
    return round.number() < maxRounds; // A5
  }

  /** Returns the counter that the round's token succeeds. */
  protected long reported(AcquireRound round) {
    return round.highestSeen(); // A5
  }

  /** Returns true if an answer with this tag counts in the round. */
  protected boolean counts(AcquireRound round, int tag) {
    return tag == round.number(); // A4
  }

  /** Returns the round after a node's answer. */
  protected AcquireRound counted(AcquireRound round, int node, NodeReply reply) {
    return round.answered(node, reply);
  }

  /** Returns what to do after an answer to a grant. */
  protected AcquireRound.Decision decide(AcquireRound round, long nowNanos, long nowWallMicros) {
    return round.decide(nowNanos, nowWallMicros);
  }

  /** Returns the deadline of the lease that the round acquired. */
  protected Deadline heldUntil(AcquireRound round, long nowNanos, long nowWallMicros) {
    return round.deadline(); // T3
  }

  /**
   * Returns what to do after an answer to an extend.
   *
   * @param lossTime when the lease is lost if it is not extended
   * @param deadline the lease's present deadline
   */
  protected ExtendRound.Decision decide(
      ExtendRound round, Deadline lossTime, Deadline deadline, long nowNanos, long nowWallMicros) {
    return lossTime.remainingNanos(nowNanos, nowWallMicros) <= 0 // E8
        ? ExtendRound.Decision.LOST
        : round.decide(deadline, nowNanos, nowWallMicros);
  }

  /** Returns the deadline of the lease that the round extended. */
  protected Deadline extendedUntil(ExtendRound round, long nowNanos, long nowWallMicros) {
    return round.deadline(); // E4
  }

  /** Returns what an answer with this tag says of the keys on its node. */
  protected Kind booked(Kind kind, int tag) {
    return kind;
  }

  /** Returns the nodes to release on, given those that have not answered. */
  protected int releaseSet(Footprint footprint, int unanswered) {
    return footprint.releaseSet(unanswered); // R5
  }

  /** Returns the nodes to release on although the round succeeded, as bits. */
  protected int releasedWhenHeld(AcquireRound round) {
    return 0; // R4
  }
}
