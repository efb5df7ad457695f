package io.redlock.jedis.cli;

import io.redlock.jedis.JedisRedlock;
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

/**
 * A check of masters: prints the verdict of a lock service on each. {@code java -cp …
 * io.redlock.jedis.cli.Doctor 10.0.0.1:6379 10.0.0.2:6379 10.0.0.3:6379}. Changes nothing on them.
 * Exits with 0 if all can be used, now or after their abstention, with 1 if one cannot, with 2 if
 * the addresses are not valid.
 */
public final class Doctor {

  private static final List<String> HEAD =
      List.of("NODE", "VERDICT", "SERVER", "ROLE", "CLOCK", "DATA SINCE", "NOTE");

  private Doctor() {}

  /**
   * Runs the check and exits.
   *
   * @param args addresses as for {@link JedisRedlock#connect}; without any, they are read from
   *     standard input, which keeps passwords out of the command line
   */
  public static void main(String[] args) {
    System.exit(run(Terminal.words(args, System.in), System.out));
  }

  /** Runs the check and returns the exit code. */
  public static int run(List<String> addresses, PrintStream out) {
    Deployment deployment = new Deployment();
    addresses.forEach(deployment::node);
    return run(deployment, out);
  }

  static int run(Deployment deployment, PrintStream out) {
    List<Audited> audits;
    try {
      audits = deployment.survey();
    } catch (IllegalArgumentException e) {
      out.println(e.getMessage());
      return 2;
    }
    List<List<String>> rows = new ArrayList<>(List.of(HEAD));
    audits.forEach(audited -> rows.add(row(audited)));
    Terminal.printTable(rows, out);
    return summarize(audits, out);
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

  private static int summarize(List<Audited> audits, PrintStream out) {
    long votes = count(audits, Stand.VOTES);
    long abstains = count(audits, Stand.ABSTAINS);
    long others = audits.size() - votes - abstains;
    out.println(
        audits.size()
            + " nodes, "
            + (audits.size() / 2 + 1)
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
    return others == 0 ? 0 : 1;
  }

  private static long count(List<Audited> audits, Stand stand) {
    return audits.stream()
        .filter(audited -> audited.verdict() != null && audited.verdict().stand() == stand)
        .count();
  }
}
