package io.redlock.driver;

import io.redlock.FreeResult;
import io.redlock.FreeResult.Outcome;
import io.redlock.Votes;
import io.redlock.protocol.FreeRound;
import io.redlock.protocol.LeaseTerms;
import io.redlock.spi.LockNode;
import io.redlock.spi.LockNode.Pending;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReport;
import io.redlock.spi.NodeRequest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * Sets a name free, for an operator: an inspection, then the driver of a {@link FreeRound}. Each
 * waits for every node, at most a node timeout, because an operator wants to know about each.
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
  private final @Nullable FreeRound round; // null while nodes are inspected
  private final List<@Nullable NodeReply> inspected;
  private int open; // guarded by this; nodes that have not answered
  private boolean sent; // guarded by this
  private boolean timedOut; // guarded by this
  private boolean decided; // guarded by this

  private Freeing(
      ServiceContext context,
      String name,
      long token,
      @Nullable FreeRound round,
      List<@Nullable NodeReply> inspected,
      CompletableFuture<FreeResult> result) {
    int nodes = context.nodes.size();
    this.context = context;
    this.name = name;
    this.token = token;
    this.round = round;
    this.inspected = inspected;
    this.result = result;
    this.startNanos = context.ticker.monotonicNanos();
    this.pending = new Pending[nodes];
    this.replies = new NodeReply[nodes];
    this.tookNanos = new long[nodes];
    this.open = nodes;
  }

  /** Begins to set the name free; with a token above 0 only if its holder has that. */
  static CompletableFuture<FreeResult> start(ServiceContext context, String name, long token) {
    CompletableFuture<FreeResult> result = new CompletableFuture<>();
    new Freeing(context, name, token, null, List.of(), result).send();
    return result;
  }

  private void send() {
    NodeRequest request = request(context.ticker.wallMicros());
    try {
      for (int node = 0; node < pending.length; node++) {
        pending[node] = context.nodes.get(node).send(request, node, this);
      }
    } finally { // or nobody would be answered after an error
      step(() -> sent = true);
      context.timeouts.add(this, startNanos);
    }
  }

  private NodeRequest request(long number) {
    List<String> names = List.of(name);
    return round == null
        ? new NodeRequest.Inspect(names, number)
        : new NodeRequest.Free(
            names, context.ownerIds.freed(), number, round.buried(), round.seen());
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
      } else if (open > 0) {
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
      open--;
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
    List<@Nullable NodeReply> answers;
    Votes votes;
    synchronized (this) {
      answers = Arrays.asList(replies.clone());
      votes = votes();
    }
    if (round == null) {
      FreeRound begun = FreeRound.begin(context.quorum, answers, token);
      new Freeing(context, name, token, begun, answers, result).send();
      return;
    }
    FreeRound last = round;
    for (int node = 0; node < answers.size(); node++) {
      NodeReply reply = answers.get(node);
      last = reply == null ? last : last.answered(node, reply);
    }
    switch (last.decide()) {
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
      votes.add(ReplyText.freeing(label, reply, doubt(node), Duration.ofNanos(nanos)));
    }
    return context.votes(context.quorum, votes);
  }

  /** Returns why this node's answer proves nothing; empty if it does. */
  private String doubt(int node) {
    NodeReply reply = inspected.isEmpty() ? null : inspected.get(node);
    NodeReport report = reply == null ? null : reply.report();
    if (report == null) {
      return "could not be inspected before";
    }
    return report.doubt().isEmpty() ? "" : "abstains: " + report.doubt();
  }
}
