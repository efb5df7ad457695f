package io.redlock.jedis.lane;

import io.redlock.jedis.scripts.Script;
import io.redlock.jedis.trust.NodeAudit.Renewal;
import io.redlock.jedis.trust.NodeTrust;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What is sent over a new connection before it carries requests: the node is audited, gets its
 * birth mark if one is due, and loads the scripts. A part of the {@link LaneMachine}, and guarded
 * like it.
 *
 * <p>Lanes that start together wait for each other a moment, because none votes before a quorum of
 * nodes has been audited. Then the node is audited once more.
 */
final class Introduction {

  /** Scripts that are loaded on each connection, so that no request needs a second try. */
  static final List<Script> LOADED =
      List.of(Script.GRANT, Script.FAIR_GRANT, Script.EXTEND, Script.RELEASE);

  /** Clients that write the same birth mark at the same time need no more tries than this. */
  private static final int MAX_RENEWALS = 4;

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
  private boolean early; // no quorum of nodes was known when the connection was made
  private int renewals;
  private int loads;

  Introduction(NodeTrust trust, Audits audits, LaneCalls calls) {
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

  private void audit(@Nullable Renewal due, int renewed) {
    renewals = renewed;
    Call audit = audits.call(due);
    audit.byText = true;
    calls.addAhead(audit);
  }

  /** An audit led to a verdict. Returns true if that was the end. */
  boolean audited() {
    Renewal renewal = audits.verdict().renewal();
    if (renewal != null && renewals < MAX_RENEWALS) {
      audit(renewal, renewals + 1);
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

  /** A script was loaded. Returns true if that was the end. */
  boolean loaded() {
    loads--;
    if (loads > 0 || !early) {
      return loads == 0;
    }
    step = Step.AWAIT_QUORUM;
    if (trust.hasQuorum()) {
      quorum();
    }
    return false;
  }

  /** Returns true if only a quorum of nodes is missing. */
  boolean awaitsQuorum() {
    return step == Step.AWAIT_QUORUM;
  }

  /** A quorum of nodes is known from now on. */
  void quorum() {
    if (step == Step.AWAIT_QUORUM) {
      step = Step.AUDIT_AGAIN;
      audit(null, 0);
    }
  }
}
