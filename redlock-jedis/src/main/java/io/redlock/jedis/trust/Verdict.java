package io.redlock.jedis.trust;

import org.jspecify.annotations.Nullable;

/**
 * What a client makes of a node's {@link NodeAudit}.
 *
 * @param stand what the node may do
 * @param reason why it does not vote, and what to do about it; empty if it votes
 * @param remainingMillis for how much longer it abstains; −1 if unknown
 * @param birth what every grant and join is to carry, so that the node can refuse it once its data
 *     is not what was judged any more; empty: the node shall not look
 * @param renewal the birth mark to write, after which the node is audited again; null: none
 */
public record Verdict(
    Stand stand,
    String reason,
    long remainingMillis,
    String birth,
    NodeAudit.@Nullable Renewal renewal) {

  /** What a node may do. */
  public enum Stand {
    /** Everything. */
    VOTES,
    /** Extend what it holds, and release. */
    ABSTAINS,
    /** Release. */
    REFUSED
  }

  /** A birth that no node has. */
  private static final String NONE = "-";

  static Verdict votes(String birth, NodeAudit.@Nullable Renewal renewal) {
    return new Verdict(Stand.VOTES, "", 0, birth, renewal);
  }

  /** It may extend and release. */
  public static Verdict abstains(
      long remainingMillis, String reason, NodeAudit.@Nullable Renewal renewal) {
    return new Verdict(Stand.ABSTAINS, reason, remainingMillis, NONE, renewal);
  }

  /** It may release. */
  public static Verdict refused(String reason) {
    return new Verdict(Stand.REFUSED, reason, -1, NONE, null);
  }
}
