package io.redlock.jedis.membership;

import io.redlock.jedis.membership.Membership.Node;
import io.redlock.jedis.membership.Verdict.Stand;
import io.redlock.spi.BackgroundLog;
import io.redlock.spi.Ticker;
import io.redlock.text.Brief;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The judge of one node's audits. It applies the rules to each audit and to what the peers know,
 * and detects when the node may have lost earlier grants. Guarded by the lane.
 */
public final class NodeTrust {

  private static final BackgroundLog LOG = BackgroundLog.of("io.redlock.jedis.NodeLane");

  private static final int MOST_PROCESSES = 9;

  /** The time for which an observer remembers that servers alternate. */
  private static final long SHOWN_MILLIS = 60_000;

  private final String node;
  private final int index;
  private final Peers peers;
  private final TrustRules rules;
  private final ClockStepDetector clock;

  private final List<String> processes = new ArrayList<>(); // that answered, the last one first

  private @Nullable BirthMark past; // the last mark, if it was valid
  private long pastMillis; // when it was shown, by the node's clock
  private @Nullable Sound sound; // of this connection
  private String warned = "";
  private boolean alternates;
  private long alternatedNanos;

  /** The last audit that showed a valid mark, and what it allowed. */
  private record Sound(NodeAudit audit, BirthMark mark, Verdict verdict, long sinceNanos) {}

  /**
   * @param index the node's place among its peers
   * @param driftPartsPerMillion the part by which a node's clock may outrun this machine's
   */
  public NodeTrust(
      String node, int index, Peers peers, TrustRules rules, long driftPartsPerMillion) {
    this.node = node;
    this.index = index;
    this.peers = peers;
    this.rules = rules;
    this.clock = new ClockStepDetector(driftPartsPerMillion);
  }

  /**
   * Judges an audit that was made between two readings of the monotonic clock.
   *
   * @param resets takes the reason if the node may have lost earlier grants
   */
  public Verdict judge(
      NodeAudit audit, long beforeNanos, long afterNanos, Ticker ticker, Consumer<String> resets) {
    Sound last = sound;
    if (last != null
        && afterNanos - last.sinceNanos <= NodeAudit.FRESH_NANOS
        && !rules.observes()) {
      NodeAudit.Refresh carrying = audit.carrying(last.audit, last.mark); // N9
      if (carrying != null) {
        Verdict was = last.verdict;
        return new Verdict(
            was.stand(), was.reason(), was.remainingMillis(), was.birth(), carrying, false);
      }
    }
    Node shown = Node.of(index, node, audit);
    Verdict verdict = rules.judge(shown, peers.hear(shown, beforeNanos, afterNanos, ticker, rules));
    if (isAlternating(audit, afterNanos)) {
      verdict = Verdict.refused(Verdict.alternating(audit.runId(), processes.get(1)));
    }
    boolean quorum = peers.judged(index, verdict.stand() != Stand.REFUSED);
    if (!quorum && verdict.stand() == Stand.VOTES) {
      verdict = Verdict.abstains(-1, peers.tooFew(), verdict.refresh());
    }
    String step = step(audit, beforeNanos, afterNanos, ticker);
    BirthMark mark = shown.valid();
    String loss = loss(audit, mark);
    loss = loss.isEmpty() ? step : loss;
    if (!loss.isEmpty()) {
      LOG.warn("node {} may have lost earlier grants: {}", node, loss);
      resets.accept(loss);
    }
    warn(audit);
    boolean isRefused = verdict.stand() == Stand.REFUSED;
    sound = mark == null || isRefused ? null : new Sound(audit, mark, verdict, beforeNanos);
    return rules.observes() ? verdict.unwritten() : verdict;
  }

  /** Returns how the node lost its data since the last audit; empty if it did not. */
  private String loss(NodeAudit audit, @Nullable BirthMark now) {
    BirthMark before = past;
    long auditedMillis = pastMillis;
    past = now;
    pastMillis = audit.nodeMillis();
    if (before == null || now != null && isKept(before, auditedMillis, now)) {
      return "";
    }
    if (!before.runId().equals(audit.runId())) {
      return "it was restarted or replaced by another server";
    }
    if (before.evictedKeys() < audit.evictedKeys()) {
      return "it has evicted keys";
    }
    return before.replId().equals(audit.replId())
        ? "its data, or its birth mark, was deleted"
        : "its replication history changed: it was promoted or resynchronised, or got a replica";
  }

  /**
   * A carried mark keeps its date, and an operator who changes the terms moves it by a millisecond.
   * Data that is new since the last audit is dated after it, whatever the terms.
   */
  private static boolean isKept(BirthMark before, long auditedMillis, BirthMark now) {
    return before.runId().equals(now.runId())
        && (before.firstSeenMillis() == now.firstSeenMillis()
            || before.sets().equals(now.sets())
                && !before.agreement().equals(now.agreement())
                && now.firstSeenMillis() < auditedMillis);
  }

  /**
   * Returns true if a server came back that another one had replaced at this address, until every
   * lease that either granted has ended. The process of a server never comes back.
   */
  private boolean isAlternating(NodeAudit audit, long nowNanos) {
    String runId = audit.runId();
    if (processes.indexOf(runId) != 0) {
      if (processes.remove(runId)) {
        alternates = true;
        alternatedNanos = nowNanos;
      }
      processes.add(0, runId);
      if (processes.size() > MOST_PROCESSES) {
        processes.remove(MOST_PROCESSES);
      }
    }
    alternates &=
        nowNanos - alternatedNanos
            < TimeUnit.MILLISECONDS.toNanos(
                rules.observes() ? SHOWN_MILLIS : rules.terms().abstentionMillis());
    return alternates;
  }

  private String step(NodeAudit audit, long beforeNanos, long afterNanos, Ticker ticker) {
    long wallAheadMicros = ticker.wallMicros() - ticker.monotonicNanos() / 1_000;
    long micros = clock.stepMicros(audit.nodeMicros(), beforeNanos, afterNanos, wallAheadMicros);
    return micros == 0
        ? ""
        : "its clock stepped by " + Brief.exact(Duration.ofMillis(micros / 1_000));
  }

  private void warn(NodeAudit audit) {
    String warning = TrustRules.warning(audit);
    if (!warning.isEmpty() && !warning.equals(warned)) {
      LOG.warn("node {}: {}", node, warning);
    }
    warned = warning;
  }

  /** Returns the part of a mark without which a node grants and extends nothing; empty for none. */
  public String served() {
    String label = peers.label();
    return rules.terms().guarded() ? Served.part(label.isEmpty() ? "?" : label) : "";
  }

  /** Takes note that the connection has ended. */
  public void left() {
    sound = null;
    peers.left(index);
  }

  /** Returns true if there is or was a quorum of nodes. */
  public boolean hasQuorum() {
    return peers.hasQuorum();
  }

  /** Runs the action whenever another node was accepted, until there is a quorum. */
  public void whenTold(Runnable action) {
    peers.whenTold(index, action);
  }
}
