package io.redlock.driver;

import io.redlock.ReleaseResult;
import io.redlock.protocol.ReleaseRound;
import io.redlock.protocol.Tenure;
import io.redlock.protocol.Tenure.Turn;
import io.redlock.protocol.TenureRules;
import io.redlock.spi.LockNode;
import io.redlock.spi.LockNode.Pending;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.NodeRequest.Ticket;
import io.redlock.spi.Scheduler.Cancellable;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * The driver of one {@link Tenure}, and the lock that guards it. Sends the release that it orders
 * to each node that may hold a key until the node acknowledges, or until the key has expired. The
 * result is known as soon as it is settled, at the latest after a node timeout; in a burst of
 * requests that timeout begins anew while nodes answer those before it. No thread has to wait for
 * it.
 */
final class Owner implements LockNode.ReplyHandler, Timeouts.Timed {

  private static final long FIRST_REPEAT_NANOS = 10_000_000;
  private static final int MAX_DOUBLINGS = 7;
  private static final long MARGIN_NANOS = 1_000_000_000; // R7

  final ServiceContext context;
  final List<String> names;
  final String id;
  final @Nullable QueuePlace place;
  final Listeners listeners;
  final Tenure tenure; // guarded by this

  private final CompletableFuture<ReleaseResult> result = new CompletableFuture<>();
  private boolean releaseSent; // guarded by this
  private @Nullable Runnable onReleaseSent; // guarded by this

  private @Nullable Pending @Nullable [] pending; // guarded by this; of the release, once it is due
  private byte[] repeats = {}; // guarded by this
  private NodeRequest.@Nullable Release request; // guarded by this; written before the first send
  private long giveUpNanos; // guarded by this
  private boolean givenUp; // guarded by this
  private @Nullable Cancellable giveUp; // guarded by this

  /**
   * @param isUnlessHeld true if its caller gives up once one client is known to hold the resource
   */
  Owner(
      ServiceContext context,
      List<String> names,
      String id,
      @Nullable QueuePlace place,
      Listeners listeners,
      boolean isUnlessHeld) {
    this.context = context;
    this.names = names;
    this.id = id;
    this.place = place;
    this.listeners = listeners;
    this.tenure = new Tenure(TenureRules.STANDARD, context.quorum, place != null, isUnlessHeld);
  }

  /** Records that a request was handed to every node, or failed to be. */
  void handed(int tag, boolean all) {
    Turn turn;
    synchronized (this) {
      turn = tenure.handed(tag, all);
    }
    releaseIfDue(turn);
  }

  /** Returns true if the node has said yes to this owner. */
  synchronized boolean wasGrantedBy(int node) {
    return tenure.wasGrantedBy(node);
  }

  synchronized boolean hasEnded() {
    return tenure.phase() == Tenure.Phase.ENDED;
  }

  /**
   * Ends the owner: releases the keys that it may have left on nodes, and removes its tickets,
   * which wakes the next waiter. Repeated calls only return the result.
   *
   * @return the future result, known once it is settled or a node timeout has passed
   */
  CompletableFuture<ReleaseResult> end() {
    Turn turn;
    boolean started;
    synchronized (this) {
      started = tenure.release() != null;
      turn = tenure.end(true);
    }
    releaseIfDue(turn);
    if (started && place != null) {
      place.removeTickets(context.nodes, names); // its caller first went on, and has given up now
    }
    return result;
  }

  /** Runs the callback once the release of this ended owner was handed to its nodes. */
  void whenReleaseSent(Runnable callback) {
    synchronized (this) {
      if (!releaseSent) {
        onReleaseSent = callback;
        return;
      }
    }
    callback.run();
  }

  /** Sends the release if the turn orders it. */
  void releaseIfDue(Turn turn) {
    if (!turn.isRelease()) {
      return;
    }
    Ticket ticket = null;
    if (place != null) {
      ticket = turn.isLast() ? place.forgetTicket() : place.ticket();
    }
    begin(turn.isLast(), ticket);
    if (turn.isLast() && ticket != null) {
      QueuePlace.removeTickets(context.nodes, names, ticket, turn.targets());
    }
    Runnable callback;
    synchronized (this) {
      releaseSent = true;
      callback = onReleaseSent;
    }
    if (callback != null) {
      callback.run();
    }
  }

  private void begin(boolean isLast, @Nullable Ticket ticket) {
    long nowNanos = context.ticker.monotonicNanos();
    int nodes = context.nodes.size();
    synchronized (this) {
      pending = new Pending[nodes];
      repeats = new byte[nodes];
      request = tenure.release(names, id, isLast, ticket);
      giveUpNanos =
          nowNanos
              + tenure.longestTtlMillis() * 1_000_000
              + context.settings.skewMicros() * 1_000
              + MARGIN_NANOS;
    }
    if (isDecided()) {
      result.complete(ReleaseResult.NOT_HELD);
      return;
    }
    for (int node = 0; node < nodes; node++) {
      sendSafely(node);
    }
    context.timeouts.add(this, nowNanos);
  }

  private ReleaseRound round() {
    assert Thread.holdsLock(this);
    return Objects.requireNonNull(tenure.release());
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
      if (givenUp || release == null || !round().owes(node)) {
        return;
      }
    }
    Pending sent = context.nodes.get(node).send(release, node, this);
    boolean tooLate;
    synchronized (this) {
      if (pending != null) {
        pending[node] = sent;
      }
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
      tenure.answered(node, Tenure.RELEASE_TAG, reply);
      now = round();
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
      if (givenUp || !round().owes(node)) {
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
    return round().isComplete(); // the result can be known long before the last node acknowledges
  }

  @Override
  public void onTimeout() {
    if (awaitsItsTurn()) {
      context.timeouts.add(this, context.ticker.monotonicNanos());
      return;
    }
    ReleaseResult atLast;
    synchronized (this) {
      tenure.timedOut(Tenure.RELEASE_TAG);
      atLast = result(round());
      if (!round().isComplete()) {
        long delayNanos = giveUpNanos - context.ticker.monotonicNanos();
        giveUp = context.scheduler.schedule(this::giveUp, delayNanos);
      }
    }
    result.complete(atLast);
  }

  /** Returns true if the result is open, and a node is busy with what came before. */
  private synchronized boolean awaitsItsTurn() {
    @Nullable Pending[] sent = pending;
    if (sent == null || result.isDone() || context.ticker.monotonicNanos() - giveUpNanos >= 0) {
      return false;
    }
    for (int node = 0; node < sent.length; node++) {
      Pending each = sent[node];
      if (round().owes(node) && each != null && each.awaitsItsTurn()) {
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
      unanswered = Objects.requireNonNull(pending).clone();
    }
    for (Pending sent : unanswered) {
      if (sent != null) {
        sent.withdraw();
      }
    }
  }
}
