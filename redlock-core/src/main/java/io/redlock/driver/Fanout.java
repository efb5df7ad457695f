package io.redlock.driver;

import io.redlock.Votes;
import io.redlock.protocol.Ballot;
import io.redlock.spi.LockNode;
import io.redlock.spi.LockNode.Pending;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReply.Kind;
import io.redlock.spi.NodeRequest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The driver of one round: sends its request to every node, feeds the answers to the round under
 * the claim's lock, and acts on the decision outside it, once. No decision is made before
 * everything has been handed over; no lock is held while nodes are called.
 */
abstract class Fanout implements LockNode.ReplyHandler {

  final Claim claim;
  final ServiceContext cluster;
  final long startNanos;
  final long startWallMicros;

  private final @Nullable Pending[] pending;
  private final @Nullable NodeReply[] replies; // guarded by claim
  private final long[] tookNanos; // guarded by claim
  private final FlightEvents.NodeCall @Nullable [] events;
  private boolean sent; // guarded by claim
  private volatile boolean decided; // written under claim
  private boolean timedOut; // guarded by claim
  private long decidedAfterNanos; // guarded by claim

  /** Reads both clocks: nothing has been sent yet. */
  Fanout(Claim claim) {
    this.claim = claim;
    this.cluster = claim.cluster;
    int nodes = cluster.nodes.size();
    this.pending = new Pending[nodes];
    this.replies = new NodeReply[nodes];
    this.tookNanos = new long[nodes];
    this.events = FlightEvents.calling(nodes);
    this.startNanos = cluster.ticker.monotonicNanos();
    this.startWallMicros = cluster.ticker.wallMicros();
  }

  /** Feeds an answer to the round. Called under the claim's lock. */
  abstract void record(int node, NodeReply reply);

  /** Tells the round that its time is up. Called under the claim's lock. */
  abstract void close();

  /** Asks the round, having read the clocks; true if it is decided. Under the claim's lock. */
  abstract boolean decide(long nowNanos, long nowWallMicros);

  /** Acts on the decision; called once, without locks. */
  abstract void act();

  /** Sends the request to every node. False if the claim has ended and nothing was sent. */
  final boolean send(NodeRequest request, long ttlMillis) {
    if (!claim.beginSending(request, ttlMillis)) {
      return false;
    }
    List<LockNode> nodes = cluster.nodes;
    try {
      for (int node = 0; node < pending.length; node++) {
        pending[node] = nodes.get(node).send(request, node, this);
      }
    } finally {
      claim.doneSending(); // or the release would wait for ever
    }
    step(() -> sent = true);
    return true;
  }

  @Override
  public final void onReply(int node, NodeReply reply) {
    FlightEvents.answered(events, node, cluster.nodes.get(node).name(), reply);
    step(
        () -> {
          claim.answered(node, reply.kind());
          take(node, reply);
        });
  }

  /** The node timeout has passed. What has come by the time of the decision counts. */
  final void timeout() {
    step(() -> timedOut |= !decided);
  }

  /** Whether the round is decided; what comes now is booked but counts no more. */
  public boolean isDecided() {
    return decided;
  }

  private void step(Runnable change) {
    synchronized (claim) {
      change.run();
      if (decided || !sent) {
        return;
      }
      if (timedOut) {
        withdrawUnanswered();
        close();
      }
      long nowNanos = cluster.ticker.monotonicNanos();
      if (!decide(nowNanos, cluster.ticker.wallMicros())) {
        return;
      }
      decided = true;
      decidedAfterNanos = nowNanos - startNanos;
    }
    act();
  }

  private void take(int node, NodeReply reply) {
    if (!decided && replies[node] == null) {
      replies[node] = reply;
      tookNanos[node] = cluster.ticker.monotonicNanos() - startNanos;
      record(node, reply);
    }
  }

  private void withdrawUnanswered() {
    for (int node = 0; node < pending.length; node++) {
      Pending request = pending[node];
      if (replies[node] == null && request != null && request.withdraw()) {
        NodeReply reply = NodeReply.unreachable("not sent in time");
        claim.answered(node, Kind.UNREACHABLE);
        take(node, reply);
      }
    }
  }

  /** What each node said by the time of the decision. */
  final Votes votes() {
    synchronized (claim) {
      List<Votes.NodeVote> votes = new ArrayList<>(replies.length);
      for (int node = 0; node < replies.length; node++) {
        NodeReply reply = replies[node];
        long nanos = reply == null ? decidedAfterNanos : tookNanos[node];
        String name = cluster.nodes.get(node).name();
        votes.add(ReplyText.vote(name, reply, Duration.ofNanos(nanos), timedOut));
      }
      return new Votes(votes, Ballot.quorum(replies.length));
    }
  }
}
