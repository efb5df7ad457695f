package io.redlock.driver;

import io.redlock.ReleaseResult;
import io.redlock.protocol.ReleaseRound;
import io.redlock.spi.LockNode;
import io.redlock.spi.LockNode.Pending;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.Scheduler.Cancellable;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * The release of an ended claim: the driver of a {@link ReleaseRound}. It is sent to each node that
 * may hold a key until the node acknowledges, or until the key has expired. The result is known as
 * soon as it is settled, at the latest after a node timeout; in a burst of requests that timeout
 * begins anew while nodes answer those before it. No thread has to wait for it.
 */
final class PendingRelease implements LockNode.ReplyHandler, Timeouts.Timed {

  private static final long FIRST_REPEAT_NANOS = 10_000_000;
  private static final int MAX_DOUBLINGS = 7;
  private static final long MARGIN_NANOS = 1_000_000_000;

  private final ServiceContext context;
  private final CompletableFuture<ReleaseResult> result = new CompletableFuture<>();
  private final @Nullable Pending[] pending; // guarded by this
  private final byte[] repeats; // guarded by this
  private ReleaseRound round; // guarded by this
  private NodeRequest.@Nullable Release request; // guarded by this; written before the first send
  private long giveUpNanos; // guarded by this
  private boolean givenUp; // guarded by this
  private @Nullable Cancellable giveUp; // guarded by this

  PendingRelease(ServiceContext context) {
    this.context = context;
    int nodes = context.nodes.size();
    this.pending = new Pending[nodes];
    this.repeats = new byte[nodes];
    this.round = ReleaseRound.begin(context.quorum, 0);
  }

  /** Returns the future result, known once it is settled or a node timeout has passed. */
  CompletableFuture<ReleaseResult> result() {
    return result;
  }

  /**
   * Begins to send the release to the given nodes.
   *
   * @param release the request
   * @param targets the nodes, as bits
   * @param ttlMillis the longest ttl that the claim requested
   */
  void start(NodeRequest.Release release, int targets, long ttlMillis) {
    long nowNanos = context.ticker.monotonicNanos();
    int nodes = context.nodes.size();
    boolean nothingToDo;
    synchronized (this) {
      round = ReleaseRound.begin(context.quorum, targets);
      request = release;
      giveUpNanos =
          nowNanos + ttlMillis * 1_000_000 + context.settings.skewMicros() * 1_000 + MARGIN_NANOS;
      nothingToDo = round.isComplete();
    }
    if (nothingToDo) {
      result.complete(ReleaseResult.NOT_HELD);
      return;
    }
    for (int node = 0; node < nodes; node++) {
      sendSafely(node);
    }
    context.timeouts.add(this, nowNanos);
  }

  /** Sends the release to a node. A failure counts as a lost answer, and spares other nodes. */
  private void sendSafely(int node) {
    try {
      send(node);
    } catch (Throwable e) {
      Log.LOG.error("A release failed; this is a defect of the lock library", e);
      onReply(node, NodeReply.unknown("not sent"));
    }
  }

  private void send(int node) {
    NodeRequest.Release release;
    synchronized (this) {
      release = request;
      if (givenUp || release == null || !round.owes(node)) {
        return;
      }
    }
    Pending sent = context.nodes.get(node).send(release, node, this);
    boolean tooLate;
    synchronized (this) {
      pending[node] = sent;
      tooLate = givenUp;
    }
    if (tooLate) {
      sent.withdraw();
    }
  }

  @Override
  public void onReply(int node, NodeReply reply) {
    ReleaseRound now;
    Cancellable needless;
    synchronized (this) {
      round = round.answered(node, reply);
      now = round;
      needless = giveUp;
    }
    if (now.isSettled()) {
      result.complete(result(now));
    }
    if (!now.isComplete()) {
      repeat(node);
    } else if (needless != null) {
      needless.cancel();
    }
  }

  private void repeat(int node) {
    long delayNanos;
    synchronized (this) {
      if (givenUp || !round.owes(node)) {
        return;
      }
      delayNanos = FIRST_REPEAT_NANOS << repeats[node];
      repeats[node] = (byte) Math.min(repeats[node] + 1, MAX_DOUBLINGS);
    }
    context.scheduler.schedule(
        () -> sendSafely(node), delayNanos / 2 + context.random.nextLong(delayNanos));
  }

  @Override
  public synchronized boolean isDecided() {
    return round.isComplete(); // the result can be known long before the last node acknowledges
  }

  @Override
  public void onTimeout() {
    if (awaitsItsTurn()) {
      context.timeouts.add(this, context.ticker.monotonicNanos());
      return;
    }
    ReleaseResult atLast;
    synchronized (this) {
      round = round.timedOut();
      atLast = result(round);
      if (!round.isComplete()) {
        long delayNanos = giveUpNanos - context.ticker.monotonicNanos();
        giveUp = context.scheduler.schedule(this::giveUp, delayNanos);
      }
    }
    result.complete(atLast);
  }

  /** Returns true if the result is open, and a node is busy with what came before. */
  private synchronized boolean awaitsItsTurn() {
    if (result.isDone() || context.ticker.monotonicNanos() - giveUpNanos >= 0) {
      return false;
    }
    for (int node = 0; node < pending.length; node++) {
      Pending sent = pending[node];
      if (round.owes(node) && sent != null && sent.awaitsItsTurn()) {
        return true;
      }
    }
    return false;
  }

  private static ReleaseResult result(ReleaseRound round) {
    return switch (round.known()) {
      case RELEASED -> ReleaseResult.RELEASED;
      case NOT_HELD -> ReleaseResult.NOT_HELD;
      case UNCONFIRMED -> ReleaseResult.UNCONFIRMED;
    };
  }

  private void giveUp() {
    @Nullable Pending[] unanswered;
    synchronized (this) {
      givenUp = true;
      unanswered = pending.clone();
    }
    for (Pending sent : unanswered) {
      if (sent != null) {
        sent.withdraw();
      }
    }
  }
}
