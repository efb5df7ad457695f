package io.redlock.jedis;

import io.redlock.jedis.AdoptReport.Node;
import io.redlock.jedis.AdoptReport.Outcome;
import io.redlock.jedis.deployment.LockKeys;
import io.redlock.jedis.deployment.Probe;
import io.redlock.jedis.deployment.Probe.Answer;
import io.redlock.jedis.deployment.Survey.Audited;
import io.redlock.jedis.scripts.AuditCall;
import io.redlock.jedis.trust.BirthMark;
import io.redlock.jedis.trust.Membership;
import io.redlock.jedis.trust.NodeAudit;
import io.redlock.jedis.trust.NodeAudit.Refresh;
import io.redlock.jedis.trust.Served;
import io.redlock.jedis.trust.Verdict;
import io.redlock.jedis.trust.Verdict.Stand;
import io.redlock.text.Brief;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Connection;

/**
 * The adoption of brand-new masters, which an operator confirms to be new, so that they need not
 * abstain. All masters of a deployment are adopted, or none: a single new node among used ones may
 * replace one that held leases.
 *
 * <p>A grant leaves a counter behind for the fence retention, which is longer than any ttl. So a
 * node without keys of the library has granted nothing that is still held.
 */
final class Adoption {

  private final Probe probe;
  private final List<Audited> audits;
  private final String keyPrefix;

  /**
   * The plan for one node.
   *
   * @param refresh the mark to write; null to write none
   * @param otherwise the outcome if nothing is written
   * @param isInUse true if clients may rely on it already
   */
  private record Plan(
      @Nullable Refresh refresh, Outcome otherwise, String detail, boolean isInUse) {

    static Plan refuse(String detail) {
      return new Plan(null, Outcome.REFUSED, detail, false);
    }

    boolean isHindrance() {
      return refresh == null && otherwise != Outcome.ALREADY_TRUSTED;
    }
  }

  Adoption(Probe probe, List<Audited> audits, String keyPrefix) {
    this.probe = probe;
    this.audits = audits;
    this.keyPrefix = keyPrefix;
  }

  AdoptReport run() {
    List<Answer<String>> lockKeys = probe.ask(this::anyLockKey);
    List<Plan> plans = new ArrayList<>();
    for (int i = 0; i < audits.size(); i++) {
      plans.add(plan(audits.get(i), lockKeys.get(i)));
    }
    boolean inUse = plans.stream().anyMatch(Plan::isInUse);
    return new AdoptReport(
        inUse || plans.stream().anyMatch(Plan::isHindrance)
            ? unwritten(plans, inUse)
            : write(plans));
  }

  /** Clears how long masters that were reset abstain; the clients in use set it again. */
  AdoptReport forget() {
    List<Plan> plans = new ArrayList<>();
    for (Audited audited : audits) {
      NodeAudit audit = audited.audit();
      BirthMark mark = audit == null ? null : BirthMark.parse(audit.birth());
      plans.add(
          audit == null
              ? new Plan(null, Outcome.UNREACHABLE, audited.failure(), false)
              : mark == null
                  ? new Plan(null, Outcome.LEFT_ALONE, "it has no birth mark", false)
                  : new Plan(
                      new Refresh(audit.birth(), mark.forgetful()), Outcome.FORGOTTEN, "", false));
    }
    return new AdoptReport(write(plans));
  }

  private Plan plan(Audited audited, Answer<String> lockKey) {
    NodeAudit audit = audited.audit();
    Verdict verdict = audited.verdict();
    if (audit == null || verdict == null) {
      return new Plan(null, Outcome.UNREACHABLE, audited.failure(), false);
    }
    if (verdict.stand() == Stand.REFUSED) {
      return Plan.refuse(verdict.reason());
    }
    BirthMark mark = BirthMark.parse(audit.birth());
    if (verdict.stand() == Stand.VOTES) {
      boolean isInUse = mark == null || !mark.isAdopted() || mark.abstentionMillis() > 0;
      return new Plan(null, Outcome.ALREADY_TRUSTED, "", isInUse);
    }
    if (mark != null && !mark.isOf(audit)) {
      return Plan.refuse("it was in use and lost its data: wait, it votes after its abstention");
    }
    String key = lockKey.value();
    if (key == null) {
      return Plan.refuse("its keys cannot be listed: " + lockKey.failureText());
    }
    if (!key.isEmpty()) {
      return Plan.refuse(
          "it holds lock keys, for example "
              + Brief.text(key)
              + ": wait, it votes after its abstention");
    }
    BirthMark adopted =
        mark == null
            ? new BirthMark(
                audit.runId(),
                audit.replId(),
                BirthMark.NOW,
                true,
                0,
                Served.of(Membership.of(probe.masters().size()).label("")),
                true)
            : mark.adopted();
    return new Plan(new Refresh(audit.birth(), adopted), Outcome.LEFT_ALONE, "", false);
  }

  /** Reports that nothing was written because some node cannot be adopted. */
  private List<Node> unwritten(List<Plan> plans, boolean inUse) {
    List<Node> nodes = new ArrayList<>();
    for (int i = 0; i < plans.size(); i++) {
      Plan plan = plans.get(i);
      String name = probe.masters().get(i).name();
      if (plan.refresh == null) {
        nodes.add(new Node(name, plan.otherwise, plan.detail));
      } else if (inUse) {
        String detail = "it is new among nodes in use: wait, it votes after its abstention";
        nodes.add(new Node(name, Outcome.REFUSED, detail));
      } else {
        nodes.add(new Node(name, Outcome.LEFT_ALONE, "all nodes are adopted, or none"));
      }
    }
    return nodes;
  }

  private List<Node> write(List<Plan> plans) {
    List<Answer<Outcome>> written =
        probe.ask((index, connection) -> write(connection, plans.get(index)));
    List<Node> nodes = new ArrayList<>();
    for (int i = 0; i < plans.size(); i++) {
      String name = probe.masters().get(i).name();
      Outcome outcome = written.get(i).value();
      if (outcome == null) {
        String detail = written.get(i).failureText() + ": run it again";
        nodes.add(new Node(name, Outcome.UNREACHABLE, detail));
      } else {
        boolean late = outcome == Outcome.LEFT_ALONE && plans.get(i).refresh != null;
        nodes.add(
            new Node(
                name,
                outcome,
                late ? "a client wrote its birth mark first: run it again" : plans.get(i).detail));
      }
    }
    return nodes;
  }

  private static Outcome write(Connection connection, Plan plan) {
    Refresh refresh = plan.refresh;
    if (refresh == null) {
      return plan.otherwise;
    }
    NodeAudit after = AuditCall.over(connection, AuditCall.invocation(1, refresh));
    BirthMark mark = BirthMark.parse(after.birth());
    if (mark == null) {
      return Outcome.LEFT_ALONE;
    }
    if (plan.otherwise == Outcome.FORGOTTEN) {
      return mark.equals(refresh.mark()) ? Outcome.FORGOTTEN : Outcome.LEFT_ALONE;
    }
    return mark.isOf(after) && mark.isAdopted() ? Outcome.ADOPTED : Outcome.LEFT_ALONE;
  }

  /** Returns a key that a lock left behind; empty if there is none. */
  private String anyLockKey(int index, Connection connection) {
    return LockKeys.any(connection, keyPrefix);
  }
}
