package io.redlock.jedis.deployment;

import io.redlock.jedis.trust.Agreement.MasterSet;
import io.redlock.jedis.trust.BirthMark;
import io.redlock.jedis.trust.NodeAudit;
import io.redlock.jedis.trust.NodeAudit.Refresh;
import io.redlock.jedis.trust.Roll;
import io.redlock.jedis.trust.TermsChange;
import io.redlock.jedis.trust.TermsChange.Master;
import io.redlock.jedis.trust.TermsChange.Step;
import io.redlock.jedis.trust.TrustRules;
import io.redlock.jedis.trust.Verdict;
import io.redlock.spi.Quorum;
import java.io.PrintStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;

/**
 * The command that changes the terms on which all clients of a set agreed: the guard, the longest
 * ttl, and the abstention that follows from it. Clients with other settings are refused from then
 * on.
 */
final class Agree extends OperatorCommand {

  /** The terms of a master change up to three times; more often, somebody else changes them too. */
  private static final int MOST_WRITES = 4;

  private final TermsChange change;

  private List<String> waited;
  private int writes;

  /**
   * @param without the masters that are gone for good
   * @param waited the marks for which this run has waited already; empty if it has not
   */
  Agree(
      ChangedMasters masters,
      Quorum quorum,
      TrustRules rules,
      Set<String> without,
      List<String> waited,
      Progress begun,
      PrintStream out) {
    super(masters, quorum, rules, without, begun, out);
    this.change = new TermsChange(rules.agreement(List.of()));
    this.waited = waited;
  }

  /**
   * Returns the marks for which it has waited, with its own last writes; empty if it has not. Other
   * marks show that somebody wrote since: leases under the old terms may have begun.
   */
  List<String> waited() {
    return waited;
  }

  @Override
  Optional<Duration> next(List<Read> read) {
    List<Master> members = new ArrayList<>();
    for (Read each : read) {
      BirthMark mark = each.mark();
      if (mark != null) {
        requireMember(each, mark, members);
        members.add(
            new Master(
                mark.agreement(),
                mark.isSettled(each.audit()),
                progress.isSaved(each.index(), each.audit())));
      }
    }
    for (Read each : read) {
      if (each.mark() == null) {
        return mark(each, read);
      }
    }
    List<String> marks = new ArrayList<>(read.stream().map(each -> each.audit().birth()).toList());
    Step step = change.next(members, marks.equals(waited));
    if (step instanceof Step.Write write) {
      Read target = read.get(write.master());
      BirthMark mark = Objects.requireNonNull(target.mark()).under(write.terms());
      marks.set(write.master(), mark.toString());
      waited = write.isLast() ? marks : List.of();
      progress = write.isSaved() ? progress.saving(target.index(), mark.toString()) : progress;
      return write(target, mark);
    } else if (step instanceof Step.Save save) {
      Read target = read.get(save.master());
      return Optional.of(save(target.index(), target.audit()));
    } else if (step instanceof Step.Wait wait) {
      waited = marks;
      out.println(
          "waiting for "
              + wait.time().toSeconds()
              + "s, until every lease under the old terms has ended");
      return Optional.of(wait.time());
    } else if (step instanceof Step.Refuse refuse) {
      throw new Stopped(read.get(refuse.master()).name() + ": " + refuse.reason());
    }
    return succeed("agreed: restart the clients that are refused with these settings");
  }

  /** Stops if a master is not one of the set of the list and of the others. */
  private void requireMember(Read each, BirthMark mark, List<Master> others) {
    List<MasterSet> sets = mark.agreement().sets();
    MasterSet set = sets.get(sets.size() - 1);
    if (mark.serves().isNobody()) {
      throw new Stopped(each.name() + ": " + Roll.LEFT);
    }
    if (sets.size() > 1) {
      throw new Stopped(
          each.name()
              + ": a change of masters is under way: finish it, or run redlock resize abort");
    }
    if (!set.isOf(masters.names())) {
      throw new Stopped(
          each.name()
              + ": it is a master of "
              + set.names()
              + ": list all of these as their clients do");
    }
    if (!others.isEmpty() && !others.get(0).terms().sets().get(0).id().equals(set.id())) {
      throw new Stopped(each.name() + ": " + Roll.SAME_NAMES);
    }
  }

  /** Marks a master that lost its data, as a client with the agreed settings does. */
  private Optional<Duration> mark(Read target, List<Read> read) {
    TrustRules observer = TrustRules.observing(true, rules.skewMicros());
    List<Roll.Node> nodes =
        masters.names().stream()
            .map(
                name ->
                    Roll.Node.of(
                        name,
                        read.stream()
                            .filter(each -> each.name().equals(name))
                            .map(Read::audit)
                            .findFirst()
                            .orElse(null)))
            .toList();
    Roll.Advice advice = Roll.of(nodes, quorum, observer, "").advice(target.index());
    Verdict verdict = observer.judge(target.audit(), target.around().advising(advice));
    Refresh refresh = verdict.refresh();
    if (refresh == null) {
      throw new Stopped(target.name() + ": " + verdict.reason());
    }
    return write(target, refresh.mark());
  }

  private Optional<Duration> write(Read target, BirthMark mark) {
    if (++writes > MOST_WRITES * masters.names().size()) {
      throw new Stopped(
          target.name() + ": its mark is changed again and again: run one command at a time");
    }
    NodeAudit after = masters.write(target.index(), Refresh.of(target.audit(), mark));
    if (after.birth().equals(target.audit().birth())) {
      return Optional.of(Duration.ZERO); // too much time had passed since it was read
    }
    BirthMark written = BirthMark.parse(after.birth());
    if (written == null || !written.agreement().equals(mark.agreement())) {
      throw new Stopped(target.name() + ": its mark was changed meanwhile: run the command again");
    }
    out.println(target.name() + ": " + mark.agreement().inWords());
    return Optional.of(Duration.ZERO);
  }
}
