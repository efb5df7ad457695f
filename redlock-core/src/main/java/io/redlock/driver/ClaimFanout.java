package io.redlock.driver;

import io.redlock.Votes;
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
 * The driver of one round: sends its request to every node, passes the answers to the round under
 * the claim's lock, and acts on the decision outside it, once. The round is not decided before the
 * request was handed to every node. No lock is held while nodes are called.
 */
abstract class ClaimFanout implements LockNode.ReplyHandler {

  final Claim claim;
  final ServiceContext context;
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

  /** Reads both clocks, before anything is sent. */
  ClaimFanout(Claim claim) {
    this.claim = claim;
    this.context = claim.context;
    int nodes = context.nodes.size();
    this.pending = new Pending[nodes];
    this.replies = new NodeReply[nodes];
    this.tookNanos = new long[nodes];
    this.events = FlightEvents.calling(nodes);
    this.startNanos = context.ticker.monotonicNanos();
    this.startWallMicros = context.ticker.wallMicros();
  }

  /** Passes an answer to the round. Called under the claim's lock. */
  abstract void record(int node, NodeReply reply);

  /** Passes the timeout to the round. Called under the claim's lock. */
  abstract void close();

  /** Returns true if the round is decided at this time. Called under the claim's lock. */
  abstract boolean decide(long nowNanos, long nowWallMicros);

  /** Acts on the decision; called once, without locks. */
  abstract void act();

  /** Sends the request to every node. Returns false, and sends nothing, if the claim has ended. */
  final boolean send(NodeRequest request, long ttlMillis) {
    if (!claim.beginSending(request, ttlMillis)) {
      return false;
    }
    List<LockNode> nodes = context.nodes;
    try {
      for (int node = 0; node < pending.length; node++) {
        pending[node] = nodes.get(node).send(request, node, this);
      }
    } finally {
      claim.doneSending(); // or the release would never be sent
    }
    step(() -> sent = true);
    return true;
  }

  @Override
  public final void onReply(int node, NodeReply reply) {
    FlightEvents.answered(events, node, context.nodes.get(node).name(), reply);
    step(
        () -> {
          claim.answered(node, reply.kind());
          take(node, reply);
        });
  }

  /** Ends the round at the node timeout. Answers that came before the decision count. */
  final void timeout() {
    step(() -> timedOut |= !decided);
  }

  /** Returns true if the round is decided; later answers are recorded, but do not count. */
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
      long nowNanos = context.ticker.monotonicNanos();
      if (!decide(nowNanos, context.ticker.wallMicros())) {
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
      tookNanos[node] = context.ticker.monotonicNanos() - startNanos;
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

  /** Returns the answers that came before the decision. */
  final Votes votes() {
    synchronized (claim) {
      List<Votes.NodeVote> votes = new ArrayList<>(replies.length);
      for (int node = 0; node < replies.length; node++) {
        NodeReply reply = replies[node];
        long nanos = reply == null ? decidedAfterNanos : tookNanos[node];
        String name = context.nodes.get(node).name();
        votes.add(ReplyText.vote(name, reply, Duration.ofNanos(nanos), timedOut));
      }
      return context.votes(votes);
    }
  }
}
