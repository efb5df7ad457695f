package io.redlock.jedis.deployment;

import io.redlock.jedis.deployment.Probe.Answer;
import io.redlock.jedis.membership.Audited;
import io.redlock.jedis.membership.Membership;
import io.redlock.jedis.membership.NodeAudit;
import io.redlock.jedis.membership.Peers;
import io.redlock.jedis.membership.TrustRules;
import io.redlock.jedis.membership.TrustRules.Surroundings;
import io.redlock.jedis.membership.Verdict;
import io.redlock.jedis.scripts.AuditCall;
import io.redlock.spi.Quorum;
import io.redlock.spi.Ticker;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Connection;

/** An audit of all masters without a lock service. Writes nothing. */
public final class Survey {

  private static final Ticker CLOCKS = Ticker.system();

  /** Enough to meet each of a few servers that answer in turn. */
  private static final int CONNECTIONS = 5;

  /** Enough to meet one again if any of them answers. */
  private static final int MOST_CONNECTIONS = 16;

  private final Probe probe;
  private final TrustRules rules;

  /** An audit, and the times before it was asked for and after it was answered. */
  record Timed(NodeAudit audit, long beforeNanos, long afterNanos) {}

  /**
   * @param rules the settings under which the masters are judged
   */
  Survey(Probe probe, TrustRules rules) {
    this.probe = probe;
    this.rules = rules;
  }

  /** Returns what asks the masters. */
  public Probe probe() {
    return probe;
  }

  /** Returns the settings under which the masters are judged. */
  public TrustRules rules() {
    return rules;
  }

  /** Returns the results, in the order of the masters. */
  public List<Audited> audit() {
    List<String> names = probe.masters().stream().map(Probe.Master::name).toList();
    List<Answer<Timed>> answers = probe.ask(Survey::audit);
    return judge(names, probe.quorum(), rules, answers, CLOCKS);
  }

  /**
   * Returns the same after several audits of each master, each over a connection of its own: other
   * servers may answer at its address in turn.
   */
  public List<Audited> auditRepeatedly() {
    List<Audited> audits = new ArrayList<>(audit());
    for (int index = 0; index < audits.size(); index++) {
      NodeAudit first = audits.get(index).audit();
      if (first != null) {
        Optional<String> fault = alternation(index, first.runId());
        if (fault.isPresent()) {
          Audited found = audits.get(index);
          Verdict refused = Verdict.refused(fault.get());
          audits.set(index, new Audited(index, found.node(), found.around(), refused, null));
        }
      }
    }
    return audits;
  }

  /** Returns that a server came back which another one had replaced: a process never does. */
  private Optional<String> alternation(int index, String first) {
    List<String> processes = new ArrayList<>(List.of(first));
    for (int i = 1; i < MOST_CONNECTIONS; i++) {
      Answer<NodeAudit> answer =
          probe.askOne(
              index, connection -> AuditCall.over(connection, AuditCall.invocation(0, null)));
      NodeAudit audit = answer.value();
      if (audit == null || i >= CONNECTIONS && processes.size() == 1) {
        return Optional.empty();
      }
      String last = processes.get(processes.size() - 1);
      if (!audit.runId().equals(last)) {
        if (processes.contains(audit.runId())) {
          return Optional.of(Verdict.alternating(audit.runId(), last));
        }
        processes.add(audit.runId());
      }
    }
    return Optional.empty();
  }

  /** Returns what the answers mean, in the order of the masters. */
  static List<Audited> judge(
      List<String> names,
      Quorum quorum,
      TrustRules rules,
      List<Answer<Timed>> answers,
      Ticker clocks) {
    Peers peers = new Peers(names, quorum, rules.skewMicros());
    List<Audited> audits = new ArrayList<>();
    for (int i = 0; i < answers.size(); i++) { // so that the last count for the first verdicts
      hear(peers, i, answers.get(i).value(), clocks, rules);
    }
    for (int i = 0; i < answers.size(); i++) {
      Timed timed = answers.get(i).value();
      NodeAudit audit = timed == null ? null : timed.audit;
      Surroundings around = hear(peers, i, timed, clocks, rules);
      Verdict verdict = audit == null || around == null ? null : rules.judge(audit, around);
      Membership.Node node = Membership.Node.of(names.get(i), audit);
      audits.add(new Audited(i, node, around, verdict, answers.get(i).failure()));
    }
    return audits;
  }

  private static @Nullable Surroundings hear(
      Peers peers, int master, @Nullable Timed timed, Ticker clocks, TrustRules rules) {
    return timed == null
        ? null
        : peers.hear(master, timed.audit, timed.beforeNanos, timed.afterNanos, clocks, rules);
  }

  private static Timed audit(Connection connection) {
    AuditCall.over(
        connection,
        AuditCall.invocation(0, null)); // loads the script, so that the second one is fast
    long beforeNanos = CLOCKS.monotonicNanos();
    NodeAudit audit = AuditCall.over(connection, AuditCall.invocation(1, null));
    return new Timed(audit, beforeNanos, CLOCKS.monotonicNanos());
  }
}
