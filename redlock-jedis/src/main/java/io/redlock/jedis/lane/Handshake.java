package io.redlock.jedis.lane;

import io.redlock.jedis.membership.NodeAudit.Refresh;
import io.redlock.jedis.membership.NodeTrust;
import org.jspecify.annotations.Nullable;

/**
 * The commands that go over a new connection before it carries requests. They audit the node, and
 * write its birth mark if one is due. A part of the {@link LaneMachine}, and guarded like it.
 *
 * <p>Lanes that start together wait a moment for each other, because no node votes until a quorum
 * has been accepted. Whenever another one was accepted, the node is audited again.
 */
final class Handshake {

  /** The number of attempts that is enough for clients that write a birth mark at the same time. */
  private static final int MAX_REFRESHES = 4;

  private enum Step {
    AUDIT,
    AWAIT_QUORUM,
    AUDIT_AGAIN
  }

  private final NodeTrust trust;
  private final Audits audits;
  private final LaneCalls calls;
  private final long patienceNanos;

  private Step step = Step.AUDIT;
  private boolean early; // no quorum of nodes was known at the begin
  private int refreshes;
  private long quorumByNanos;

  /**
   * @param patienceNanos how long it waits for other nodes
   */
  Handshake(NodeTrust trust, Audits audits, LaneCalls calls, long patienceNanos) {
    this.trust = trust;
    this.audits = audits;
    this.calls = calls;
    this.patienceNanos = patienceNanos;
  }

  /** Begins with the first audit. */
  void begin() {
    early = !trust.hasQuorum();
    step = Step.AUDIT;
    audit(null, 0);
  }

  private void audit(@Nullable Refresh due, int refreshed) {
    refreshes = refreshed;
    calls.addAhead(audits.call(due));
  }

  /** Goes on after a verdict. Returns true if the handshake is complete. */
  boolean audited(long nowNanos) {
    Refresh refresh = audits.verdict().refresh();
    if (refresh != null && refreshes < MAX_REFRESHES) {
      audit(refresh, refreshes + 1);
      return false;
    }
    boolean isFirst = step == Step.AUDIT;
    boolean hasQuorum = trust.hasQuorum();
    if (!early || hasQuorum && !isFirst) {
      return true;
    }
    quorumByNanos = isFirst ? nowNanos + patienceNanos : quorumByNanos;
    step = Step.AWAIT_QUORUM;
    if (hasQuorum) {
      told();
    }
    return false;
  }

  /** Returns true if only answers of other nodes are missing, and it waits for them no longer. */
  boolean isTired(long nowNanos) {
    return step == Step.AWAIT_QUORUM && nowNanos - quorumByNanos >= 0;
  }

  /** Goes on when another node was accepted. */
  void told() {
    if (step == Step.AWAIT_QUORUM) {
      step = Step.AUDIT_AGAIN;
      audit(null, 0);
    }
  }
}
