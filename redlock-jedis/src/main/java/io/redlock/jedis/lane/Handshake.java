package io.redlock.jedis.lane;

import io.redlock.jedis.membership.NodeAudit.Refresh;
import io.redlock.jedis.membership.NodeTrust;
import io.redlock.jedis.scripts.Script;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The commands that go over a new connection before it carries requests. They audit the node, write
 * its birth mark if one is due, and load the scripts. A part of the {@link LaneMachine}, and
 * guarded like it.
 *
 * <p>Lanes that start together wait a moment for each other, because no node votes until a quorum
 * has been audited. Then each node is audited again.
 */
final class Handshake {

  /** The scripts that each connection loads, so that no request has to be sent twice. */
  static final List<Script> LOADED =
      List.of(Script.GRANT, Script.FAIR_GRANT, Script.EXTEND, Script.RELEASE);

  /** The number of attempts that is enough for clients that write a birth mark at the same time. */
  private static final int MAX_REFRESHES = 4;

  private enum Step {
    AUDIT,
    LOAD,
    AWAIT_QUORUM,
    AUDIT_AGAIN
  }

  private final NodeTrust trust;
  private final Audits audits;
  private final LaneCalls calls;

  private Step step = Step.AUDIT;
  private boolean early; // no quorum of nodes was known at the begin
  private int refreshes;
  private int loads;

  Handshake(NodeTrust trust, Audits audits, LaneCalls calls) {
    this.trust = trust;
    this.audits = audits;
    this.calls = calls;
  }

  /** Begins with the first audit. */
  void begin() {
    early = !trust.hasQuorum();
    step = Step.AUDIT;
    audit(null, 0);
  }

  private void audit(@Nullable Refresh due, int refreshed) {
    refreshes = refreshed;
    Call audit = audits.call(due);
    audit.byText = true;
    calls.addAhead(audit);
  }

  /** Goes on after a verdict. Returns true if the handshake is complete. */
  boolean audited() {
    Refresh refresh = audits.verdict().refresh();
    if (refresh != null && refreshes < MAX_REFRESHES) {
      audit(refresh, refreshes + 1);
      return false;
    }
    if (step == Step.AUDIT) {
      step = Step.LOAD;
      loads = LOADED.size();
      LOADED.forEach(script -> calls.addAhead(Call.loading(script)));
      return false;
    }
    return true;
  }

  /** Goes on after a script was loaded. Returns true if the handshake is complete. */
  boolean loaded() {
    loads--;
    if (loads > 0 || !early) {
      return loads == 0;
    }
    step = Step.AWAIT_QUORUM;
    if (trust.hasQuorum()) {
      quorumReached();
    }
    return false;
  }

  /** Returns true if only answers of other nodes are missing. */
  boolean awaitsQuorum() {
    return step == Step.AWAIT_QUORUM;
  }

  /** Goes on when a quorum of nodes can be used. */
  void quorumReached() {
    if (step == Step.AWAIT_QUORUM) {
      step = Step.AUDIT_AGAIN;
      audit(null, 0);
    }
  }
}
