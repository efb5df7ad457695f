package io.redlock.jedis.trust;

import io.redlock.jedis.trust.TrustRules.Surroundings;
import io.redlock.spi.Ticker;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * What the lanes of one lock service know of each other's nodes: clocks, identities, and how long a
 * node without a past has to abstain. Thread-safe.
 */
public final class Peers {

  private final long skewMicros;
  private final @Nullable Heard[] heard; // guarded by this; null: not connected
  private final boolean[] accepted; // guarded by this; connected, and not refused
  private final List<Runnable> whenQuorum = new ArrayList<>(); // guarded by this
  private final boolean[] inUse; // guarded by this; clients may rely on it already
  private final @Nullable BirthMark[] marks; // guarded by this; as they were last heard of
  private boolean quorum; // guarded by this; stays true

  /** What a connected node said last. The offset is that of its clock to the monotonic one. */
  private record Heard(
      String name, String runId, long offsetMicros, long uncertaintyMicros, long wallAheadMicros) {

    long distanceMicros(Heard other) {
      return Math.abs(offsetMicros - other.offsetMicros);
    }

    /** By how much the distance may have been misread. */
    long misreadMicros(Heard other) {
      return this == other ? 0 : uncertaintyMicros + other.uncertaintyMicros;
    }
  }

  /**
   * @param nodes how many nodes the deployment has
   * @param skewMicros how far the clocks of two nodes may lie apart
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
   * Takes note of an audit that was asked for between two readings of the monotonic clock.
   *
   * @return what is known at that moment, the audit included
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

  /** The mark that asks for the longest abstention; null if there is none. */
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

  /** Another connected node that is the same process: whoever comes second is not counted. */
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
   * What was heard before this machine slept, or before its own clock was set, no longer says what
   * time it is on a node, and does not count.
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
   * By how much the clock may lie further than the skew from those of a quorum, itself among them;
   * empty if there is no quorum that tells this time, as far as can be seen.
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
   * Takes note of what was made of an audit. Nobody knows what time it is on the nodes, nor for how
   * long they have to abstain, before a quorum of them has been accepted at the same time, once:
   * until then none votes.
   *
   * @return whether that is so by now
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

  /** Why no node votes yet. */
  synchronized String tooFew() {
    return "only "
        + count()
        + " of "
        + heard.length
        + " nodes can be used so far, and none votes before "
        + needed()
        + " can";
  }

  /** Runs the action once there is a quorum, never if there is one already. */
  synchronized void whenQuorum(Runnable action) {
    if (!quorum) {
      whenQuorum.add(action);
    }
  }

  /** The node's connection has ended: who answers the next one is not known. */
  synchronized void left(int node) {
    heard[node] = null;
    accepted[node] = false;
  }
}
