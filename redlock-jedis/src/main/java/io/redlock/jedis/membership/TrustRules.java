package io.redlock.jedis.membership;

import io.redlock.jedis.membership.Membership.Advice;
import io.redlock.jedis.membership.Membership.Node;
import io.redlock.jedis.membership.NodeAudit.Refresh;
import io.redlock.text.Brief;
import java.time.Duration;
import java.util.List;
import java.util.OptionalLong;

/**
 * The rules that decide what a node may do, from its audit and from what is known about the others.
 * A pure function: no clock, no I/O, no memory.
 *
 * <p>A node that lost its data forgets its grants, and could grant the same locks again. Its birth
 * mark shows the loss: the mark is gone, or comes from another process or replication history, or
 * from before an eviction. Such a node gets a new mark, if the others show which ({@link
 * Membership}), and abstains until every earlier lease has ended. That takes the longest ttl, its
 * drift, and twice the skew: the node's own clock gives the age of the mark, and may have been off
 * by one skew either way.
 *
 * @param terms the terms of this client; without an abstention for an observer, which writes no
 *     marks and goes by theirs
 * @param skewMicros the allowed difference between the clocks of two nodes
 * @param typed these settings as an operator types them before a command
 */
public record TrustRules(Agreement terms, long skewMicros, String typed) {

  /**
   * The knowledge about the other nodes and this machine.
   *
   * @param clockMicros the time at the audit by the median of the audited nodes, or by this
   *     machine's clock if fewer than a quorum have been audited
   * @param byMedian true for the median
   * @param beyondSkewMicros by how much more than the skew the node's clock may differ from the
   *     clocks of a quorum that includes it; empty if no quorum agrees. The median does not
   *     suffice: of two audited nodes, the one with the wrong clock may be the median
   * @param uncertaintyMicros the largest error in reading the node's clock and the median
   * @param advice what the marks of all nodes say about this one
   * @param sameServerAs another node that is the same process; empty if there is none
   */
  public record Surroundings(
      long clockMicros,
      boolean byMedian,
      OptionalLong beyondSkewMicros,
      long uncertaintyMicros,
      Advice advice,
      String sameServerAs) {

    /**
     * Returns the write of a mark; one of new data is dated later if its clock may be wrong (N1).
     */
    Refresh writing(NodeAudit audit, BirthMark mark) {
      long aheadMillis = ceilMillis(beyondSkewMicros.orElse(0));
      return new Refresh(audit.birth(), audit.nodeMicros(), mark, aheadMillis);
    }

    /** Returns the same with other advice. */
    public Surroundings advising(Advice other) {
      return new Surroundings(
          clockMicros, byMedian, beyondSkewMicros, uncertaintyMicros, other, sameServerAs);
    }
  }

  /** Returns the rules for these settings, which are typed so. */
  public static TrustRules of(
      boolean guarded, Duration maxTtl, long driftPartsPerMillion, long skewMicros, String typed) {
    long ttlMillis = maxTtl.plusNanos(999_999).toMillis();
    long driftMillis = -Math.floorDiv(-ttlMillis * driftPartsPerMillion, 1_000_000) + 2; // T2
    long abstentionMillis = ttlMillis + driftMillis + 2 * ceilMillis(skewMicros); // N2
    return new TrustRules(new Agreement(guarded, ttlMillis, abstentionMillis), skewMicros, typed);
  }

  /**
   * Returns the rules of an observer.
   *
   * @param guarded true if a node without a birth mark abstains; a mark says it itself
   */
  public static TrustRules observing(boolean guarded, long skewMicros) {
    return new TrustRules(new Agreement(guarded, 0, 0), skewMicros, "");
  }

  /** Returns true for an observer. */
  boolean observes() {
    return terms.abstentionMillis() == 0;
  }

  /**
   * Returns in which setting this client needs more than an agreement has; empty if it is served.
   */
  String difference(Agreement agreed) {
    if (observes()) {
      return "";
    }
    if (agreed.guarded() != terms.guarded()) {
      String own = "restartGuard(" + terms.guarded() + ")";
      return differs("restartGuard(" + agreed.guarded() + ")", own)
          .replace("at most what was agreed", "the same on every client");
    }
    if (agreed.maxTtlMillis() < terms.maxTtlMillis()) {
      return differs(
          "maxTtl " + Brief.exact(Duration.ofMillis(agreed.maxTtlMillis())),
          "maxTtl " + Brief.exact(Duration.ofMillis(terms.maxTtlMillis())));
    }
    return agreed.abstentionMillis() < terms.abstentionMillis()
        ? differs(
            "an abstention of " + Brief.exact(Duration.ofMillis(agreed.abstentionMillis())),
            Brief.exact(Duration.ofMillis(terms.abstentionMillis()))
                + ", by its clockSkew and driftPerSecond")
        : "";
  }

  private static String differs(String agreed, String own) {
    return "the clients of these masters agreed on "
        + agreed
        + ", this client has "
        + own
        + ": use at most what was agreed; to change it for all, see redlock agree";
  }

  /** Returns a command for these masters as an operator types it. */
  String command(String what, List<String> names) {
    return typed + "redlock " + what + " " + String.join(" ", names);
  }

  /** Returns what the node may do, and why. */
  public Verdict judge(Node node, Surroundings around) {
    NodeAudit audit = node.answer();
    String misconfiguration = misconfiguration(audit, around); // N5
    if (!misconfiguration.isEmpty()) {
      return Verdict.refused(misconfiguration);
    }
    if (!node.unreadable().isEmpty()) {
      return Verdict.foreign(node.unreadable());
    }
    Advice advice = around.advice();
    if (advice instanceof Advice.Refuse refuse) { // N8
      return Verdict.foreign(refuse.reason());
    }
    if (advice instanceof Advice.Wait wait) {
      return Verdict.abstains(-1, wait.reason(), null);
    }
    BirthMark due = due(node, around);
    Refresh refresh = due.equals(node.mark()) ? null : around.writing(audit, due);
    if (!due.agreement().guarded()) {
      return Verdict.votes(audit, "", refresh);
    }
    boolean isNew = due.firstSeenMillis() == BirthMark.NOW;
    if (isNew && around.beyondSkewMicros().isEmpty()) {
      // The age of the mark would be wrong by as much as the clock is.
      return Verdict.abstains(-1, "its data is new, and " + Audited.UNCHECKED, null);
    }
    long longestMillis = due.agreement().abstentionMillis();
    long leftMillis = isNew ? longestMillis : due.leftMillis(audit, misread(around));
    if (leftMillis > 0) {
      String reason = "its data is new; it votes in " + (leftMillis + 999) / 1_000 + "s";
      return Verdict.abstains(leftMillis, reason, refresh);
    }
    return refresh == null
        ? Verdict.votes(audit, due.guard(), null)
        : Verdict.abstains(0, "its birth mark is being written", refresh);
  }

  /** Returns the mark that it should have: its own, or one of new data (N1). */
  private BirthMark due(Node node, Surroundings around) {
    NodeAudit audit = node.answer();
    if (around.advice() instanceof Advice.Write write) {
      return BirthMark.fresh(audit, false, write.serves(), write.sets(), write.agreement());
    }
    BirthMark mark = node.shown();
    // It may be ahead a little: the clock was misread, or was set back a little since.
    long mostMillis = audit.nodeMillis() + ceilMillis(skewMicros) + misread(around);
    return mark.firstSeenMillis() <= mostMillis
        ? mark.in(audit) // other: the statistics of the server were reset
        : BirthMark.fresh(audit, false, mark.serves(), mark.sets(), mark.agreement());
  }

  /**
   * Returns what an operator has to fix before the node can take part; empty if there is nothing.
   */
  public String misconfiguration(NodeAudit audit, Surroundings around) {
    if (!audit.isMaster()) {
      return "it is a replica: address its master instead";
    }
    if (!audit.mode().equals("standalone")) {
      return "it runs in " + audit.mode() + " mode: use independent masters";
    }
    if (audit.maxMemoryBytes() > 0 && !audit.evictionPolicy().equals("noeviction")) {
      return "its maxmemory-policy "
          + audit.evictionPolicy()
          + " may evict locks: set maxmemory-policy noeviction";
    }
    if (!around.sameServerAs().isEmpty()) {
      return "it is the same server as node "
          + around.sameServerAs()
          + " (run_id "
          + audit.runId()
          + "): list every master once";
    }
    if (around.byMedian()
        && distanceMicros(audit, around) > skewMicros + around.uncertaintyMicros()) {
      return "its clock is "
          + seconds(distanceMicros(audit, around))
          + (audit.nodeMicros() > around.clockMicros() ? " ahead of" : " behind")
          + " the median of the nodes, more than the skew of "
          + seconds(skewMicros)
          + " (node "
          + audit.nodeMillis()
          + ", median "
          + around.clockMicros() / 1_000
          + " ms since 1970): set its clock";
    }
    return "";
  }

  private static long distanceMicros(NodeAudit audit, Surroundings around) {
    return Math.abs(audit.nodeMicros() - around.clockMicros());
  }

  private static String seconds(long micros) {
    return micros / 1_000_000 + "." + micros / 100_000 % 10 + "s";
  }

  /** Returns by how much more than the skew the clock may be off without being refused for it. */
  private static long misread(Surroundings around) {
    return ceilMillis(2 * around.uncertaintyMicros());
  }

  private static long ceilMillis(long micros) {
    return (micros + 999) / 1_000;
  }

  /** Returns what is allowed but worth a warning; empty if there is nothing. */
  public static String warning(NodeAudit audit) {
    return audit.replicas() == 0
        ? ""
        : "it has "
            + audit.replicas()
            + " connected replicas: never let one take over its address, because a promoted"
            + " replica may lack granted locks";
  }
}
