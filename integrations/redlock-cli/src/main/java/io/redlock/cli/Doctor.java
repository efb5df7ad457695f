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
import io.redlock.jedis.membership.MasterChange.Role;
import io.redlock.jedis.membership.NodeAudit;
import io.redlock.jedis.membership.Operation.Known;
import io.redlock.jedis.membership.Operation.Step;
import io.redlock.jedis.membership.Resize;
import io.redlock.jedis.membership.TrustRules;
import io.redlock.jedis.membership.TrustRules.Surroundings;
import io.redlock.jedis.membership.Verdict;
import io.redlock.jedis.membership.Verdict.Stand;
import io.redlock.jedis.membership.Waiver;
import io.redlock.spi.Quorum;
import java.io.PrintStream;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
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
        printChange(survey, audits, out);
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
    Resize.changes(audits).stream()
        .findFirst()
        .ifPresent(
            change ->
                out.printf(
                    Locale.ROOT,
                    "a change of masters is under way: run REDLOCK_MOVING_TO=%s redlock doctor %s%n",
                    String.join(",", change.future().names()),
                    String.join(" ", change.present().names())));
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
  private static void printChange(Survey survey, List<Audited> audits, PrintStream out) {
    for (Audited audited : audits) {
      BirthMark mark = audited.node().valid();
      out.println(
          audited.name()
              + (audited.audit() == null
                  ? " does not answer, and may be at another step"
                  : " serves " + (mark == null ? "nobody yet" : mark.inWords())));
    }
    List<MasterChange> changes = Resize.changes(audits);
    if (changes.size() > 1) {
      out.println(
          "several changes of masters are under way, "
              + changes.stream().map(each -> each.future().id()).toList()
              + ": end all but one with redlock resize abort, by the lists of its first command");
      return;
    }
    if (changes.isEmpty()) {
      Waiver none = new Waiver(Set.of(), Map.of());
      Resize finish = new Resize(Command.FINISH, survey.quorum(), survey.rules(), none, "", "none");
      boolean isFinished = finish.next(audits, Known.NOTHING) instanceof Step.Done;
      out.println(isFinished ? FINISHED : NO_CHANGE);
      return;
    }
    MasterChange change = changes.get(0);
    List<Master> masters =
        audits.stream()
            .filter(each -> each.audit() != null)
            .map(each -> change.master(each, Role.of(each.index(), survey.quorum())))
            .toList();
    Command reached = change.reached(masters);
    out.println("the change " + change.future().id() + " of masters is under way");
    out.println(
        change.next(reached, masters, false) instanceof Step.Done done
            ? done.message()
            : "next is redlock resize "
                + reached.name().toLowerCase(Locale.ROOT)
                + ", unless it is running");
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
