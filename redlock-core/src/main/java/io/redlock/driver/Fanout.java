package io.redlock.driver;

import io.redlock.Votes;
import io.redlock.protocol.Turn;
import io.redlock.protocol.Turn.Outcome;
import io.redlock.spi.LockNode;
import io.redlock.spi.LockNode.Pending;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The driver of one round of a tenure: sends its request to every node, passes the answers on under
 * the owner's lock, and acts on the decision outside it, once. No lock is held while nodes are
 * called.
 */
abstract class Fanout implements LockNode.ReplyHandler {

  final Owner owner;
  final ServiceContext context;
  final long startNanos;

  private final @Nullable Pending[] pending;
  private final @Nullable NodeReply[] replies; // guarded by owner
  private final long[] tookNanos; // guarded by owner
  private final FlightEvents.NodeCall @Nullable [] events;
  private int tag; // written under owner before the first send
  private boolean isSent; // guarded by owner; to every node
  private volatile boolean decided; // written under owner
  private boolean timedOut; // guarded by owner
  private long decidedAfterNanos; // guarded by owner

  /**
   * @param startNanos the monotonic time before anything is sent
   */
  Fanout(Owner owner, long startNanos) {
    this.owner = owner;
    this.context = owner.context;
    this.startNanos = startNanos;
    int nodes = context.nodes.size();
    this.pending = new Pending[nodes];
    this.replies = new NodeReply[nodes];
    this.tookNanos = new long[nodes];
    this.events = FlightEvents.calling(nodes);
  }

  /** Takes notice of an answer that counts. Called under the owner's lock. */
  void record(NodeReply reply) {}

  /** Takes notice of the decision. Called under the owner's lock. */
  void decided() {}

  /** Acts on the decision; called once, without locks. */
  abstract void act(Turn turn);

  /**
   * Sends the request to every node.
   *
   * @param roundTag marks the answers
   */
  final void send(NodeRequest request, int roundTag) {
    List<LockNode> nodes = context.nodes;
    tag = roundTag;
    boolean all = false;
    try {
      for (int node = 0; node < pending.length; node++) {
        pending[node] = nodes.get(node).send(request, node, this); // A3
      }
      all = true;
    } finally {
      owner.handed(roundTag, all); // or the release would never be sent
    }
    Turn turn;
    synchronized (owner) {
      isSent = true;
      turn = decide();
    }
    actOn(turn);
  }

  @Override
  public final void onReply(int node, NodeReply reply) {
    FlightEvents.answered(events, node, context.nodes.get(node).name(), reply);
    Turn turn;
    synchronized (owner) {
      take(node, reply);
      turn = decide();
    }
    actOn(turn);
  }

  /** Ends the round at the node timeout. Answers that came before the decision count. */
  final void timeout() {
    Turn turn;
    synchronized (owner) {
      timedOut |= !decided;
      turn = decide();
    }
    actOn(turn);
  }

  /** Returns true if the round is decided; later answers are recorded, but do not count. */
  public boolean isDecided() {
    return decided;
  }

  /** Returns when the round was decided, on the monotonic clock. */
  final long decidedNanos() {
    synchronized (owner) {
      return startNanos + decidedAfterNanos;
    }
  }

  /** Decides the round, if it can be. Returns the decision once. */
  private @Nullable Turn decide() {
    assert Thread.holdsLock(owner);
    if (decided || !isSent) {
      return null;
    }
    if (timedOut) {
      withdrawUnanswered();
      owner.tenure.timedOut(tag);
    }
    long nowNanos = context.ticker.monotonicNanos();
    Turn turn = owner.tenure.decide(tag, nowNanos, context.ticker.wallMicros());
    if (turn.outcome() == Outcome.NOTHING) {
      return null;
    }
    decided = true;
    decidedAfterNanos = nowNanos - startNanos;
    decided();
    return turn;
  }

  private void actOn(@Nullable Turn turn) {
    if (turn != null) {
      act(turn);
    }
  }

  private void take(int node, NodeReply reply) {
    if (!decided && replies[node] == null) {
      replies[node] = reply;
      tookNanos[node] = context.ticker.monotonicNanos() - startNanos;
      record(reply);
    }
    owner.tenure.answered(node, tag, reply);
  }

  private void withdrawUnanswered() {
    for (int node = 0; node < pending.length; node++) {
      if (Objects.requireNonNull(pending[node]).withdraw()) { // all were sent
        take(node, NodeReply.unreachable("not sent in time"));
      }
    }
  }

  /** Returns the answers that came before the decision. */
  final Votes votes() {
    synchronized (owner) {
      Votes.NodeVote[] votes = new Votes.NodeVote[replies.length];
      for (int node = 0; node < replies.length; node++) {
        NodeReply reply = replies[node];
        long nanos = reply == null ? decidedAfterNanos : tookNanos[node];
        String name = context.nodes.get(node).name();
        votes[node] = ReplyText.vote(name, reply, Duration.ofNanos(nanos), timedOut);
      }
      return context.votes(List.of(votes));
    }
  }
}
