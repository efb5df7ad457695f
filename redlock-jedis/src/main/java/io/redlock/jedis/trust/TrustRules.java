package io.redlock.jedis.trust;

import io.redlock.jedis.trust.NodeAudit.Renewal;
import java.time.Duration;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * Decides what a node may do, from what it says of itself and what is known of the others. A pure
 * function: no clock, no I/O, no memory.
 *
 * <p>A node that lost its data forgets what it granted, and would grant it again. Its birth mark
 * tells: it is gone, or was made by another process or in another replication history. Such a node
 * is marked anew and abstains until every lease that it may have granted before has ended: the
 * longest ttl, the drift allowed to it, and twice the skew, because the age of the mark is counted
 * by the node's own clock, which may have been off by one skew either way.
 *
 * @param nodes how many nodes the deployment has
 * @param guarded whether the birth mark is heeded
 * @param abstentionMillis for how long a node without a past has to abstain for this client
 * @param skewMicros how far the clocks of two nodes may lie apart
 * @param client what this client calls itself where it asks for the longest abstention
 */
public record TrustRules(
    int nodes, boolean guarded, long abstentionMillis, long skewMicros, String client) {

  private static final String RESET =
      "; to change it, stop all clients and delete " + BirthMark.KEY + " on every node";

  /**
   * What is known besides the audit.
   *
   * @param clockMicros the time at the audit by the median of the audited nodes, or by this
   *     machine's clock where fewer than a quorum have been audited
   * @param byMedian which of the two
   * @param beyondSkewMicros by how much the node's clock may lie further than the skew from those
   *     of a quorum, its own among them; empty if no quorum tells the same time. A median says
   *     less: of two nodes that have been asked one may be wrong, and be the median
   * @param uncertaintyMicros by how much the node's clock may have been misread
   * @param longest the mark, of any node, that asks for the longest abstention; null if none does
   * @param othersInUse whether another node is in use already
   * @param sameServerAs another node that is the same process; empty if there is none
   */
  public record Surroundings(
      long clockMicros,
      boolean byMedian,
      OptionalLong beyondSkewMicros,
      long uncertaintyMicros,
      @Nullable BirthMark longest,
      boolean othersInUse,
      String sameServerAs) {

    private long abstentionMillis() {
      return longest == null ? 0 : longest.abstentionMillis();
    }
  }

  /** A drift that makes no sense is reported elsewhere and only kept within bounds here. */
  public static TrustRules of(
      int nodes, boolean guarded, Duration maxTtl, double driftFactor, long skewMicros) {
    long ttlMillis = maxTtl.plusNanos(999_999).toMillis();
    long driftMillis = (long) Math.ceil(ttlMillis * Math.max(0, Math.min(driftFactor, 0.5))) + 2;
    long abstentionMillis = ttlMillis + driftMillis + 2 * ceilMillis(skewMicros);
    return new TrustRules(nodes, guarded, abstentionMillis, skewMicros, BirthMark.NOBODY);
  }

  /** The same rules for a client of this name; see {@link BirthMark#asker}. */
  public TrustRules askedBy(String asker) {
    return new TrustRules(nodes, guarded, abstentionMillis, skewMicros, asker);
  }

  /** What the node may do, and why. */
  public Verdict judge(NodeAudit audit, Surroundings around) {
    String misconfiguration = misconfiguration(audit, around);
    if (misconfiguration != null) {
      return Verdict.refused(misconfiguration);
    }
    if (audit.birth().isEmpty()) {
      return renew(audit, around);
    }
    BirthMark mark = BirthMark.parse(audit.birth());
    if (mark == null) {
      return Verdict.refused(BirthMark.UNREADABLE);
    }
    // A mark may be ahead a little because the clock was misread, and the clock set back a little.
    boolean fromTheFuture =
        mark.firstSeenMillis() - audit.nodeMillis() > ceilMillis(skewMicros) + misread(around);
    return !mark.isOf(audit) || fromTheFuture ? renew(audit, around) : judge(audit, mark, around);
  }

  /** What a person has to mend before the node can take part; null if there is nothing. */
  private @Nullable String misconfiguration(NodeAudit audit, Surroundings around) {
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
    if (around.byMedian() && distanceMicros(audit, around) > allowedMicros(around)) {
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
    return null;
  }

  private static long distanceMicros(NodeAudit audit, Surroundings around) {
    return Math.abs(audit.nodeMicros() - around.clockMicros());
  }

  private static String seconds(long micros) {
    return micros / 1_000_000 + "." + micros / 100_000 % 10 + "s";
  }

  private long allowedMicros(Surroundings around) {
    return skewMicros + around.uncertaintyMicros();
  }

  /** The node has no past that could be relied upon: its data counts as first seen now. */
  private Verdict renew(NodeAudit audit, Surroundings around) {
    BirthMark mark =
        new BirthMark(
            audit.runId(),
            audit.replId(),
            BirthMark.NOW,
            false,
            needed(around),
            nodes,
            guarded,
            asker(around));
    if (!guarded) {
      return Verdict.votes("", new Renewal(audit.birth(), mark));
    }
    OptionalLong beyondMicros = around.beyondSkewMicros();
    if (beyondMicros.isEmpty()) {
      // The age of the mark would be wrong by as much as the clock is.
      return Verdict.abstains(
          -1,
          "its data is new, and whether its clock is right cannot be told before a quorum of nodes"
              + " tells the same time",
          null);
    }
    long aheadMillis = ceilMillis(beyondMicros.getAsLong());
    return Verdict.abstains(
        mark.abstentionMillis(),
        newData(mark.abstentionMillis(), around, audit.birth().isEmpty()),
        new Renewal(audit.birth(), mark, aheadMillis));
  }

  private Verdict judge(NodeAudit audit, BirthMark mark, Surroundings around) {
    if (mark.guarded() != guarded) {
      return Verdict.refused(
          "other clients use it with restartGuard("
              + mark.guarded()
              + "): use the same setting on every client"
              + RESET);
    }
    if (mark.nodes() != nodes) {
      return Verdict.refused(
          "other clients use it as one of "
              + mark.nodes()
              + " nodes, this one as one of "
              + nodes
              + ": list the same nodes on every client"
              + RESET);
    }
    Renewal longer =
        mark.abstentionMillis() >= abstentionMillis
            ? null
            : new Renewal(audit.birth(), mark.abstaining(abstentionMillis, client));
    if (!guarded) {
      return Verdict.votes("", longer);
    }
    long ageMillis = audit.nodeMillis() - mark.firstSeenMillis();
    long leftMillis = needed(around) + misread(around) - ageMillis;
    if (!mark.isAdopted() && leftMillis > 0) {
      return Verdict.abstains(leftMillis, newData(leftMillis, around, true), longer);
    }
    return longer == null
        ? Verdict.votes(audit.birth(), null)
        : Verdict.abstains(0, "its birth mark is being written", longer);
  }

  private long needed(Surroundings around) {
    return Math.max(abstentionMillis, around.abstentionMillis());
  }

  /** The client that asks for the longest abstention. */
  private String asker(Surroundings around) {
    BirthMark longest = around.longest();
    return longest != null && longest.abstentionMillis() > abstentionMillis
        ? longest.asker()
        : client;
  }

  /** The clock may be off by so much more than the skew without having been refused for it. */
  private static long misread(Surroundings around) {
    return ceilMillis(2 * around.uncertaintyMicros());
  }

  private static long ceilMillis(long micros) {
    return (micros + 999) / 1_000;
  }

  private String newData(long leftMillis, Surroundings around, boolean mayBeBrandNew) {
    String longest =
        around.abstentionMillis() > abstentionMillis
            ? ", because client "
                + asker(around)
                + " asked for "
                + around.abstentionMillis() / 1_000
                + "s"
            : "";
    String adopt =
        mayBeBrandNew && !around.othersInUse()
            ? ", and brand-new masters can be adopted, all at once"
            : "";
    return "its data is new; it votes in " + (leftMillis + 999) / 1_000 + "s" + longest + adopt;
  }

  /** What is allowed, but worth a word in the log; null if there is nothing. */
  public static @Nullable String warning(NodeAudit audit) {
    return audit.replicas() == 0
        ? null
        : "it has "
            + audit.replicas()
            + " connected replicas: never let one of them take over its address, a promoted"
            + " replica may lack locks that were granted";
  }
}
