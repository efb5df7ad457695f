package io.redlock.chaos.history;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * What is to be said about a history.
 *
 * @param operations calls that clients began
 * @param leases how many were acquired
 * @param unfencedLosses updates lost where tokens are not checked
 */
public record HistoryVerdict(
    List<Finding> findings, long operations, long leases, long unfencedLosses) {

  /** Checks everything that can be judged from outside: I1 to I9, I11 and I12. */
  public static HistoryVerdict of(History history) {
    Leases leases = new Leases(history);
    List<Exchange> exchanges = Exchange.of(history);
    UpdateRules.Result updates = UpdateRules.check(history);
    List<Finding> findings = new ArrayList<>();
    findings.addAll(HoldRules.check(history, leases));
    findings.addAll(QuorumRules.check(history, leases, exchanges));
    findings.addAll(NodeRules.check(history, exchanges));
    findings.addAll(CallRules.check(history));
    findings.addAll(updates.findings());
    findings.sort(Comparator.comparingLong(Finding::atNanos));
    long operations = history.of("acquire", "extend", "release").count();
    return new HistoryVerdict(findings, operations, leases.all.size(), updates.unfencedLosses());
  }
}
