package io.redlock.jedis;

import io.redlock.jedis.AdoptReport.Node;
import io.redlock.jedis.AdoptReport.Outcome;
import io.redlock.jedis.deployment.LockKeys;
import io.redlock.jedis.deployment.Probe;
import io.redlock.jedis.deployment.Probe.Answer;
import io.redlock.jedis.deployment.Survey;
import io.redlock.jedis.deployment.Survey.Audited;
import io.redlock.jedis.scripts.AuditCall;
import io.redlock.jedis.trust.BirthMark;
import io.redlock.jedis.trust.NodeAudit;
import io.redlock.jedis.trust.NodeAudit.Refresh;
import io.redlock.jedis.trust.Roll;
import io.redlock.jedis.trust.Roll.Advice;
import io.redlock.jedis.trust.TrustRules;
import io.redlock.text.Brief;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Connection;

/**
 * The adoption of masters by an operator. Brand-new masters are confirmed to be new, so that they
 * found their set at once and need not abstain: all masters of a deployment, or none, as a single
 * new node among used ones may replace one that held leases. Or masters are declared gone for good,
 * so that the others go on without their answer.
 *
 * <p>A grant leaves a counter behind for the fence retention, which is longer than any ttl. So a
 * node without keys of the library has granted nothing that is still held.
 */
final class Adoption {

  /** Enough for marking, founding and looking, and for clients that do the same. */
  private static final int MOST_ROUNDS = 6;

  private final Probe probe;
  private final Survey survey;
  private final String keyPrefix;
  private final Set<Integer> written = new TreeSet<>();
  private final Map<Integer, String> failed = new TreeMap<>();

  /**
   * The plan for one node.
   *
   * @param refresh the mark to write; null to write none
   * @param otherwise the outcome if nothing is written
   * @param vouches true if the mark says that the master is new
   * @param isInUse true if clients may rely on it already
   */
  private record Plan(
      @Nullable Refresh refresh,
      Outcome otherwise,
      String detail,
      boolean vouches,
      boolean isInUse) {

    Plan(@Nullable Refresh refresh, Outcome otherwise, String detail) {
      this(refresh, otherwise, detail, false, false);
    }

    static Plan refuse(String detail) {
      return new Plan(null, Outcome.REFUSED, detail);
    }

    boolean isHindrance() {
      return refresh == null && otherwise != Outcome.ALREADY_TRUSTED;
    }
  }

  Adoption(Probe probe, Survey survey, String keyPrefix) {
    this.probe = probe;
    this.survey = survey;
    this.keyPrefix = keyPrefix;
  }

  /** Adopts brand-new masters. */
  AdoptReport run() {
    List<Answer<String>> lockKeys = probe.ask(this::anyLockKey);
    for (int round = 1; ; round++) {
      List<Audited> audits = survey.audit();
      Roll roll = roll(audits);
      List<Plan> plans = new ArrayList<>();
      for (int i = 0; i < audits.size(); i++) {
        plans.add(plan(i, audits.get(i), roll, lockKeys.get(i)));
      }
      boolean inUse =
          plans.stream().anyMatch(Plan::isInUse) && plans.stream().anyMatch(Plan::vouches);
      boolean isHindered = inUse || plans.stream().anyMatch(Plan::isHindrance);
      if (isHindered && roll.isDivided()) {
        return runWithout(Set.of());
      }
      if (isHindered) {
        return new AdoptReport(unwritten(plans, inUse));
      }
      if (round == MOST_ROUNDS || plans.stream().allMatch(plan -> plan.refresh == null)) {
        return new AdoptReport(result(plans));
      }
      write(plans);
      if (!failed.isEmpty()) {
        return new AdoptReport(result(plans));
      }
    }
  }

  private Roll roll(List<Audited> audits) {
    List<Roll.Node> nodes =
        audits.stream().map(each -> Roll.Node.of(each.name(), each.audit())).toList();
    return Roll.adopting(nodes, probe.quorum(), survey.rules());
  }

  private Plan plan(int index, Audited audited, Roll roll, Answer<String> lockKey) {
    NodeAudit audit = audited.audit();
    if (audit == null || audited.around() == null) {
      return new Plan(null, Outcome.UNREACHABLE, audited.failureText());
    }
    TrustRules rules = survey.rules();
    String fault = rules.misconfiguration(audit, audited.around());
    BirthMark mark = BirthMark.parse(audit.birth());
    if (fault == null && mark == null && !audit.birth().isEmpty()) {
      fault = BirthMark.UNREADABLE;
    }
    if (fault != null) {
      return Plan.refuse(fault);
    }
    Advice advice = roll.advice(index);
    if (advice instanceof Advice.Refuse refuse) {
      return Plan.refuse(refuse.reason());
    }
    boolean isValid = mark != null && mark.isOf(audit);
    if (advice instanceof Advice.Wait wait) {
      return wait.soon() ? new Plan(null, Outcome.ALREADY_TRUSTED, "") : Plan.refuse(wait.reason());
    }
    if (mark != null && advice instanceof Advice.Keep && mark.isSettled(audit)) {
      boolean isInUse = !written.contains(index); // nobody can say whether any client used it
      return new Plan(null, Outcome.ALREADY_TRUSTED, "", false, isInUse);
    }
    if (mark != null
        && isValid
        && !mark.isFounded()
        && mark.isAdopted()
        && advice instanceof Advice.Write write) {
      return new Plan(
          new Refresh(audit.birth(), BirthMark.fresh(audit, true, write)), Outcome.LEFT_ALONE, "");
    }
    boolean isFounded = advice instanceof Advice.Write write && write.isFounded();
    if (!isValid && (isFounded || mark != null && mark.isFounded())) {
      // All masters of a founded set were marked.
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
    BirthMark fresh =
        advice instanceof Advice.Write write
            ? BirthMark.fresh(audit, true, write)
            : mark == null ? null : mark.adopted();
    return new Plan(
        fresh == null ? null : new Refresh(audit.birth(), fresh),
        Outcome.LEFT_ALONE,
        "",
        fresh != null,
        false);
  }

  /** Reports that nothing was written because some node cannot be adopted. */
  private List<Node> unwritten(List<Plan> plans, boolean inUse) {
    List<Node> nodes = new ArrayList<>();
    for (int i = 0; i < plans.size(); i++) {
      Plan plan = plans.get(i);
      String name = probe.masters().get(i).name();
      if (plan.refresh == null) {
        nodes.add(new Node(name, plan.otherwise, plan.detail));
      } else if (inUse && plan.vouches) {
        String detail = "it is new among nodes in use: wait, it votes after its abstention";
        nodes.add(new Node(name, Outcome.REFUSED, detail));
      } else {
        nodes.add(new Node(name, Outcome.LEFT_ALONE, "all nodes are adopted, or none"));
      }
    }
    return nodes;
  }

  private List<Node> result(List<Plan> plans) {
    List<Node> nodes = new ArrayList<>();
    for (int i = 0; i < plans.size(); i++) {
      String name = probe.masters().get(i).name();
      if (failed.containsKey(i)) {
        nodes.add(new Node(name, Outcome.UNREACHABLE, failed.get(i) + ": run it again"));
        continue;
      }
      nodes.add(
          plans.get(i).refresh != null
              ? new Node(name, Outcome.LEFT_ALONE, "clients write its birth mark: run it again")
              : new Node(
                  name, written.contains(i) ? Outcome.ADOPTED : Outcome.ALREADY_TRUSTED, ""));
    }
    return nodes;
  }

  private void write(List<Plan> plans) {
    List<Answer<Boolean>> answers =
        probe.ask((index, connection) -> write(connection, plans.get(index)));
    for (int i = 0; i < answers.size(); i++) {
      Boolean answer = answers.get(i).value();
      if (answer == null) {
        failed.put(i, answers.get(i).failureText());
      } else if (answer) {
        written.add(i);
      }
    }
  }

  /** Returns true if the mark was written. */
  private static boolean write(Connection connection, Plan plan) {
    Refresh refresh = plan.refresh;
    if (refresh == null) {
      return false;
    }
    NodeAudit after = AuditCall.over(connection, AuditCall.invocation(1, refresh));
    BirthMark mark = BirthMark.parse(after.birth());
    return mark != null && mark.isOf(after) && mark.isAdopted() == refresh.mark().isAdopted();
  }

  /** Returns a key that a lock left behind; empty if there is none. */
  private String anyLockKey(int index, Connection connection) {
    return LockKeys.any(connection, keyPrefix);
  }

  // Masters that are gone.

  /**
   * Lets the masters that answer go on though others are gone for good, or no majority shows on
   * what they agreed: each without a mark that counts gets one, and abstains.
   */
  AdoptReport runWithout(Set<String> gone) {
    Set<String> unknown = new TreeSet<>(gone);
    probe.masters().forEach(master -> unknown.remove(master.name()));
    if (!unknown.isEmpty()) {
      throw new IllegalArgumentException(
          "cannot adopt: --without "
              + unknown
              + " is none of the masters: name it as in their list");
    }
    List<Audited> audits = survey.audit();
    List<Roll.Node> nodes = new ArrayList<>();
    for (Audited audited : audits) {
      nodes.add(Roll.Node.of(audited.name(), audited.audit()));
    }
    List<Advice> advice = Roll.without(nodes, probe.quorum(), survey.rules(), gone);
    List<Plan> plans = new ArrayList<>();
    for (int i = 0; i < audits.size(); i++) {
      plans.add(planWithout(audits.get(i), advice.get(i), gone));
    }
    if (plans.stream().anyMatch(Plan::isHindrance)) {
      return new AdoptReport(unwritten(plans, false));
    }
    write(plans);
    List<Node> report = new ArrayList<>();
    for (int i = 0; i < plans.size(); i++) {
      String name = probe.masters().get(i).name();
      boolean isDone = plans.get(i).refresh == null;
      report.add(
          isDone || written.contains(i)
              ? new Node(name, isDone ? Outcome.ALREADY_TRUSTED : Outcome.ADOPTED, "")
              : new Node(
                  name,
                  Outcome.UNREACHABLE,
                  failed.getOrDefault(i, "its mark was changed meanwhile") + ": run it again"));
    }
    return new AdoptReport(report);
  }

  private Plan planWithout(Audited audited, Advice advice, Set<String> gone) {
    NodeAudit audit = audited.audit();
    if (gone.contains(audited.name())) {
      return audit == null
          ? new Plan(null, Outcome.ALREADY_TRUSTED, "")
          : Plan.refuse("it answers, so it is not gone: leave out --without for it");
    }
    if (audit == null || audited.around() == null) {
      return new Plan(null, Outcome.UNREACHABLE, audited.failureText());
    }
    String fault = survey.rules().misconfiguration(audit, audited.around());
    if (fault != null) {
      return Plan.refuse(fault);
    }
    if (advice instanceof Advice.Refuse refuse) {
      return Plan.refuse(refuse.reason());
    }
    return advice instanceof Advice.Write write
        ? new Plan(
            new Refresh(audit.birth(), BirthMark.fresh(audit, false, write)),
            Outcome.LEFT_ALONE,
            "")
        : new Plan(null, Outcome.ALREADY_TRUSTED, "");
  }
}
