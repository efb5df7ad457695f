package io.redlock.jedis.membership;

import org.jspecify.annotations.Nullable;

/**
 * The judgement of a node's {@link NodeAudit} by one client.
 *
 * @param stand the rights of the node
 * @param reason the reason why it does not vote, or grants nothing, and the fix; empty if it grants
 * @param remainingMillis the rest of its abstention; −1 if unknown
 * @param birth the birth mark that every grant and join carries, so that the node can refuse it
 *     once its data is not what was judged; empty if the node does not compare it
 * @param refresh the birth mark to write, after which the node is audited again; null for none
 * @param isForeign true if it is refused for its set or its terms only, and may deny a lease
 */
public record Verdict(
    Stand stand,
    String reason,
    long remainingMillis,
    String birth,
    NodeAudit.@Nullable Refresh refresh,
    boolean isForeign) {

  /** The rights of a node. */
  public enum Stand {
    /** It may do everything. */
    VOTES,
    /** It may extend what it holds, and release. */
    ABSTAINS,
    /** It may release. */
    REFUSED
  }

  private static final String NEW = "its data is new, and no client has marked it yet";

  private static final String FULL = "grants nothing: out of memory; raise the server's maxmemory";

  /** A birth that no node has. */
  private static final String NONE = "-";

  static Verdict votes(NodeAudit audit, String birth, NodeAudit.@Nullable Refresh refresh) {
    return new Verdict(Stand.VOTES, audit.isFull() ? FULL : "", 0, birth, refresh, false);
  }

  /** Returns the verdict that the node may only extend and release. */
  public static Verdict abstains(
      long remainingMillis, String reason, NodeAudit.@Nullable Refresh refresh) {
    return new Verdict(Stand.ABSTAINS, reason, remainingMillis, NONE, refresh, false);
  }

  /** Returns the verdict that the node may only release. */
  public static Verdict refused(String reason) {
    return new Verdict(Stand.REFUSED, reason, -1, NONE, null, false);
  }

  /** Returns the verdict that the node may only release and deny, for its set or its terms (N8). */
  static Verdict foreign(String reason) {
    return new Verdict(Stand.REFUSED, reason, -1, NONE, null, true);
  }

  /** Returns the message for an address at which these servers answer. */
  public static String alternating(String runId, String other) {
    return "several servers answer at its address in turn, by run_id "
        + runId
        + " and "
        + other
        + ": give each server an address of its own";
  }

  /** Returns the same verdict for an observer, which writes no mark. */
  Verdict unwritten() {
    return refresh == null
        ? this
        : new Verdict(stand, stand == Stand.VOTES ? reason : NEW, -1, birth, null, isForeign);
  }
}
