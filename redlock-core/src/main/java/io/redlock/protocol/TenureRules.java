package io.redlock.protocol;

import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReply.Kind;
import java.util.function.LongFunction;
import java.util.function.LongUnaryOperator;

/**
 * The rules by which a {@link Tenure} counts, decides and books. Not final: a test breaks one of
 * these rules to see that it is noticed. Immutable.
 */
public class TenureRules {

  /**
   * The facts on which pauses and terms depend.
   *
   * @param nodeTimeoutNanos the node timeout
   * @param skewNanos the largest difference between clocks
   * @param termsFor the terms of an extend that ends so many nanoseconds from now, or a little
   *     later
   * @param randomNanos a random number, from 0 to below this one
   */
  public record Surroundings(
      long nodeTimeoutNanos,
      long skewNanos,
      LongFunction<LeaseTerms> termsFor,
      LongUnaryOperator randomNanos) {}

  private static final long TOKENS_TO_PASS = 4_095;
  private static final long FIRST_REPEAT_NANOS = 10_000_000;
  private static final long MARGIN_NANOS = 1_000_000_000;

  final Surroundings surroundings;

  /** Creates the rules of clients for which these facts hold. */
  public TenureRules(Surroundings surroundings) {
    this.surroundings = surroundings;
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
  protected Decision.Outcome decide(AcquireRound round, long nowNanos, long nowWallMicros) {
    return round.decide(nowNanos, nowWallMicros);
  }

  /** Returns the deadline of the lease that the round acquired. */
  protected Deadline heldUntil(AcquireRound round, long nowNanos, long nowWallMicros) {
    return round.deadline(); // T3
  }

  /** Returns the first token of an owner that may pass its lease on. */
  protected long firstToken(AcquireRound round) {
    return round.firstToken(TOKENS_TO_PASS); // P2
  }

  /**
   * Returns true if a lease may be passed on.
   *
   * @param isHeld true if it has not ended
   * @param isNext true if the next token follows its own, and its owner was granted that
   * @param isUnchanged true if no extend was begun for it, and the next call wants the same ttl
   * @param isInTime true if enough time is left until its deadline
   */
  protected boolean mayPass(boolean isHeld, boolean isNext, boolean isUnchanged, boolean isInTime) {
    return isHeld && isNext && isUnchanged && isInTime;
  }

  /**
   * Returns what to do after an answer to an extend.
   *
   * @param lossTime when the lease is lost if it is not extended
   */
  protected Decision.Outcome decide(
      ExtendRound round, Deadline lossTime, long nowNanos, long nowWallMicros) {
    return round.decide(lossTime, nowNanos, nowWallMicros);
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

  /** Returns the pause before the next extend that confirms, after so many. */
  protected long confirmNanos(int asked) {
    long ceilingNanos = surroundings.nodeTimeoutNanos() << asked;
    return ceilingNanos / 2 + randomNanos(ceilingNanos / 2);
  }

  /** Returns the pause before the release is sent again to a node, after so many repeats. */
  protected long repeatNanos(int repeats) {
    long delayNanos = FIRST_REPEAT_NANOS << repeats;
    return delayNanos / 2 + randomNanos(delayNanos);
  }

  /** Returns when no key of the owner can be left, on the monotonic clock. */
  protected long giveUpNanos(long nowNanos, long longestTtlMillis) {
    return nowNanos + longestTtlMillis * 1_000_000 + surroundings.skewNanos() + MARGIN_NANOS; // R7
  }

  /** Returns a random number, from 0 to below the bound. */
  protected long randomNanos(long boundNanos) {
    return surroundings.randomNanos().applyAsLong(boundNanos);
  }
}
