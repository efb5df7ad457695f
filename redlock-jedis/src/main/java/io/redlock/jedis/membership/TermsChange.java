package io.redlock.jedis.membership;

import io.redlock.jedis.membership.Agreement.MasterSet;
import io.redlock.jedis.membership.NodeAudit.Refresh;
import io.redlock.spi.Quorum;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * The command that changes the terms on which all clients of a set agreed: the guard, the longest
 * ttl, and the abstention that follows from it. Clients with other settings are refused from then
 * on.
 *
 * <p>A master that loses its data abstains for as long as its mark says, or the marks that it is
 * marked from. So before any lease may last longer, all masters get the longer abstention, on disk;
 * and they get a shorter one when the last lease under the old terms has ended.
 *
 * @param rules the settings to which the terms change
 * @param gone the masters that are gone for good
 */
public record TermsChange(Quorum quorum, TrustRules rules, Set<String> gone) implements Operation {

  /** An audit counts for so long at most. */
  private static final long AUDIT_MILLIS = 3_000;

  /** A master that was read, of which the clients have these terms. */
  private record Member(int index, Audited read, Agreement terms, boolean isSaved) {}

  @Override
  public Step step(List<Audited> masters, Known known) {
    List<Member> members = new ArrayList<>();
    int unmarked = -1;
    Map<Integer, String> marks = new TreeMap<>();
    for (int index : Operation.present(masters, quorum, rules, gone, i -> false)) {
      Audited read = masters.get(index);
      marks.put(index, read.node().answer().birth());
      if (read.node().isMember()) {
        requireMember(index, masters, members);
        boolean isSaved = known.progress().isSaved(read, index);
        members.add(new Member(index, read, read.node().shown().agreement(), isSaved));
      } else {
        unmarked = unmarked < 0 ? index : unmarked;
      }
    }
    if (unmarked >= 0) {
      return marked(unmarked, masters);
    }
    Agreement wanted = rules.agreement(List.of());
    long wantedMillis = wanted.abstentionMillis();
    int longer = Operation.first(members, each -> each.terms.abstentionMillis() > wantedMillis);
    // If anybody wrote since it began to wait, leases under the old terms may have begun.
    if (longer >= 0 && known.progress().waited() && known.progress().marks().equals(marks)) {
      return under(members.get(longer), wanted, true, false);
    }
    long longestMillis =
        members.stream()
            .mapToLong(each -> each.terms.abstentionMillis())
            .reduce(wantedMillis, Math::max);
    int shorter = Operation.first(members, each -> each.terms.abstentionMillis() < longestMillis);
    if (shorter >= 0) {
      Member member = members.get(shorter);
      return under(member, member.terms.abstainingFor(longestMillis), false, false);
    }
    int other = Operation.first(members, each -> !isWanted(each.terms));
    if (other >= 0) {
      Member member = members.get(other);
      boolean isSettled = member.read.node().shown().isSettled(member.read.node().answer());
      if (member.terms.guarded() && !wanted.guarded() && !isSettled) {
        throw new Stopped(member.index, "it abstains: run the command again when it votes");
      }
      boolean isLonger = member.terms.maxTtlMillis() < wanted.maxTtlMillis();
      int unsaved = isLonger ? Operation.first(members, each -> !each.isSaved) : -1; // M6
      return unsaved >= 0
          ? new Step.Save(members.get(unsaved).index)
          : under(member, wanted.abstainingFor(longestMillis), false, isLonger);
    }
    return longer < 0
        ? new Step.Done("agreed: restart the clients that are refused with these settings", -1)
        // None outlasts the longest abstention of any master, and a client that was paused since
        // its last audit may extend one once more.
        : new Step.Wait(
            Duration.ofMillis(2 * longestMillis + AUDIT_MILLIS), "under the old terms", marks);
  }

  private static Step under(Member member, Agreement terms, boolean isLast, boolean isSaved) {
    Agreement its = terms.of(member.terms.sets());
    BirthMark mark = member.read.node().shown().under(its);
    return Operation.write(member.index, member.read, mark, isLast, isSaved, ": " + its.inWords());
  }

  private boolean isWanted(Agreement terms) {
    return terms.guarded() == rules.guarded() && terms.maxTtlMillis() == rules.maxTtlMillis();
  }

  /** Stops if a master is not one of the set of the list and of the others. */
  private static void requireMember(int index, List<Audited> masters, List<Member> others) {
    BirthMark mark = masters.get(index).node().shown();
    MasterSet set = mark.last();
    if (mark.serves().isNobody()) {
      throw new Stopped(index, Membership.LEFT);
    }
    if (mark.agreement().sets().size() > 1) {
      throw new Stopped(
          index, "a change of masters is under way: finish it, or run redlock resize abort");
    }
    if (!set.isOf(masters.stream().map(Audited::name).toList())) {
      throw new Stopped(
          index, "it is a master of " + set.names() + ": list all of these as their clients do");
    }
    if (!others.isEmpty() && !others.get(0).terms.sets().get(0).id().equals(set.id())) {
      throw new Stopped(index, Membership.SAME_NAMES);
    }
  }

  /** Marks a master that lost its data, as a client with the agreed settings does. */
  private Step marked(int index, List<Audited> masters) {
    TrustRules observer = TrustRules.observing(true, rules.skewMicros());
    Membership membership =
        Membership.of(masters.stream().map(Audited::node).toList(), quorum, observer, "");
    Audited target = masters.get(index);
    Verdict verdict =
        observer.judge(
            target.node().answer(), target.surroundings().advising(membership.advice(index)));
    Refresh refresh = verdict.refresh();
    if (refresh == null) {
      throw new Stopped(index, verdict.reason());
    }
    return Operation.write(
        index, target, refresh.mark(), false, false, ": " + refresh.mark().agreement().inWords());
  }
}
