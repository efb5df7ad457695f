package io.redlock.jedis.cli;

import io.redlock.jedis.deployment.Deployment;
import io.redlock.jedis.deployment.Survey.Audited;
import io.redlock.jedis.trust.BirthMark;
import io.redlock.jedis.trust.NodeAudit;
import io.redlock.jedis.trust.TrustRules;
import io.redlock.jedis.trust.TrustRules.Surroundings;
import io.redlock.jedis.trust.Verdict;
import io.redlock.jedis.trust.Verdict.Stand;
import java.io.PrintStream;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** The command {@code doctor}: prints the verdict of a lock service on each master. */
public final class Doctor {

  private static final List<String> HEAD =
      List.of("NODE", "VERDICT", "SERVER", "ROLE", "CLOCK", "DATA SINCE", "NOTE");

  private Doctor() {}

  /** The condition of success, instead of masters that can all be used. */
  enum Require {
    QUORUM
  }

  /**
   * Runs the check and returns the exit code.
   *
   * @throws IllegalArgumentException if the configuration is not valid; lists every fault
   */
  public static int run(Deployment deployment, PrintStream out) {
    return run(deployment, null, out);
  }

  static int run(Deployment deployment, @Nullable Require require, PrintStream out) {
    List<Audited> audits = deployment.survey();
    List<List<String>> rows = new ArrayList<>(List.of(HEAD));
    audits.forEach(audited -> rows.add(row(audited)));
    Terminal.printTable(rows, out);
    return summarize(audits, require, out);
  }

  private static List<String> row(Audited audited) {
    NodeAudit audit = audited.audit();
    Verdict verdict = audited.verdict();
    Surroundings around = audited.around();
    if (audit == null || verdict == null || around == null) {
      return List.of(audited.name(), "unreachable", "", "", "", "", audited.failure());
    }
    return List.of(
        audited.name(),
        verdict.stand().name().toLowerCase(Locale.ROOT),
        audit.version(),
        audit.isMaster() ? "master" : "replica",
        String.format(
            Locale.ROOT, "%+.1fms", (audit.nodeMicros() - around.clockMicros()) / 1_000.0),
        since(audit),
        note(audit, verdict, around));
  }

  private static String since(NodeAudit audit) {
    BirthMark mark = BirthMark.parse(audit.birth());
    if (mark == null || !mark.isOf(audit)) {
      return "unmarked";
    }
    String firstSeen =
        Instant.ofEpochMilli(mark.firstSeenMillis()).truncatedTo(ChronoUnit.SECONDS).toString();
    return firstSeen
        + (mark.isAdopted() ? " adopted" : "")
        + (mark.abstentionMillis() == 0
            ? ""
            : ", " + mark.abstentionMillis() / 1_000 + "s for " + mark.asker());
  }

  private static String note(NodeAudit audit, Verdict verdict, Surroundings around) {
    String warning = TrustRules.warning(audit);
    if (verdict.refresh() != null && verdict.stand() == Stand.ABSTAINS) {
      return "new or reset: when first used, it abstains for a little more than maxTtl"
          + (around.othersInUse() ? "" : "; brand-new masters can be adopted, all together");
    }
    return verdict.reason().isEmpty() && warning != null ? warning : verdict.reason();
  }

  private static int summarize(List<Audited> audits, @Nullable Require require, PrintStream out) {
    int needed = audits.size() / 2 + 1;
    long votes = count(audits, Stand.VOTES);
    long abstains = count(audits, Stand.ABSTAINS);
    long others = audits.size() - votes - abstains;
    out.println(
        audits.size()
            + " nodes, "
            + needed
            + " needed: "
            + votes
            + " vote, "
            + abstains
            + " abstain, "
            + others
            + " cannot be used");
    if (audits.size() % 2 == 0 || audits.size() < 3) {
      out.println(
          "use an odd number of nodes, at least three: an even number survives no more failures"
              + " than the odd number below it, and fewer than three survive none");
    }
    if (require == Require.QUORUM) {
      return votes >= needed ? ExitCode.OK : ExitCode.TOO_FEW;
    }
    return others == 0 ? ExitCode.OK : ExitCode.NOT_ALL;
  }

  private static long count(List<Audited> audits, Stand stand) {
    return audits.stream()
        .filter(audited -> audited.verdict() != null && audited.verdict().stand() == stand)
        .count();
  }
}
