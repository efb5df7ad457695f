package io.redlock.jedis.trust;

import io.redlock.jedis.trust.TrustRules.Surroundings;
import io.redlock.spi.Ticker;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * The knowledge that the lanes of one lock service share about their nodes: clocks, identities, and
 * how long a node that was reset abstains. Thread-safe.
 */
public final class Peers {

  private final long skewMicros;
  private final @Nullable Heard[] heard; // guarded by this; null: not connected
  private final boolean[] accepted; // guarded by this; connected, and not refused
  private final List<Runnable> whenQuorum = new ArrayList<>(); // guarded by this
  private final boolean[] inUse; // guarded by this; clients may rely on it already
  private final @Nullable BirthMark[] marks; // guarded by this; as last seen
  private boolean quorum; // guarded by this; stays true

  /** The last audit of a connected node. The offset is its clock minus the monotonic clock. */
  private record Heard(
      String name, String runId, long offsetMicros, long uncertaintyMicros, long wallAheadMicros) {

    long distanceMicros(Heard other) {
      return Math.abs(offsetMicros - other.offsetMicros);
    }

    /** Returns the largest error of the distance. */
    long misreadMicros(Heard other) {
      return this == other ? 0 : uncertaintyMicros + other.uncertaintyMicros;
    }
  }

  /**
   * @param nodes the number of nodes of the deployment
   * @param skewMicros the allowed difference between the clocks of two nodes
   */
  public Peers(int nodes, long skewMicros) {
    this.skewMicros = skewMicros;
    this.heard = new Heard[nodes];
    this.accepted = new boolean[nodes];
    this.marks = new BirthMark[nodes];
    this.inUse = new boolean[nodes];
  }

  private int needed() {
    return heard.length / 2 + 1;
  }

  /**
   * Takes note of an audit that was made between two readings of the monotonic clock.
   *
   * @return all that is known now, including this audit
   */
  public synchronized Surroundings hear(
      int node, String name, NodeAudit audit, long beforeNanos, long afterNanos, Ticker ticker) {
    long middleMicros = (beforeNanos + (afterNanos - beforeNanos) / 2) / 1_000;
    long wallAheadMicros = ticker.wallMicros() - ticker.monotonicNanos() / 1_000;
    BirthMark mark = BirthMark.parse(audit.birth());
    if (mark != null) {
      marks[node] = mark;
      inUse[node] = mark.isOf(audit) && mark.isSettled(audit);
    }
    String twin = twin(node, audit.runId());
    long uncertaintyMicros = (afterNanos - beforeNanos) / 2_000;
    Heard self =
        new Heard(
            name,
            audit.runId(),
            audit.nodeMicros() - middleMicros,
            uncertaintyMicros,
            wallAheadMicros);
    heard[node] = twin.isEmpty() ? self : null;
    List<Heard> fresh = fresh(wallAheadMicros);
    boolean byMedian = fresh.size() >= needed();
    return new Surroundings(
        middleMicros + (byMedian ? medianOffsetMicros(fresh) : wallAheadMicros),
        byMedian,
        beyondSkewMicros(self, fresh),
        uncertaintyMicros,
        longest(),
        isAnyOtherInUse(node),
        twin);
  }

  /** Returns the mark with the longest abstention; null if there is none. */
  private @Nullable BirthMark longest() {
    BirthMark longest = null;
    for (BirthMark mark : marks) {
      boolean isLonger =
          mark != null && (longest == null || mark.abstentionMillis() > longest.abstentionMillis());
      longest = isLonger ? mark : longest;
    }
    return longest;
  }

  private boolean isAnyOtherInUse(int node) {
    for (int other = 0; other < inUse.length; other++) {
      if (other != node && inUse[other]) {
        return true;
      }
    }
    return false;
  }

  /** Returns the name of another node that is the same process; the second one does not count. */
  private String twin(int node, String runId) {
    for (int other = 0; other < heard.length; other++) {
      Heard known = heard[other];
      if (other != node && known != null && known.runId.equals(runId)) {
        return known.name;
      }
    }
    return "";
  }

  /**
   * Returns the audits since this machine last slept or its clock was last set; older ones no
   * longer give the time of a node.
   */
  private List<Heard> fresh(long wallAheadMicros) {
    List<Heard> fresh = new ArrayList<>();
    for (Heard each : heard) {
      if (each != null && isFresh(each, wallAheadMicros)) {
        fresh.add(each);
      }
    }
    return fresh;
  }

  /**
   * Returns by how much more than the skew the clock may differ from the clocks of a quorum that
   * includes it; empty if no quorum agrees with it.
   */
  private OptionalLong beyondSkewMicros(Heard self, List<Heard> fresh) {
    long[] beyond =
        fresh.stream()
            .filter(each -> self.distanceMicros(each) <= skewMicros + self.misreadMicros(each))
            .mapToLong(each -> self.distanceMicros(each) + self.misreadMicros(each) - skewMicros)
            .sorted()
            .toArray();
    return beyond.length < needed()
        ? OptionalLong.empty()
        : OptionalLong.of(Math.max(0, beyond[needed() - 1]));
  }

  private static long medianOffsetMicros(List<Heard> fresh) {
    long[] offsets = fresh.stream().mapToLong(Heard::offsetMicros).sorted().toArray();
    return offsets[(offsets.length - 1) / 2];
  }

  private boolean isFresh(Heard each, long wallAheadMicros) {
    return Math.abs(each.wallAheadMicros - wallAheadMicros) <= skewMicros;
  }

  /**
   * Takes note of a verdict. Until a quorum of nodes has been accepted at the same time, their time
   * and their abstention are unknown, so none votes.
   *
   * @return true if there is or was such a quorum
   */
  boolean judged(int node, boolean isAccepted) {
    List<Runnable> due;
    synchronized (this) {
      accepted[node] = isAccepted;
      if (quorum || count() < needed()) {
        return quorum;
      }
      quorum = true;
      due = List.copyOf(whenQuorum);
      whenQuorum.clear();
    }
    due.forEach(Runnable::run);
    return true;
  }

  private int count() {
    int count = 0;
    for (boolean each : accepted) {
      count += each ? 1 : 0;
    }
    return count;
  }

  synchronized boolean hasQuorum() {
    return quorum;
  }

  /** Returns why no node votes yet. */
  synchronized String tooFew() {
    return "only "
        + count()
        + " of "
        + heard.length
        + " nodes can be used so far; none votes until "
        + needed()
        + " can";
  }

  /** Runs the action once there is a quorum, never if there is one already. */
  synchronized void whenQuorum(Runnable action) {
    if (!quorum) {
      whenQuorum.add(action);
    }
  }

  /** Takes note that the node's connection has ended: another server may answer the next one. */
  synchronized void left(int node) {
    heard[node] = null;
    accepted[node] = false;
  }
}
