package io.redlock.jedis.membership;

import io.redlock.jedis.membership.Membership.Advice;
import io.redlock.jedis.membership.Membership.Node;
import io.redlock.jedis.membership.TrustRules.Surroundings;
import io.redlock.spi.Quorum;
import io.redlock.spi.Ticker;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.function.ToLongFunction;
import java.util.stream.IntStream;

/**
 * The knowledge that the lanes of one lock service share about their nodes: clocks, identities, and
 * how long a node that was reset abstains. Thread-safe.
 */
public final class Peers {

  private final Quorum nodes;
  private final List<Node> silent; // all of them
  private final Map<Integer, Heard> heard = new TreeMap<>(); // guarded by this; no twins
  private int accepted; // guarded by this; connected, and not refused, as bits
  private final Map<Integer, Runnable> whenTold = new TreeMap<>(); // guarded by this
  private boolean quorum; // guarded by this; stays true
  private Optional<Agreement> agreed = Optional.empty(); // guarded by this; seen last
  private String label = ""; // guarded by this; of these clients in marks, empty until known

  /** The last audit of a connected node. The offset is its clock minus the monotonic clock. */
  private record Heard(
      Node node,
      long auditedNanos,
      long offsetMicros,
      long uncertaintyMicros,
      long wallAheadMicros) {

    int bit() {
      return 1 << node.index();
    }

    long distanceMicros(Heard other) {
      return Math.abs(offsetMicros - other.offsetMicros);
    }

    /** Returns the largest error of the distance. */
    long misreadMicros(Heard other) {
      return this == other ? 0 : uncertaintyMicros + other.uncertaintyMicros;
    }
  }

  /**
   * @param names the nodes
   * @param quorum those that are enough
   */
  public Peers(List<String> names, Quorum quorum) {
    this.silent =
        IntStream.range(0, names.size()).mapToObj(i -> Node.of(i, names.get(i), null)).toList();
    this.nodes = quorum;
  }

  /** Returns the name of these clients in marks; empty if none has shown it yet. */
  synchronized String label() {
    return label;
  }

  /**
   * Takes note of an audit that was made between two readings of the monotonic clock.
   *
   * @param rules the settings of this client
   * @return all that is known now, including this audit
   */
  public synchronized Surroundings hear(
      Node node, long beforeNanos, long afterNanos, Ticker ticker, TrustRules rules) {
    long middleMicros = (beforeNanos + (afterNanos - beforeNanos) / 2) / 1_000;
    long wallAheadMicros = ticker.wallMicros() - ticker.monotonicNanos() / 1_000;
    NodeAudit audit = node.answer();
    String twin = twin(node.index(), audit.runId());
    long uncertaintyMicros = (afterNanos - beforeNanos) / 2_000;
    Heard self =
        new Heard(
            node,
            afterNanos,
            audit.nodeMicros() - middleMicros,
            uncertaintyMicros,
            wallAheadMicros);
    heard.compute(node.index(), (key, before) -> twin.isEmpty() ? self : null);
    Membership membership = membership(rules, afterNanos);
    Advice advice = membership.advice(node.index());
    if (advice instanceof Advice.Keep) {
      agreed = Optional.of(node.shown().agreement());
    }
    label = membership.label().isEmpty() ? label : membership.label();
    List<Heard> fresh = fresh(wallAheadMicros, rules.skewMicros());
    boolean byMedian = nodes.isReachedBy(fresh.stream().mapToInt(Heard::bit).sum());
    Heard median = byMedian ? median(fresh) : self;
    return new Surroundings(
        middleMicros + (byMedian ? median.offsetMicros : wallAheadMicros),
        byMedian,
        beyondSkewMicros(self, fresh, rules.skewMicros()),
        median == self ? uncertaintyMicros : self.misreadMicros(median),
        advice,
        twin);
  }

  private Membership membership(TrustRules rules, long nowNanos) {
    List<Node> all = new ArrayList<>(silent);
    heard.values().stream() // if it is old, the node may show another mark by now
        .filter(each -> nowNanos - each.auditedNanos <= NodeAudit.FRESH_NANOS)
        .forEach(each -> all.set(each.node.index(), each.node));
    boolean isChosen = quorum || !nodes.isJoint(); // before, most nodes say in which change it is
    return new Membership(all, nodes, rules, isChosen ? label : "", agreed);
  }

  /** Returns the name of another node that is the same process; the second one does not count. */
  private String twin(int node, String runId) {
    return heard.values().stream()
        .filter(each -> each.node.index() != node && each.node.answer().runId().equals(runId))
        .findFirst()
        .map(each -> each.node.name())
        .orElse("");
  }

  /**
   * Returns the audits since this machine last slept or its clock was last set; older ones no
   * longer give the time of a node.
   */
  private List<Heard> fresh(long wallAheadMicros, long skewMicros) {
    return heard.values().stream()
        .filter(each -> Math.abs(each.wallAheadMicros - wallAheadMicros) <= skewMicros)
        .toList();
  }

  /**
   * Returns by how much more than the skew the clock may differ from the clocks of a quorum that
   * includes it; empty if no quorum agrees with it.
   */
  private OptionalLong beyondSkewMicros(Heard self, List<Heard> fresh, long skewMicros) {
    ToLongFunction<Heard> beyond =
        each -> self.distanceMicros(each) + self.misreadMicros(each) - skewMicros;
    List<Heard> agreeing =
        fresh.stream()
            .filter(each -> self.distanceMicros(each) <= skewMicros + self.misreadMicros(each))
            .sorted(Comparator.comparingLong(beyond))
            .toList();
    int set = 0;
    for (Heard each : agreeing) {
      set |= each.bit();
      if (nodes.isReachedBy(set)) {
        return OptionalLong.of(Math.max(0, beyond.applyAsLong(each)));
      }
    }
    return OptionalLong.empty();
  }

  private static Heard median(List<Heard> fresh) {
    List<Heard> byOffset =
        fresh.stream().sorted(Comparator.comparingLong(Heard::offsetMicros)).toList();
    return byOffset.get((byOffset.size() - 1) / 2);
  }

  /**
   * Takes note of a verdict. No node votes until a quorum of nodes has been accepted at the same
   * time, because their time and their abstention are unknown. Until then each node that is
   * accepted is told to the others: a client that lists the masters under other names than the set
   * was founded with knows its set by all its members only.
   *
   * @return true if there is or was such a quorum
   */
  boolean judged(int node, boolean isAccepted) {
    Map<Integer, Runnable> due = new TreeMap<>();
    boolean isReached;
    synchronized (this) {
      if (!quorum && isAccepted && (accepted & 1 << node) == 0) {
        due.putAll(whenTold);
      }
      accepted = isAccepted ? accepted | 1 << node : accepted & ~(1 << node);
      quorum |= nodes.isReachedBy(accepted);
      isReached = quorum;
    }
    if (!isReached) {
      due.remove(node);
    }
    due.values().forEach(Runnable::run);
    return isReached;
  }

  synchronized boolean hasQuorum() {
    return quorum;
  }

  /** Returns why no node votes yet. */
  synchronized String tooFew() {
    return "only "
        + Integer.bitCount(accepted)
        + " of "
        + silent.size()
        + " nodes can be used so far; none votes until "
        + (nodes.isJoint() ? nodes.toString() : nodes.least())
        + " can";
  }

  /** Runs the action whenever another node was accepted, until there is a quorum. */
  synchronized void whenTold(int node, Runnable action) {
    whenTold.put(node, action);
  }

  /** Takes note that the node's connection has ended: another server may answer the next one. */
  synchronized void left(int node) {
    heard.remove(node);
    accepted &= ~(1 << node);
  }
}
