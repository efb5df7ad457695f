package io.redlock.chaos.history;

import java.util.List;

/**
 * What is to be said about a history.
 *
 * @param operations calls that clients began
 * @param leases how many were acquired
 * @param passedOn how many of these were passed on inside a process
 * @param unfencedLosses updates lost, and pairs that a reader saw half written, where tokens are
 *     not checked
 * @param longestGapNanos the longest time for which a client whose majorities were well had no
 *     lease that nobody else wanted; 0 where none was wanted
 * @param servedNanos all time of which that is the longest; the clients' times are added up
 */
public record HistoryVerdict(
    List<Finding> findings,
    long operations,
    long leases,
    long passedOn,
    long unfencedLosses,
    long longestGapNanos,
    long servedNanos) {

  /**
   * Checks everything that can be judged from outside: I1 to I9, I11, I12 and I23. Four have a
   * meaning of their own on real servers.
   *
   * <ul>
   *   <li>I7: after the last fault every client also acquires a lease and finds every master up.
   *   <li>I8: a node that lost its data does not vote, and an evicting node not for long.
   *   <li>I12: no thread is left in a client that has closed.
   *   <li>I23: while the masters change, a client whose majorities are well acquires a lease that
   *       nobody else wants every two seconds and a node timeout.
   * </ul>
   */
  public static HistoryVerdict of(History history) {
    Leases leases = new Leases(history);
    List<Exchange> exchanges = Exchange.of(history);
    Findings findings = new Findings();
    HoldRules.check(history, leases, findings);
    long passedOn = QuorumRules.check(history, leases, exchanges, findings);
    NodeRules.check(history, exchanges, findings);
    CallRules.check(history, findings);
    long lost = StoreRules.check(history, findings);
    ServiceRules.Result service = ServiceRules.check(history, findings);
    long operations = history.of("acquire", "extend", "release").count();
    return new HistoryVerdict(
        findings.inOrder(),
        operations,
        leases.all.size(),
        passedOn,
        lost,
        service.longestGapNanos(),
        service.countedNanos());
  }
}
