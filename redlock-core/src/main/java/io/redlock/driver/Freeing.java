package io.redlock.driver;

import io.redlock.FreeResult;
import io.redlock.FreeResult.Outcome;
import io.redlock.Votes;
import io.redlock.protocol.FreeRound;
import io.redlock.protocol.FreeRound.Decision;
import io.redlock.protocol.LeaseTerms;
import io.redlock.spi.LockNode;
import io.redlock.spi.LockNode.Pending;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * Sets a name free, for an operator: the driver of a {@link FreeRound}. Waits for every node, at
 * most a node timeout, because an operator wants to know about each.
 */
final class Freeing implements LockNode.ReplyHandler, Timeouts.Timed {

  private final ServiceContext context;
  private final String name;
  private final long token;
  private final CompletableFuture<FreeResult> result;
  private final long startNanos;
  private final @Nullable Pending[] pending;
  private final @Nullable NodeReply[] replies; // guarded by this
  private final long[] tookNanos; // guarded by this
  private FreeRound round; // guarded by this
  private boolean sent; // guarded by this
  private boolean timedOut; // guarded by this
  private boolean decided; // guarded by this

  private Freeing(
      ServiceContext context,
      String name,
      long token,
      long buried,
      CompletableFuture<FreeResult> result) {
    int nodes = context.nodes.size();
    this.context = context;
    this.name = name;
    this.token = token;
    this.result = result;
    this.startNanos = context.ticker.monotonicNanos();
    this.pending = new Pending[nodes];
    this.replies = new NodeReply[nodes];
    this.tookNanos = new long[nodes];
    this.round = FreeRound.begin(context.quorum, buried);
  }

  /** Begins to set the name free; with a token above 0 only if its holder has that. */
  static CompletableFuture<FreeResult> start(ServiceContext context, String name, long token) {
    CompletableFuture<FreeResult> result = new CompletableFuture<>();
    new Freeing(context, name, token, 0, result).send();
    return result;
  }

  private void send() {
    long lifeMicros = context.settings.nodeTimeoutNanos() / 1_000 + context.settings.skewMicros();
    NodeRequest request =
        new NodeRequest.Free(
            List.of(name),
            context.ownerIds.freed(),
            token,
            round.buried(),
            context.clock.micros() + lifeMicros);
    try {
      for (int node = 0; node < pending.length; node++) {
        pending[node] = context.nodes.get(node).send(request, node, this);
      }
    } finally { // or nobody would be answered after an error
      step(() -> sent = true);
      context.timeouts.add(this, startNanos);
    }
  }

  @Override
  public void onReply(int node, NodeReply reply) {
    step(() -> take(node, reply));
  }

  @Override
  public void onTimeout() {
    step(() -> timedOut = true);
  }

  @Override
  public synchronized boolean isDecided() {
    return decided;
  }

  private void step(Runnable change) {
    synchronized (this) {
      if (decided) {
        return;
      }
      change.run();
      if (!sent) {
        return;
      }
      if (timedOut) {
        withdrawUnanswered();
      } else if (!round.isComplete()) {
        return;
      }
      decided = true;
    }
    act();
  }

  private void take(int node, NodeReply reply) {
    assert Thread.holdsLock(this);
    if (replies[node] == null) {
      replies[node] = reply;
      round = round.answered(node, reply);
      tookNanos[node] = context.ticker.monotonicNanos() - startNanos;
    }
  }

  private void withdrawUnanswered() {
    for (int node = 0; node < pending.length; node++) {
      Pending request = pending[node];
      if (replies[node] == null && request != null && request.withdraw()) {
        take(node, NodeReply.unreachable("not sent in time"));
      }
    }
  }

  private void act() {
    FreeRound last;
    Votes votes;
    synchronized (this) {
      last = round;
      votes = votes();
    }
    Decision decision = last.decide();
    switch (decision) {
      case BURY -> new Freeing(context, name, token, last.highest(), result).send();
      case FREED -> finish(Outcome.FREED, waitFor(last.longestMillis()), votes);
      case NOT_HELD -> finish(Outcome.NOT_HELD, Duration.ZERO, votes);
      case OTHER_HOLDER -> finish(Outcome.OTHER_HOLDER, null, votes);
      case UNKNOWN -> finish(Outcome.UNKNOWN, null, votes);
    }
  }

  /** Returns the time after which such a key is gone, as this machine counts it. */
  private Duration waitFor(long millis) {
    LeaseTerms terms = context.settings.terms(context.quorum, millis + 1);
    return Duration.ofNanos(terms.ttlMillis() * 1_000_000 + terms.driftNanos());
  }

  private void finish(Outcome outcome, @Nullable Duration grantableIn, Votes votes) {
    result.complete(new FreeResult(outcome, Optional.ofNullable(grantableIn), votes));
  }

  private Votes votes() {
    assert Thread.holdsLock(this);
    List<Votes.NodeVote> votes = new ArrayList<>(pending.length);
    long nowNanos = context.ticker.monotonicNanos() - startNanos;
    for (int node = 0; node < pending.length; node++) {
      NodeReply reply = replies[node];
      long nanos = reply == null ? nowNanos : tookNanos[node];
      String label = context.nodes.get(node).name();
      votes.add(ReplyText.freeing(label, reply, Duration.ofNanos(nanos)));
    }
    return context.votes(round.quorum(), votes);
  }
}
