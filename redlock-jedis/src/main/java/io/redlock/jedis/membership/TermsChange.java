package io.redlock.jedis.membership;

import io.redlock.jedis.membership.NodeAudit.Refresh;
import io.redlock.spi.Quorum;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Predicate;

/**
 * The command that changes the terms on which all clients of a set agreed: the guard, the longest
 * ttl, and the abstention that follows from it. Clients with longer settings are refused from the
 * first write on.
 *
 * <p>A master that loses its data abstains for as long as its mark says, or the marks that it is
 * marked from. So before any lease may last longer, all masters get the longer abstention, on disk;
 * and they get a shorter one when the last lease under the old terms has ended.
 *
 * @param rules the settings to which the terms change
 * @param gone the masters that are gone for good
 * @param forces true if clients with a longer ttl may be cut off
 */
public record TermsChange(Quorum quorum, TrustRules rules, Set<String> gone, boolean forces)
    implements Operation {

  @Override
  public Step step(List<Audited> masters, Known known) {
    List<Audited> present = Operation.present(masters, quorum, rules, gone, each -> false);
    List<Audited> members = present.stream().filter(each -> each.node().isMember()).toList();
    Operation.requireOneSet(members, masters.stream().map(Audited::name).toList());
    Agreement wanted = rules.terms();
    boolean isShorter =
        members.stream()
            .anyMatch(each -> each.node().terms().maxTtlMillis() > wanted.maxTtlMillis());
    List<Audited> asked = isShorter && !forces ? members : List.of();
    known.ask(Question.LONGER, asked);
    for (Audited each : asked) {
      String longer = known.answer(Question.LONGER, each);
      if (!longer.isEmpty()) {
        throw new Stopped(
            each,
            "clients with a longer maxTtl are refused from the first write on, and it holds locks of"
                + " theirs: restart them with the new maxTtl, or add --force: "
                + longer);
      }
    }
    Map<Integer, String> marks = new TreeMap<>();
    members.forEach(each -> marks.put(each.index(), each.node().answer().birth()));
    long wantedMillis = wanted.abstentionMillis();
    long longestMillis =
        members.stream()
            .mapToLong(each -> each.node().terms().abstentionMillis())
            .reduce(wantedMillis, Math::max);
    Agreement first = wanted.abstainingFor(longestMillis);
    Predicate<Audited> isLonger = each -> each.node().terms().abstentionMillis() > wantedMillis;
    // If anybody wrote since it began to wait, leases under the old terms may have begun.
    boolean hasWaited = known.progress().waited() && known.progress().marks().equals(marks);
    // None outlasts the longest abstention of any master, and a client that was paused since its
    // last audit may extend one once more.
    Duration lastLease = Duration.ofMillis(2 * longestMillis).plusNanos(NodeAudit.FRESH_NANOS);
    return Rules.of(present)
        .on(each -> !each.node().isMember(), each -> marked(each, masters))
        .on(each -> hasWaited && isLonger.test(each), each -> under(each, wanted, true, false))
        .on(
            each -> each.node().terms().abstentionMillis() < longestMillis,
            each -> under(each, each.node().terms().abstainingFor(longestMillis), false, false))
        .on(each -> !each.node().terms().equals(first), each -> changed(each, first))
        .on(isLonger, each -> new Step.Wait(lastLease, "under the old terms", marks, false))
        .step()
        .orElse(
            new Step.Done(
                "agreed: restart clients that are refused; from now on run adopt with these settings",
                false));
  }

  /** Changes the guard and the longest ttl of a master, of which all abstain for long enough. */
  private static Step changed(Audited member, Agreement wanted) {
    long leftMillis = member.node().shown().leftMillis(member.node().answer(), 0);
    if (member.node().terms().guarded() && !wanted.guarded() && leftMillis > 0) {
      throw new Stopped(member, "it abstains: run the command again when it votes");
    }
    boolean isLonger = member.node().terms().maxTtlMillis() < wanted.maxTtlMillis();
    return under(member, wanted, false, isLonger);
  }

  private static Step under(Audited member, Agreement terms, boolean isLast, boolean isSaved) {
    return write(member, member.node().shown().under(terms), isLast, isSaved);
  }

  private static Step write(Audited member, BirthMark mark, boolean isLast, boolean isSaved) {
    Map<Integer, Refresh> marks = Map.of(member.index(), member.writing(mark));
    return new Step.Write(marks, Set.of(), isLast, isSaved, ": " + mark.agreement().inWords());
  }

  /** Marks a master that lost its data, as a client with the agreed settings does. */
  private Step marked(Audited target, List<Audited> masters) {
    TrustRules observer = TrustRules.observing(true, rules.skewMicros());
    List<Membership.Node> nodes = masters.stream().map(Audited::node).toList();
    Membership membership = new Membership(nodes, quorum, observer, "", Optional.empty());
    Verdict verdict =
        observer.judge(
            target.node(), target.surroundings().advising(membership.advice(target.index())));
    Refresh refresh = verdict.refresh();
    if (refresh == null) {
      throw new Stopped(target, verdict.reason());
    }
    return write(target, refresh.mark(), false, false);
  }
}
