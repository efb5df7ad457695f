package io.redlock.jedis.deployment;

import io.redlock.jedis.deployment.ChangedMasters.NoAnswer;
import io.redlock.jedis.deployment.Survey.Audited;
import io.redlock.jedis.trust.Agreement;
import io.redlock.jedis.trust.BirthMark;
import io.redlock.jedis.trust.NodeAudit;
import io.redlock.jedis.trust.NodeAudit.Refresh;
import io.redlock.jedis.trust.TrustRules;
import io.redlock.text.Brief;
import java.io.PrintStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * The command that changes the terms on which all clients of a set agreed: the guard, the longest
 * ttl, and the abstention that follows from it. Clients with other settings are refused from then
 * on.
 *
 * <p>A shorter abstention comes last: until every lease under the old terms has ended, a master
 * that loses its data abstains for as long as before. So the command may be interrupted anywhere
 * and repeated.
 */
final class TermsChange {

  /** An audit counts for so long at most. */
  private static final long AUDIT_MILLIS = 3_000;

  private final ChangedMasters masters;
  private final TrustRules rules;
  private final Pause pause;
  private final PrintStream out;

  /** A way to wait. */
  interface Pause {
    void lasts(Duration time) throws InterruptedException;
  }

  /** A master whose mark is valid. */
  private record Member(int index, String name, String text, BirthMark mark) {}

  /** Stops the command, with the reason. */
  private static final class Stopped extends RuntimeException {
    private static final long serialVersionUID = 1;

    Stopped(String reason) {
      super(reason, null, false, false);
    }
  }

  TermsChange(ChangedMasters masters, TrustRules rules, Pause pause, PrintStream out) {
    this.masters = masters;
    this.rules = rules;
    this.pause = pause;
    this.out = out;
  }

  /** Runs the command to its end; returns true if nothing is left to do. */
  boolean run() throws InterruptedException {
    try {
      Agreement terms = rules.agreement(List.of());
      long longestMillis = terms.abstentionMillis();
      for (Member each : read()) {
        longestMillis = Math.max(longestMillis, each.mark.agreement().abstentionMillis());
      }
      write(new Agreement(List.of(), terms.guarded(), terms.maxTtlMillis(), longestMillis));
      if (longestMillis > terms.abstentionMillis()) {
        Duration last = Duration.ofMillis(2 * longestMillis + AUDIT_MILLIS);
        out.println(
            "waiting for "
                + last.toSeconds()
                + "s, until every lease under the old terms has ended");
        pause.lasts(last);
        write(terms);
      }
      out.println("agreed: restart the clients that are refused with these settings");
      return true;
    } catch (Stopped stopped) {
      out.println(stopped.getMessage());
    } catch (NoAnswer silent) {
      out.println(
          masters.names().get(silent.master)
              + ": "
              + silent.getMessage()
              + ": run the command again");
    }
    return false;
  }

  private List<Member> read() {
    List<Member> members = new ArrayList<>();
    List<Audited> audits = masters.audit();
    for (int index = 0; index < audits.size(); index++) {
      Audited audited = audits.get(index);
      NodeAudit audit = audited.audit();
      BirthMark mark = audit == null ? null : BirthMark.parse(audit.birth());
      if (audit == null) {
        throw new Stopped(
            audited.name() + ": " + audited.failureText() + ": run the command again");
      }
      if (mark == null || !mark.isOf(audit) || !mark.isFounded()) {
        throw new Stopped(
            audited.name() + ": its data is new: run the command again when its clients marked it");
      }
      if (mark.agreement().sets().size() > 1) {
        throw new Stopped(audited.name() + ": a change of masters is under way: end it first");
      }
      if (!mark.agreement().sets().get(0).isOf(masters.names())) {
        throw new Stopped(
            audited.name()
                + ": it is a master of "
                + mark.agreement().sets().get(0).names()
                + ": list all of these as their clients do");
      }
      members.add(new Member(index, audited.name(), audit.birth(), mark));
    }
    return members;
  }

  private void write(Agreement terms) {
    for (Member each : read()) {
      Agreement agreement = terms.of(each.mark.agreement().sets());
      if (each.mark.agreement().equals(agreement)) {
        continue;
      }
      BirthMark mark = each.mark.serving(each.mark.serves(), agreement);
      NodeAudit after = masters.write(each.index, new Refresh(each.text, mark));
      if (!after.birth().equals(mark.toString())) {
        throw new Stopped(each.name + ": its mark was changed meanwhile: run the command again");
      }
      out.println(
          each.name
              + ": maxTtl "
              + Brief.exact(Duration.ofMillis(agreement.maxTtlMillis()))
              + ", restartGuard "
              + agreement.guarded()
              + ", abstention "
              + Brief.exact(Duration.ofMillis(agreement.abstentionMillis())));
    }
  }
}
