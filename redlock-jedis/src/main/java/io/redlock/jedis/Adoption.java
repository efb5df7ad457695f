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
import io.redlock.spi.Quorum;
import io.redlock.text.Brief;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

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

  private final Masters masters;
  private final TrustRules rules;
  private final Set<Integer> written = new TreeSet<>();
  private final Map<Integer, String> failed = new TreeMap<>();

  /** The masters, in the order of the configuration. Each method asks all at the same time. */
  interface Masters {
    List<String> names();

    Quorum quorum();

    List<Audited> audit();

    /** Returns for each a key that a lock left behind; empty if there is none. */
    List<Answer<String>> lockKeys();

    /**
     * Writes these marks, unless they were changed meanwhile, and audits their masters.
     *
     * @param refreshes one for each master; empty to write none
     */
    List<Answer<Optional<NodeAudit>>> write(List<Optional<Refresh>> refreshes);
  }

  /** The masters of a configuration. */
  private record Probed(Probe probe, Survey survey, String keyPrefix) implements Masters {

    @Override
    public List<String> names() {
      return probe.masters().stream().map(Probe.Master::name).toList();
    }

    @Override
    public Quorum quorum() {
      return probe.quorum();
    }

    @Override
    public List<Audited> audit() {
      return survey.audit();
    }

    @Override
    public List<Answer<String>> lockKeys() {
      return probe.ask((index, connection) -> LockKeys.any(connection, keyPrefix));
    }

    @Override
    public List<Answer<Optional<NodeAudit>>> write(List<Optional<Refresh>> refreshes) {
      return probe.ask(
          (index, connection) ->
              refreshes
                  .get(index)
                  .map(mark -> AuditCall.over(connection, AuditCall.invocation(1, mark))));
    }
  }

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

  Adoption(Masters masters, TrustRules rules) {
    this.masters = masters;
    this.rules = rules;
  }

  /** Returns the adoption of the masters of a configuration. */
  static Adoption of(Probe probe, Survey survey, String keyPrefix) {
    return new Adoption(new Probed(probe, survey, keyPrefix), survey.rules());
  }

  /** Adopts brand-new masters. */
  AdoptReport run() {
    List<Answer<String>> lockKeys = masters.lockKeys();
    for (int round = 1; ; round++) {
      List<Audited> audits = masters.audit();
      List<Roll.Node> nodes = nodes(audits);
      Roll roll = Roll.adopting(nodes, masters.quorum(), rules);
      List<Plan> plans = new ArrayList<>();
      for (int i = 0; i < audits.size(); i++) {
        plans.add(plan(i, audits.get(i), roll, lockKeys.get(i)));
      }
      boolean inUse =
          plans.stream().anyMatch(Plan::isInUse) && plans.stream().anyMatch(Plan::vouches);
      boolean isHindered = inUse || plans.stream().anyMatch(Plan::isHindrance);
      Roll clients = Roll.of(nodes, masters.quorum(), rules, "");
      if (isHindered && (roll.isDivided() || clients.isDivided())) {
        return runWithout(Set.of()); // no client will ever mark them
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

  private static List<Roll.Node> nodes(List<Audited> audits) {
    return audits.stream().map(each -> Roll.Node.of(each.name(), each.audit())).toList();
  }

  private Plan plan(int index, Audited audited, Roll roll, Answer<String> lockKey) {
    NodeAudit audit = audited.audit();
    if (audit == null || audited.around() == null) {
      return new Plan(null, Outcome.UNREACHABLE, audited.failureText());
    }
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
      String name = masters.names().get(i);
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
      String name = masters.names().get(i);
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
    List<Optional<Refresh>> refreshes =
        plans.stream().map(plan -> Optional.ofNullable(plan.refresh)).toList();
    List<Answer<Optional<NodeAudit>>> answers = masters.write(refreshes);
    for (int i = 0; i < answers.size(); i++) {
      Optional<NodeAudit> after = answers.get(i).value();
      Refresh refresh = plans.get(i).refresh;
      if (after == null) {
        failed.put(i, answers.get(i).failureText());
      } else if (refresh != null && after.isPresent() && isWritten(refresh, after.get())) {
        written.add(i);
      }
    }
  }

  private static boolean isWritten(Refresh refresh, NodeAudit after) {
    BirthMark mark = BirthMark.parse(after.birth());
    return mark != null && mark.isOf(after) && mark.isAdopted() == refresh.mark().isAdopted();
  }

  // Masters that are gone.

  /**
   * Lets the masters that answer go on though others are gone for good, or no majority shows on
   * what they agreed: each without a mark that counts gets one, and abstains.
   */
  AdoptReport runWithout(Set<String> gone) {
    Set<String> unknown = new TreeSet<>(gone);
    masters.names().forEach(unknown::remove);
    if (!unknown.isEmpty()) {
      throw new IllegalArgumentException(
          "cannot adopt: --without "
              + unknown
              + " is none of the masters: name it as in their list");
    }
    List<Audited> audits = masters.audit();
    List<Advice> advice = Roll.without(nodes(audits), masters.quorum(), rules, gone);
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
      String name = masters.names().get(i);
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
    String fault = rules.misconfiguration(audit, audited.around());
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
