package io.redlock.cli;

import io.redlock.jedis.deployment.DeploymentSettings;
import io.redlock.jedis.deployment.Survey;
import io.redlock.jedis.deployment.Unmoved;
import io.redlock.jedis.membership.Agreement;
import io.redlock.jedis.membership.Audited;
import io.redlock.jedis.membership.BirthMark;
import io.redlock.jedis.membership.MasterChange;
import io.redlock.jedis.membership.MasterChange.Command;
import io.redlock.jedis.membership.MasterChange.Master;
import io.redlock.jedis.membership.MasterChange.Reached;
import io.redlock.jedis.membership.MasterChange.Role;
import io.redlock.jedis.membership.MasterSet;
import io.redlock.jedis.membership.NodeAudit;
import io.redlock.jedis.membership.TrustRules;
import io.redlock.jedis.membership.TrustRules.Surroundings;
import io.redlock.jedis.membership.Verdict;
import io.redlock.jedis.membership.Verdict.Stand;
import io.redlock.spi.Quorum;
import java.io.PrintStream;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The command {@code doctor}: prints the verdict of a lock service on each master. */
public final class Doctor {

  private static final List<String> HEAD =
      List.of("NODE", "VERDICT", "SERVER", "ROLE", "CLOCK", "DATA SINCE", "NOTE");

  private static final String FINISHED =
      "the change is finished: list the future masters as the nodes, without movingTo";

  private static final String NO_CHANGE = "no change of masters is under way";

  private Doctor() {}

  /** The condition of success, instead of masters that can all be used. */
  public enum Require {
    /** A quorum of the masters votes. */
    QUORUM
  }

  /**
   * Runs the check and returns the exit code.
   *
   * @param require the condition of success; null for that of all masters
   * @throws IllegalArgumentException if the configuration is not valid; lists every fault
   */
  public static int run(DeploymentSettings deployment, @Nullable Require require, PrintStream out) {
    try (Survey survey = deployment.survey("cannot ask")) {
      Quorum quorum = survey.quorum();
      List<Audited> audits = survey.auditRepeatedly();
      List<List<String>> rows = new ArrayList<>(List.of(HEAD));
      audits.forEach(audited -> rows.add(row(audited)));
      Console.printTable(rows, out);
      List<Integer> agreeing = printTerms(audits, out);
      if (quorum.isJoint()) {
        printChange(audits, quorum, out);
        String unmoved = Unmoved.of(survey, Set.of()).toString();
        out.print(unmoved.isEmpty() ? "" : unmoved + System.lineSeparator());
      } else {
        printOtherList(audits, out);
      }
      return summarize(audits, quorum, agreeing, require, out);
    }
  }

  /** Prints how to see the change of masters in which one of these masters takes part. */
  private static void printOtherList(List<Audited> audits, PrintStream out) {
    audits.stream()
        .flatMap(each -> Stream.ofNullable(each.node().valid()))
        .filter(mark -> !mark.serves().changes().isEmpty())
        .map(BirthMark::sets)
        .findFirst()
        .ifPresent(
            sets ->
                out.printf(
                    Locale.ROOT,
                    "a change of masters is under way: run REDLOCK_MOVING_TO=%s redlock doctor %s%n",
                    String.join(",", sets.get(1).names()),
                    String.join(" ", sets.get(0).names())));
  }

  /**
   * Prints the terms of the clients if masters differ in them, as while an operator changes them.
   *
   * @return the masters that agree, as bits, for each of the terms
   */
  private static List<Integer> printTerms(List<Audited> audits, PrintStream out) {
    Map<Agreement, List<Audited>> masters = new LinkedHashMap<>();
    for (Audited audited : audits) {
      BirthMark mark = audited.node().valid();
      if (mark != null && mark.isFounded() && !mark.serves().isNobody()) {
        masters.computeIfAbsent(mark.agreement(), key -> new ArrayList<>()).add(audited);
      }
    }
    if (masters.size() > 1) {
      masters.forEach(
          (terms, some) ->
              out.printf(
                  Locale.ROOT,
                  "the clients of %s agreed on %s%n",
                  some.stream().map(Audited::name).toList(),
                  terms.inWords()));
      out.println("no client can use all of these masters: run redlock agree");
    }
    return masters.values().stream().map(Audited::bits).toList();
  }

  private static List<String> row(Audited audited) {
    NodeAudit audit = audited.audit();
    Verdict verdict = audited.verdict();
    Surroundings around = audited.around();
    if (audit == null || verdict == null || around == null) {
      String stand = audited.isMisconfigured() ? "refused" : "unreachable";
      return List.of(audited.name(), stand, "", "", "", "", audited.failureText());
    }
    return List.of(
        audited.name(),
        verdict.stand().name().toLowerCase(Locale.ROOT),
        audit.version(),
        audit.isMaster() ? "master" : "replica",
        String.format(
            Locale.ROOT, "%+.1fms", (audit.nodeMicros() - around.clockMicros()) / 1_000.0),
        since(audited),
        note(audit, verdict));
  }

  private static String since(Audited audited) {
    BirthMark mark = audited.node().valid();
    if (mark == null) {
      return "unmarked";
    }
    String firstSeen =
        Instant.ofEpochMilli(mark.firstSeenMillis()).truncatedTo(ChronoUnit.SECONDS).toString();
    return firstSeen + (mark.isAdopted() ? " adopted" : "");
  }

  private static String note(NodeAudit audit, Verdict verdict) {
    String warning = TrustRules.warning(audit);
    if (verdict.refresh() != null && verdict.stand() == Stand.ABSTAINS) {
      return "new or reset: when first used, it abstains for a little more than maxTtl";
    }
    return verdict.reason().isEmpty() ? warning : verdict.reason();
  }

  /** Prints the point that a change of masters has reached, and the next step. */
  private static void printChange(List<Audited> audits, Quorum quorum, PrintStream out) {
    Set<List<MasterSet>> changes = new LinkedHashSet<>();
    Set<MasterSet> sets = new HashSet<>(); // of the future masters
    for (Audited audited : audits) {
      BirthMark mark = audited.node().valid();
      if (audited.audit() == null) {
        out.println(audited.name() + " does not answer, and may be at another step");
      } else {
        out.println(audited.name() + " serves " + (mark == null ? "nobody yet" : mark.inWords()));
      }
      if (mark != null) {
        changes.addAll(mark.serves().changes().isEmpty() ? List.of() : List.of(mark.sets()));
        if (Role.of(audited.index(), quorum) != Role.LEAVING) {
          sets.addAll(mark.sets());
        }
      }
    }
    if (changes.size() > 1) {
      out.println(
          "several changes of masters are under way, "
              + changes.stream().map(each -> each.get(1).id()).sorted().toList()
              + ": end all but one with redlock resize abort, by the lists of its first command");
      return;
    }
    if (changes.isEmpty() && sets.size() != 1) {
      out.println(NO_CHANGE);
      return;
    }
    MasterSet gone = new MasterSet("", List.of());
    List<MasterSet> change =
        changes.isEmpty() ? List.of(gone, sets.iterator().next()) : changes.iterator().next();
    MasterChange known =
        new MasterChange(change.get(0), change.get(1), new Agreement(true, 0, 0)); // asks no step
    List<Master> masters =
        audits.stream()
            .filter(each -> each.audit() != null)
            .map(each -> known.master(each, Role.of(each.index(), quorum)))
            .toList();
    Reached reached = known.reached(masters);
    if (changes.isEmpty()) {
      boolean isFinished =
          masters.size() == audits.size() && reached.equals(new Reached(Command.FINISH, true));
      out.println(isFinished ? FINISHED : NO_CHANGE);
      return;
    }
    String command = reached.command().name().toLowerCase(Locale.ROOT);
    out.println("the change " + known.future().id() + " of masters is under way");
    out.println(
        reached.isDone()
            ? reached.command().done
            : "next is redlock resize " + command + ", unless it is running");
  }

  private static int summarize(
      List<Audited> audits,
      Quorum quorum,
      List<Integer> agreeing,
      @Nullable Require require,
      PrintStream out) {
    int voting = set(audits, Stand.VOTES);
    int votes = Integer.bitCount(voting);
    int abstains = Integer.bitCount(set(audits, Stand.ABSTAINS));
    int others = audits.size() - votes - abstains;
    out.printf(
        Locale.ROOT,
        "%s nodes, %s needed: %s vote, %s abstain, %s cannot be used%n",
        audits.size(),
        quorum.isJoint() ? quorum : quorum.least(),
        votes,
        abstains,
        others);
    int masters = Integer.bitCount(quorum.isJoint() ? quorum.future() : quorum.present());
    if (masters % 2 == 0 || masters < 3) {
      out.println(
          "use an odd number of nodes, at least three: an even number survives no more failures"
              + " than the odd number below it, and fewer than three survive none");
    }
    boolean differ = agreeing.size() > 1;
    if (require == Require.QUORUM) {
      boolean isReached =
          differ
              ? agreeing.stream().anyMatch(some -> quorum.isReachedBy(voting & some))
              : quorum.isReachedBy(voting);
      return isReached ? ExitCode.OK : ExitCode.TOO_FEW;
    }
    return others == 0 && !differ ? ExitCode.OK : ExitCode.NOT_ALL;
  }

  /** Returns the masters with this verdict, as bits. */
  private static int set(List<Audited> audits, Stand stand) {
    return Audited.bits(audits.stream().filter(each -> each.stands(stand)).toList());
  }
}
