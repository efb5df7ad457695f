package io.redlock.driver;

import io.redlock.Votes;
import io.redlock.protocol.Turn;
import io.redlock.spi.LockNode;
import io.redlock.spi.LockNode.Pending;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * One round of an owner: its request, which goes to every node, and the answers. Its owner sends
 * it, decides it, and reports the decision, one after the other. Guarded by the owner.
 */
abstract class Fanout implements Owner.Round, LockNode.ReplyHandler {

  final Owner owner;
  final NodeRequest request;
  final int tag; // marks the answers
  final long startNanos;
  private final long timeoutNanos; // after the start

  private final @Nullable Pending[] pending;
  private final @Nullable NodeReply[] replies;
  private final long[] tookNanos;
  private final FlightEvents.NodeCall @Nullable [] events;
  private boolean isSent; // to every node
  private boolean isOpen; // nothing has changed since it could not be decided
  private boolean isTimedOut;
  private boolean isDecided;
  private long decidedAfterNanos;

  private @Nullable Turn turn; // its decision
  private @Nullable Throwable failure; // why it ends without
  private @Nullable Runnable report; // of what came of it; written by the owner's steps

  /**
   * @param startNanos the monotonic time before anything is sent
   * @param timeoutNanos how long it waits for answers
   */
  Fanout(Owner owner, NodeRequest request, int tag, long startNanos, long timeoutNanos) {
    this.owner = owner;
    this.request = request;
    this.tag = tag;
    this.startNanos = startNanos;
    this.timeoutNanos = timeoutNanos;
    int nodes = owner.context.nodes.size();
    this.pending = new Pending[nodes];
    this.replies = new NodeReply[nodes];
    this.tookNanos = new long[nodes];
    this.events = FlightEvents.calling(nodes);
  }

  /** Takes notice of an answer that counts. Called under the owner's lock. */
  void record(NodeReply reply) {}

  /** Takes notice of the decision. Called under the owner's lock. */
  void decided(Turn decision) {}

  /**
   * Carries the decision out. Returns its report, which may run user code; null if there is none.
   */
  abstract @Nullable Runnable report(Turn decision);

  /** Ends it without a decision; returns the report of that. Done again if it throws. */
  abstract Runnable report(Throwable why);

  /** Sends the request to every node, unless the round ends before. */
  final void send() {
    List<LockNode> nodes = owner.context.nodes;
    for (int node = 0; node < pending.length && sending(node); node++) {
      pending[node] = nodes.get(node).send(request, node, this); // A3
    }
    synchronized (owner) {
      isSent = true;
    }
  }

  private boolean sending(int node) {
    synchronized (owner) {
      return owner.tenure.sending(tag, node);
    }
  }

  @Override
  public final void onReply(int node, NodeReply reply) {
    FlightEvents.answered(events, node, owner.context.nodes.get(node).name(), reply);
    boolean counts;
    synchronized (owner) {
      counts = !isDecided;
      take(node, reply);
    }
    if (counts) {
      owner.drain();
    }
  }

  private void take(int node, NodeReply reply) {
    if (!isDecided && replies[node] == null) {
      replies[node] = reply;
      tookNanos[node] = owner.context.ticker.monotonicNanos() - startNanos;
      record(reply);
    }
    isOpen = false;
    owner.tenure.answered(node, tag, reply);
  }

  @Override
  public final boolean isDue(long nowNanos) {
    return hasEnded() || !isSent || !isOpen || !owner.tenure.isUnderWay(tag) || isOverdue(nowNanos);
  }

  private boolean isOverdue(long nowNanos) {
    return owner.isClosing() || owner.isStruck() && delayNanos(nowNanos) <= 0;
  }

  @Override
  public final long delayNanos(long nowNanos) {
    return startNanos + timeoutNanos - nowNanos;
  }

  @Override
  public final boolean hasEnded() {
    return turn != null || failure != null;
  }

  @Override
  public final void step(long nowNanos, long nowWallMicros) {
    try {
      if (isSent) {
        decide(nowNanos, nowWallMicros);
      } else {
        send();
      }
    } catch (RuntimeException | Error e) {
      fail(e);
    }
  }

  @Override
  public final void end() {
    Turn decision = turn;
    if (failure == null && decision != null) {
      try {
        report = report(decision);
        return;
      } catch (RuntimeException | Error e) {
        fail(e);
      }
    }
    report = report(Objects.requireNonNull(failure));
  }

  /** Reports what came of it, without locks; if that throws, it is reported as a failure. */
  @Override
  public final void run() {
    Runnable prepared = report;
    try {
      if (prepared != null) {
        prepared.run();
      }
    } catch (RuntimeException | Error e) {
      boolean isDoneAgain = failure != null;
      fail(e);
      synchronized (owner) {
        owner.add(this);
      }
      if (isDoneAgain) {
        throw e; // later
      }
    }
  }

  /** Lets it end for this reason, if it had none. */
  final void fail(Throwable why) {
    synchronized (owner) {
      failure = failure == null ? why : failure;
    }
    Log.failure(owner, why);
  }

  /** Decides the round, if it can be. */
  private void decide(long nowNanos, long nowWallMicros) {
    synchronized (owner) {
      isOpen = true;
      if (!isTimedOut && isOverdue(nowNanos)) {
        withdrawUnanswered();
        isTimedOut = true;
        owner.tenure.timedOut(tag);
      }
      Turn decision = owner.tenure.decide(tag, nowNanos, nowWallMicros);
      if (decision.outcome() != Turn.Outcome.NOTHING) {
        decidedAfterNanos = nowNanos - startNanos;
        isDecided = true;
        turn = decision;
        decided(decision);
      }
    }
  }

  private void withdrawUnanswered() {
    for (int node = 0; node < pending.length; node++) {
      Pending sent = pending[node];
      if (sent != null && sent.withdraw()) {
        take(node, NodeReply.unreachable("not sent in time"));
      }
    }
  }

  /** Returns when the round was decided, on the monotonic clock. */
  final long decidedNanos() {
    return startNanos + decidedAfterNanos;
  }

  /** Returns the rest of its wait at its decision. */
  final long leftNanos() {
    return timeoutNanos - decidedAfterNanos;
  }

  /** Returns the answers that came before the decision. */
  final Votes votes() {
    synchronized (owner) {
      ServiceContext context = owner.context;
      Votes.NodeVote[] votes = new Votes.NodeVote[replies.length];
      for (int node = 0; node < replies.length; node++) {
        NodeReply reply = replies[node];
        long nanos = reply == null ? decidedAfterNanos : tookNanos[node];
        String name = context.nodes.get(node).name();
        votes[node] = ReplyText.vote(name, reply, Duration.ofNanos(nanos), isTimedOut);
      }
      return context.votes(List.of(votes));
    }
  }
}
