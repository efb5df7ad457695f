package io.redlock.explorer;

import io.redlock.jedis.trust.Agreement;
import io.redlock.jedis.trust.BirthMark;
import io.redlock.jedis.trust.NodeAudit;
import io.redlock.jedis.trust.Served;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * What a node keeps: the text of its mark, and whether it is that of its data. Nodes in the same
 * state are equal: the mark has placeholders for the process and the history.
 *
 * @param history how often the replication history has changed
 * @param mark empty if there is none
 */
record MarkedNode(Kind kind, int history, String mark) {

  /** Whose data a mark is. */
  enum Kind {
    NONE,
    VALID,
    /** That of another process. */
    VOID,
    /** Keys were evicted since. */
    EVICTED
  }

  static final MarkedNode EMPTY = new MarkedNode(Kind.NONE, 0, "");

  private static final String NOBODYS = " r h ";

  /** When every node is audited: long after every mark was written. */
  private static final long NOW_MICROS = 1_000_000_000_000_000L;

  private static MarkedNode of(
      long firstSeenMillis, boolean isFounded, Served serves, Agreement agreement) {
    BirthMark mark =
        new BirthMark("r", "h", firstSeenMillis, false, isFounded, 0, serves, agreement);
    return new MarkedNode(Kind.VALID, 0, mark.toString());
  }

  /** A member of a founded set. */
  static MarkedNode of(Served serves, Agreement agreement) {
    return of(0, true, serves, agreement);
  }

  /** A member of a set that is being founded. */
  static MarkedNode founding(Served serves, Agreement agreement) {
    return of(0, false, serves, agreement);
  }

  /** A member of so many, by a version of the library that knew no ids. */
  static MarkedNode earlier(int members) {
    return new MarkedNode(Kind.VALID, 0, "3 r h 0 seen 102 |" + members + "| guarded");
  }

  MarkedNode isVoid() {
    return new MarkedNode(Kind.VOID, history, mark);
  }

  /** Returns it as it is after the write of a mark. */
  MarkedNode marked(BirthMark written) {
    long firstSeenMillis = Math.max(0, written.firstSeenMillis()); // 0: now
    MarkedNode node =
        of(firstSeenMillis, written.isFounded(), written.serves(), written.agreement());
    return new MarkedNode(Kind.VALID, history, node.mark);
  }

  /** Returns the audit of a node of this number in this state. */
  NodeAudit audit(int node) {
    String process = "r" + node;
    String data = "h" + node + "x" + history;
    String owner = " " + (kind == Kind.VOID ? "x" : process) + " " + data + " ";
    return new NodeAudit(
        "7.0.0",
        process,
        "master",
        "standalone",
        data,
        0,
        0,
        "noeviction",
        kind == Kind.EVICTED ? 1 : 0,
        NOW_MICROS,
        mark.replace(NOBODYS, owner));
  }

  /** Returns an audit with another mark. */
  static NodeAudit with(NodeAudit audit, String birth) {
    return new NodeAudit(
        audit.version(),
        audit.runId(),
        audit.role(),
        audit.mode(),
        audit.replId(),
        audit.replicas(),
        audit.maxMemoryBytes(),
        audit.evictionPolicy(),
        audit.evictedKeys(),
        audit.nodeMicros(),
        birth);
  }

  /** Returns the mark; fails if there is none that can be read. */
  BirthMark parsed() {
    return Objects.requireNonNull(BirthMark.parse(mark), mark);
  }

  // What the JDK makes of records is slow without C2.

  @Override
  public boolean equals(@Nullable Object other) {
    return this == other
        || other instanceof MarkedNode node
            && kind == node.kind
            && history == node.history
            && mark.equals(node.mark);
  }

  @Override
  public int hashCode() {
    return 31 * (31 * mark.hashCode() + history) + kind.ordinal();
  }

  @Override
  public String toString() {
    return kind == Kind.NONE ? "empty" : kind + " " + mark.replaceFirst(NOBODYS, " ");
  }
}
