package io.redlock.jedis.trust;

import io.redlock.jedis.trust.NodeAudit.Refresh;
import java.time.Duration;
import java.util.Optional;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * The rules that decide what a node may do, from its audit and from what is known about the others.
 * A pure function: no clock, no I/O, no memory.
 *
 * <p>A node that lost its data forgets its grants, and could grant the same locks again. Its birth
 * mark shows the loss: the mark is gone, or comes from another process or replication history. Such
 * a node gets a new mark and abstains until every earlier lease has ended. That takes the longest
 * ttl, its drift, and twice the skew: the node's own clock gives the age of the mark, and may have
 * been off by one skew either way.
 *
 * @param membership the clients of which this is one
 * @param guarded true if the birth mark counts
 * @param abstentionMillis how long a node that was reset must abstain for this client; zero for an
 *     observer, which writes no marks and goes by theirs
 * @param skewMicros the allowed difference between the clocks of two nodes
 * @param client the name of this client in the marks that it writes
 */
public record TrustRules(
    Membership membership, boolean guarded, long abstentionMillis, long skewMicros, String client) {

  static final String UNPREPARED =
      "no change of masters is prepared on it: first run redlock resize prepare";

  static final String UNMARKED_IN_A_CHANGE =
      "its data is new, and a change of masters is under way: run the last redlock resize command"
          + " again";

  private static final String RESET =
      "; to change it, stop all clients and delete " + BirthMark.KEY + " on every node";

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
   * @param longest the mark, of any node, with the longest abstention; null if there is none
   * @param othersInUse true if another node is in use already
   * @param change the change in which this client moves; empty if unknown, or if it does not move
   * @param othersChanging true if another node shows that a change of masters is under way
   * @param sameServerAs another node that is the same process; empty if there is none
   */
  public record Surroundings(
      long clockMicros,
      boolean byMedian,
      OptionalLong beyondSkewMicros,
      long uncertaintyMicros,
      @Nullable BirthMark longest,
      boolean othersInUse,
      Optional<String> change,
      boolean othersChanging,
      String sameServerAs) {

    /** Creates the knowledge of a client that sees no change of masters. */
    public Surroundings(
        long clockMicros,
        boolean byMedian,
        OptionalLong beyondSkewMicros,
        long uncertaintyMicros,
        @Nullable BirthMark longest,
        boolean othersInUse,
        String sameServerAs) {
      this(
          clockMicros,
          byMedian,
          beyondSkewMicros,
          uncertaintyMicros,
          longest,
          othersInUse,
          Optional.empty(),
          false,
          sameServerAs);
    }

    /** Returns the same, except that other nodes are in use or not. */
    public Surroundings counting(boolean others) {
      return new Surroundings(
          clockMicros,
          byMedian,
          beyondSkewMicros,
          uncertaintyMicros,
          longest,
          others,
          change,
          othersChanging,
          sameServerAs);
    }

    private long abstentionMillis() {
      return longest == null ? 0 : longest.abstentionMillis();
    }
  }

  /**
   * Returns the rules for these settings. An invalid drift is reported elsewhere and only kept
   * within bounds here.
   */
  public static TrustRules of(
      Membership membership,
      boolean guarded,
      Duration maxTtl,
      double driftFactor,
      long skewMicros) {
    long ttlMillis = maxTtl.plusNanos(999_999).toMillis();
    long driftMillis = (long) Math.ceil(ttlMillis * Math.max(0, Math.min(driftFactor, 0.5))) + 2;
    long abstentionMillis = ttlMillis + driftMillis + 2 * ceilMillis(skewMicros);
    return new TrustRules(membership, guarded, abstentionMillis, skewMicros, BirthMark.NOBODY);
  }

  /**
   * Returns the rules of an observer.
   *
   * @param guarded true if a node without a birth mark abstains; a mark says it itself
   */
  public static TrustRules observing(Membership membership, boolean guarded, long skewMicros) {
    return new TrustRules(membership, guarded, 0, skewMicros, BirthMark.NOBODY);
  }

  /** Returns true for an observer. */
  boolean observes() {
    return abstentionMillis == 0;
  }

  /** Returns the same rules for a client of this name; see {@link BirthMark#asker}. */
  public TrustRules askedBy(String asker) {
    return new TrustRules(membership, guarded, abstentionMillis, skewMicros, asker);
  }

  /** Returns what the node may do, and why. */
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

  /**
   * Returns what an operator has to fix before the node can take part; null if there is nothing.
   */
  public @Nullable String misconfiguration(NodeAudit audit, Surroundings around) {
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

  /** Judges a node without a valid mark: its data counts as first seen now. */
  private Verdict renew(NodeAudit audit, Surroundings around) {
    if (membership.isJoint() && around.change().isEmpty()) {
      return Verdict.refused(UNPREPARED);
    }
    if (!membership.isJoint() && around.othersChanging()) {
      // It cannot know which clients the node may serve, and must not undo a step of the change.
      return Verdict.abstains(-1, UNMARKED_IN_A_CHANGE, null);
    }
    BirthMark mark =
        new BirthMark(
            audit.runId(),
            audit.replId(),
            BirthMark.NOW,
            false,
            needed(around),
            Served.of(membership.label(around.change().orElse(""))),
            guarded,
            asker(around));
    if (!guarded) {
      return Verdict.votes("", new Refresh(audit.birth(), mark));
    }
    OptionalLong beyondMicros = around.beyondSkewMicros();
    if (beyondMicros.isEmpty()) {
      // The age of the mark would be wrong by as much as the clock is.
      return Verdict.abstains(
          -1,
          "its data is new, and its clock cannot be checked until the clocks of a quorum of nodes"
              + " agree",
          null);
    }
    long aheadMillis = ceilMillis(beyondMicros.getAsLong());
    return Verdict.abstains(
        mark.abstentionMillis(),
        newData(mark.abstentionMillis(), around, audit.birth().isEmpty()),
        new Refresh(audit.birth(), mark, aheadMillis));
  }

  private Verdict judge(NodeAudit audit, BirthMark mark, Surroundings around) {
    if (mark.guarded() != guarded && observes()) {
      return observing(membership, mark.guarded(), skewMicros).judge(audit, mark, around);
    }
    if (mark.guarded() != guarded) {
      return Verdict.refused(
          "other clients use it with restartGuard("
              + mark.guarded()
              + "): use the same setting on every client"
              + RESET);
    }
    if (!mark.serves().includes(membership.label(around.change().orElse("")))) {
      return Verdict.refused(unserved(mark.serves()));
    }
    BirthMark wanted =
        mark.abstentionMillis() >= abstentionMillis
            ? mark
            : mark.abstaining(abstentionMillis, client);
    Refresh longer =
        wanted.toString().equals(audit.birth()) ? null : new Refresh(audit.birth(), wanted);
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

  /** Returns why the node does not serve this client, and which step was skipped. */
  private String unserved(Served served) {
    int masters = membership.masters();
    if (served.isNobody()) {
      return "it has left this deployment: list the present masters";
    }
    if (membership.isJoint()) {
      if (served.change(membership).isPresent()) {
        return "it takes part in another change of masters than this client: restart the client";
      }
      if (served.includes(Membership.of(membership.future()).label(""))
          && membership.future() != masters) {
        return "the change to "
            + membership.future()
            + " masters is finished: list these as the nodes, and leave movingTo out";
      }
      return UNPREPARED;
    }
    boolean isLeft = served.isLeftByClientsOf(masters);
    if (isLeft || served.isAwaitingClientsOf(masters)) {
      return isLeft
          ? "its clients move from "
              + masters
              + " masters to others, which is committed: first run this client with movingTo"
          : "its clients move to "
              + masters
              + " masters, which is not committed: first run"
              + " redlock resize commit";
    }
    return "other clients use it as one of "
        + served.mastersOfClients()
        + " nodes, this one as one of "
        + masters
        + ": list the same nodes on every client; to change the masters, see redlock resize";
  }

  private long needed(Surroundings around) {
    return Math.max(abstentionMillis, around.abstentionMillis());
  }

  /** Returns the name of the client that needs the longest abstention. */
  private String asker(Surroundings around) {
    BirthMark longest = around.longest();
    return longest != null && longest.abstentionMillis() > abstentionMillis
        ? longest.asker()
        : client;
  }

  /** Returns by how much more than the skew the clock may be off without being refused for it. */
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
            ? "; brand-new masters can be adopted, all together"
            : "";
    return "its data is new; it votes in " + (leftMillis + 999) / 1_000 + "s" + longest + adopt;
  }

  /** Returns what is allowed but worth a warning; null if there is nothing. */
  public static @Nullable String warning(NodeAudit audit) {
    return audit.replicas() == 0
        ? null
        : "it has "
            + audit.replicas()
            + " connected replicas: never let one take over its address, because a promoted"
            + " replica may lack granted locks";
  }
}
