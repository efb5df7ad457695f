package io.redlock.driver;

import io.redlock.Votes;
import io.redlock.protocol.Decision;
import io.redlock.protocol.Tenure;
import io.redlock.spi.LockNode;
import io.redlock.spi.LockNode.Pending;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** An item that asks its nodes, in rounds: one or two of an attempt, or extends of a lease. */
abstract class Asker extends Agenda.Item {

  final ServiceContext context;
  final Tenure tenure; // guarded by this

  final List<Round> rounds = new ArrayList<>(1); // guarded by this; those under way

  Asker(ServiceContext context, Tenure tenure) {
    super(context.agenda);
    this.context = context;
    this.tenure = tenure;
  }

  /**
   * One round of an owner: its request, which goes to every node, and the answers. Its owner sends
   * it, decides it, and reports the decision, one after the other. Guarded by the owner.
   */
  abstract static class Round implements Runnable, LockNode.ReplyHandler {

    final Asker owner;
    final NodeRequest request;
    final int tag; // marks the answers
    final long startNanos; // before anything is sent
    final long endNanos; // of the wait for answers

    private final @Nullable Pending[] pending;
    private final @Nullable NodeReply[] replies;
    private final long[] tookNanos;
    private boolean isSent; // to every node
    private boolean isOpen; // nothing has changed since it could not be decided
    private boolean isTimedOut;
    long decidedNanos; // when it was decided, on the monotonic clock

    private @Nullable Decision decision;
    private @Nullable Throwable failure; // why it ends without
    private @Nullable Runnable report; // of what came of it; written by the owner's steps

    Round(Asker owner, NodeRequest request, int tag, long startNanos, long endNanos) {
      this.owner = owner;
      this.request = request;
      this.tag = tag;
      this.startNanos = startNanos;
      this.endNanos = endNanos;
      int nodes = owner.context.nodes.size();
      this.pending = new Pending[nodes];
      this.replies = new NodeReply[nodes];
      this.tookNanos = new long[nodes];
    }

    /** Takes notice of the decision. Called under the owner's lock. */
    void decided(Decision decision) {}

    /**
     * Carries the decision out. Returns its report, which may run user code; null if there is none.
     */
    abstract @Nullable Runnable report(Decision decision);

    /** Ends it without a decision; returns the report of that. Done again if it throws. */
    abstract Runnable report(Throwable why);

    private void send() {
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
      boolean counts;
      synchronized (owner) {
        counts = decision == null;
        take(node, reply);
      }
      if (counts) {
        owner.drain();
      }
    }

    private void take(int node, NodeReply reply) {
      if (decision == null && replies[node] == null) {
        replies[node] = reply;
        tookNanos[node] = owner.context.ticker.monotonicNanos() - startNanos;
      }
      isOpen = false;
      owner.tenure.answered(node, tag, reply);
    }

    boolean isDue(long nowNanos) {
      return hasEnded()
          || !isSent
          || !isOpen
          || !owner.tenure.isUnderWay(tag)
          || isOverdue(nowNanos);
    }

    private boolean isOverdue(long nowNanos) {
      return owner.isClosing() || owner.isStruck() && delayNanos(nowNanos) <= 0;
    }

    long delayNanos(long nowNanos) {
      return endNanos - nowNanos;
    }

    /** Returns true if only what came of it is left to carry out. */
    private boolean hasEnded() {
      return decision != null || failure != null;
    }

    /**
     * Sends it, decides it, or carries out what came of it.
     *
     * @return true if only its report is left, which is made when it is run
     */
    boolean step(long nowNanos, long nowWallMicros) {
      try {
        if (hasEnded()) {
          report = failure == null ? report(Objects.requireNonNull(decision)) : report(failure);
          return true;
        }
        if (isSent) {
          decide(nowNanos, nowWallMicros);
        } else {
          send();
        }
      } catch (RuntimeException | Error e) {
        if (!fails(e)) {
          throw e;
        }
      }
      return false;
    }

    /** Reports what came of it, without locks; if that throws, it ends again. */
    @Override
    public final void run() {
      Runnable prepared = report;
      try {
        if (prepared != null) {
          prepared.run();
        }
      } catch (RuntimeException | Error e) {
        synchronized (owner) {
          owner.rounds.add(this);
        }
        if (!fails(e)) {
          throw e;
        }
      }
    }

    /** Lets it end for this reason. Returns false if it had one: its end is done again later. */
    private boolean fails(Throwable why) {
      boolean isFirst = failure == null;
      if (isFirst) {
        failure = why;
        Log.failure(owner, why);
      }
      return isFirst;
    }

    private void decide(long nowNanos, long nowWallMicros) {
      synchronized (owner) {
        isOpen = true;
        if (!isTimedOut && isOverdue(nowNanos)) {
          withdrawUnanswered();
          isTimedOut = true;
          owner.tenure.timedOut(tag);
        }
        Decision made = owner.tenure.decide(tag, nowNanos, nowWallMicros);
        if (made.outcome() != Decision.Outcome.NOTHING) {
          decidedNanos = nowNanos;
          decision = made;
          decided(made);
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

    /** Returns which operator set the names free, as an answer says; empty if none does. */
    final String freedBy() {
      for (NodeReply reply : replies) {
        String label = reply == null ? "" : ReplyText.freedBy(reply);
        if (!label.isEmpty()) {
          return "an operator set it free (" + label + "): ";
        }
      }
      return "";
    }

    final Votes votes() {
      synchronized (owner) {
        ServiceContext context = owner.context;
        Votes.NodeVote[] votes = new Votes.NodeVote[replies.length];
        for (int node = 0; node < replies.length; node++) {
          NodeReply reply = replies[node];
          long nanos = reply == null ? decidedNanos - startNanos : tookNanos[node];
          String name = context.nodes.get(node).name();
          votes[node] = VoteOfNode.of(name, reply, Duration.ofNanos(nanos), isTimedOut);
        }
        return context.votes(List.of(votes));
      }
    }
  }
}
