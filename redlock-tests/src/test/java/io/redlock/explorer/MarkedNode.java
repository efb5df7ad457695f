package io.redlock.explorer;

import io.redlock.jedis.membership.Agreement;
import io.redlock.jedis.membership.BirthMark;
import io.redlock.jedis.membership.MasterSet;
import io.redlock.jedis.membership.NodeAudit;
import io.redlock.jedis.membership.Served;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * What a node keeps: the text of its mark, and whether it is that of its data. Nodes in the same
 * state are equal: the mark has placeholders for the process and the history.
 *
 * @param history how often the replication history has changed
 * @param age how old a founding mark is
 * @param mark empty if there is none
 */
record MarkedNode(Kind kind, int history, String mark, Age age) {

  /** Whose data a mark is. */
  enum Kind {
    NONE,
    GONE,
    VALID,
    /** That of another process. */
    VOID,
    /** Keys were evicted since. */
    EVICTED
  }

  /** How old a founding mark is, by the clock of its node. */
  enum Age {
    /** A mark that was written before may still arrive elsewhere. */
    YOUNG,
    /** Ten seconds: each client that is connected has seen it. */
    SEEN,
    /** As old as the longest lease that it may have forgotten. */
    WAITED,
    /** So old that nobody goes on with it. */
    FORGOTTEN
  }

  static final MarkedNode EMPTY = new MarkedNode(Kind.NONE, 0, "");

  MarkedNode(Kind kind, int history, String mark) {
    this(kind, history, mark, Age.YOUNG);
  }

  private static final String NOBODYS = " r h ";

  private static final Map<String, BirthMark> READ = new ConcurrentHashMap<>();

  /** When every node is audited: long after every mark was written. */
  private static final long NOW_MICROS = 1_000_000_000_000_000L;

  /** A member of a founded set. */
  static MarkedNode of(Served serves, List<MasterSet> sets) {
    return of(serves, sets, MarkScope.RULES.terms());
  }

  static MarkedNode of(Served serves, List<MasterSet> sets, Agreement terms) {
    BirthMark mark = new BirthMark("r", "h", 0, false, true, 0, serves, sets, terms);
    return new MarkedNode(Kind.VALID, 0, mark.toString());
  }

  /** A member of a set that is being founded. */
  static MarkedNode founding(Served serves, List<MasterSet> sets) {
    return new MarkedNode(Kind.VALID, 0, of(serves, sets).mark.replace("founded", "founding"));
  }

  /** The mark of another version of the library. */
  static MarkedNode ofAnotherVersion() {
    return new MarkedNode(Kind.VALID, 0, "3 r h 0 seen 102");
  }

  boolean isFounding() {
    return kind == Kind.VALID && mark.contains(" founding ");
  }

  /** Returns the same with an older mark. */
  MarkedNode aged(Age older) {
    return new MarkedNode(kind, history, mark, older);
  }

  MarkedNode isVoid() {
    return new MarkedNode(Kind.VOID, history, mark);
  }

  /** Returns it as it is after the write of a mark by anybody who vouches for nothing. */
  MarkedNode marked(BirthMark written) {
    return marked(written, false);
  }

  /** Returns it as it is after the write of a mark. */
  MarkedNode marked(BirthMark written, boolean isAdopted) {
    BirthMark mark =
        new BirthMark(
            "r",
            "h",
            Math.max(0, written.firstSeenMillis()), // 0: now
            isAdopted,
            written.isFounded(),
            0,
            written.serves(),
            written.sets(),
            written.agreement());
    return new MarkedNode(Kind.VALID, history, mark.toString());
  }

  /** Returns the audit of a node of this number in this state; null if it does not answer. */
  @Nullable NodeAudit audit(int node) {
    if (kind == Kind.GONE) {
      return null;
    }
    long ageMillis =
        switch (age) {
          case YOUNG -> 0;
          case SEEN -> 10_000;
          case WAITED -> parsed().agreement().abstentionMillis();
          case FORGOTTEN -> NOW_MICROS / 1_000;
        };
    String process = "r" + node;
    String data = "h" + node + "x" + history;
    String owner = " " + (kind == Kind.VOID ? "x" : process) + " " + data + " ";
    return audit(
        process,
        data,
        kind == Kind.EVICTED ? 1 : 0,
        isFounding() ? 1_000 * ageMillis : NOW_MICROS,
        mark.replace(NOBODYS, owner));
  }

  /** Returns an audit with another mark. */
  static NodeAudit with(NodeAudit audit, String birth) {
    return audit(audit.runId(), audit.replId(), audit.evictedKeys(), audit.nodeMicros(), birth);
  }

  private static NodeAudit audit(
      String process, String data, long evicted, long nodeMicros, String birth) {
    return new NodeAudit(
        "7.0.0",
        process,
        "master",
        "standalone",
        data,
        true,
        0,
        0,
        0,
        "noeviction",
        evicted,
        nodeMicros,
        birth);
  }

  /** Returns the mark; null if there is none that can be read. Each text is read once. */
  @Nullable BirthMark birth() {
    return READ.computeIfAbsent(mark, BirthMark::parse);
  }

  /** Returns the mark; fails if there is none that can be read. */
  BirthMark parsed() {
    return Objects.requireNonNull(birth(), mark);
  }

  // What the JDK makes of records is slow without C2.

  @Override
  public boolean equals(@Nullable Object other) {
    return this == other
        || other instanceof MarkedNode node
            && kind == node.kind
            && history == node.history
            && age == node.age
            && mark.equals(node.mark);
  }

  @Override
  public int hashCode() {
    return 31 * (31 * mark.hashCode() + 4 * history + age.ordinal()) + kind.ordinal();
  }

  @Override
  public String toString() {
    return kind == Kind.NONE
        ? "empty"
        : kind == Kind.GONE
            ? "gone"
            : kind + " " + mark.replaceFirst(NOBODYS, " ") + (isFounding() ? " " + age : "");
  }
}
