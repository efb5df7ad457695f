package io.redlock.driver;

import io.redlock.Votes;
import io.redlock.spi.LockNode;
import io.redlock.spi.LockNode.Pending;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReply.Kind;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.Quorum;
import java.time.Duration;
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

  /** Returns the nodes that are enough for the round. Called under the claim's lock. */
  abstract Quorum quorum();

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
    boolean isDue;
    synchronized (claim) {
      sent = true;
      isDue = isDecidedNow();
    }
    actIf(isDue);
    return true;
  }

  @Override
  public final void onReply(int node, NodeReply reply) {
    FlightEvents.answered(events, node, context.nodes.get(node).name(), reply);
    boolean isDue;
    synchronized (claim) {
      claim.answered(node, reply.kind());
      take(node, reply);
      isDue = isDecidedNow();
    }
    actIf(isDue);
  }

  /** Ends the round at the node timeout. Answers that came before the decision count. */
  final void timeout() {
    boolean isDue;
    synchronized (claim) {
      timedOut |= !decided;
      isDue = isDecidedNow();
    }
    actIf(isDue);
  }

  /** Returns true if the round is decided; later answers are recorded, but do not count. */
  public boolean isDecided() {
    return decided;
  }

  /** Decides the round, if it can be. Returns true once. */
  private boolean isDecidedNow() {
    assert Thread.holdsLock(claim);
    if (decided || !sent) {
      return false;
    }
    if (timedOut) {
      withdrawUnanswered();
      close();
    }
    long nowNanos = context.ticker.monotonicNanos();
    decided = decide(nowNanos, context.ticker.wallMicros());
    decidedAfterNanos = nowNanos - startNanos;
    return decided;
  }

  private void actIf(boolean isDue) {
    if (isDue) {
      act();
    }
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
      Votes.NodeVote[] votes = new Votes.NodeVote[replies.length];
      for (int node = 0; node < replies.length; node++) {
        NodeReply reply = replies[node];
        long nanos = reply == null ? decidedAfterNanos : tookNanos[node];
        String name = context.nodes.get(node).name();
        votes[node] = ReplyText.vote(name, reply, Duration.ofNanos(nanos), timedOut);
      }
      return context.votes(quorum(), List.of(votes));
    }
  }
}
