package io.redlock.jedis.trust;

import io.redlock.jedis.trust.NodeAudit.Renewal;
import io.redlock.jedis.trust.Verdict.Stand;
import io.redlock.spi.LockNode;
import io.redlock.spi.NodeReply;
import io.redlock.spi.Ticker;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * The production guard against nodes without a past, opened for a simulated lane: what it asks of a
 * node, and what it makes of the answers. What the node itself does is a few lines, as in the audit
 * script.
 */
public final class LaneGuard {

  /** What the lanes of one lock service know together. */
  public static final class Shared {
    private final Peers peers;
    private final TrustRules rules;
    private final double driftFactor;

    public Shared(
        int nodes, boolean guarded, Duration maxTtl, double driftFactor, long skewMicros) {
      this.peers = new Peers(nodes, skewMicros);
      this.rules = TrustRules.of(nodes, guarded, maxTtl, driftFactor, skewMicros);
      this.driftFactor = driftFactor;
    }
  }

  /** What a node says of itself. */
  public record Identity(String runId, String replicationId, long nowMicros, String birth) {}

  /** An audit on its way to the node. */
  public static final class Question {
    private final @Nullable Renewal renewal;

    private Question(@Nullable Renewal renewal) {
      this.renewal = renewal;
    }

    /** What the node keeps once it has executed the audit. */
    public String birthAfter(String stored, long nowMillis) {
      if (renewal == null || !renewal.seen().equals(stored)) {
        return stored;
      }
      String firstSeen = renewal.firstSeen();
      return renewal.mark().head()
          + (firstSeen.startsWith("+")
              ? String.valueOf(nowMillis + Long.parseLong(firstSeen))
              : firstSeen)
          + renewal.mark().tail();
    }
  }

  private final Shared shared;
  private final NodeTrust trust;
  private Verdict verdict = Verdict.abstains(-1, "not audited", null);

  public LaneGuard(String node, int index, Shared shared) {
    this.shared = shared;
    this.trust = new NodeTrust(node, index, shared.peers, shared.rules, shared.driftFactor);
  }

  /** A mark as an operator leaves it on a brand-new node. */
  public static String adopted(
      Identity node, int nodes, boolean guarded, Duration maxTtl, long skewMicros) {
    long abstentionMillis = TrustRules.of(nodes, true, maxTtl, 0, skewMicros).abstentionMillis();
    return new BirthMark(
            node.runId,
            node.replicationId,
            node.nowMicros / 1_000,
            true,
            abstentionMillis,
            nodes,
            guarded)
        .toString();
  }

  /** The next audit; it writes a mark if the last one showed that there is one to write. */
  public Question ask() {
    return new Question(verdict.renewal());
  }

  /** The node has answered, between two readings of the monotonic clock. */
  public void answered(
      Identity node, long beforeNanos, long afterNanos, Ticker ticker, LockNode.Observer observer) {
    NodeAudit audit =
        new NodeAudit(
            "7.2.0",
            node.runId,
            "master",
            "standalone",
            node.replicationId,
            0,
            0,
            "noeviction",
            node.nowMicros,
            node.birth);
    verdict = trust.judge(audit, beforeNanos, afterNanos, ticker, observer);
  }

  /** The node has answered with an error; false if it will pass by itself. */
  public boolean failed(NodeReply error) {
    switch (error.kind()) {
      case MISCONFIGURED -> verdict = Verdict.refused(error.detail());
      case OUT_OF_MEMORY -> verdict = Verdict.abstains(-1, error.detail(), null);
      default -> {
        return false;
      }
    }
    return true;
  }

  /** The connection has ended. */
  public void left() {
    trust.left();
    verdict = Verdict.abstains(-1, "not audited", null);
  }

  /** Whether the next audit has a mark to write. */
  public boolean wantsToWrite() {
    return verdict.renewal() != null;
  }

  /** What a grant is told at once; null if it is sent. */
  public @Nullable NodeReply toGrant() {
    return switch (verdict.stand()) {
      case VOTES -> null;
      case ABSTAINS -> NodeReply.abstain(verdict.remainingMillis(), verdict.reason());
      case REFUSED -> NodeReply.misconfigured(verdict.reason());
    };
  }

  /** What an extend is told at once; null if it is sent. */
  public @Nullable NodeReply toExtend() {
    return verdict.stand() == Stand.REFUSED ? toGrant() : null;
  }

  /** For how much longer the node abstains; −1 if that is unknown or it does not. */
  public long abstainsForMillis() {
    return verdict.stand() == Stand.ABSTAINS ? verdict.remainingMillis() : -1;
  }

  /** What grants and joins carry; empty if the node is not to look. */
  public String birth() {
    return verdict.birth();
  }

  public boolean hasQuorum() {
    return trust.hasQuorum();
  }

  public void whenQuorum(Runnable action) {
    trust.whenQuorum(action);
  }
}
