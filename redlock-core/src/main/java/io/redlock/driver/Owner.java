package io.redlock.driver;

import io.redlock.LeaseEnd;
import io.redlock.LeaseEnd.Cause;
import io.redlock.LeaseRequest;
import io.redlock.ReleaseResult;
import io.redlock.protocol.Extending;
import io.redlock.protocol.ReleaseRound;
import io.redlock.protocol.Tenure;
import io.redlock.protocol.Turn;
import io.redlock.protocol.Turn.Outcome;
import io.redlock.spi.LockNode;
import io.redlock.spi.LockNode.Pending;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.NodeRequest.Ticket;
import io.redlock.spi.Scheduler.Cancellable;
import io.redlock.text.Brief;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * The driver of one {@link Tenure}, and the lock that guards it. One timer calls it when something
 * is due: the loss of its lease, an extend, the release or a repeat of it. The result of the
 * release is known as soon as it is settled, at the latest after a node timeout; in a burst of
 * requests that timeout begins anew while nodes answer those before it. No thread has to wait for
 * it.
 */
final class Owner extends LiveLeases.Planned implements LockNode.ReplyHandler, Timeouts.Timed {

  /** Whose lease it is. */
  interface Holder {

    /** Ends the lease, unless it has ended. Called under the owner's lock. */
    void ends(LeaseEnd how);

    /** Reports the end. Called once, without locks. */
    void tell(LeaseEnd how);

    /** Sends an extend that has begun, after this monotonic time. */
    void send(Extending extending, long startNanos);
  }

  private static final long TIMER_TOLERANCE_NANOS = 1_000_000;
  private static final NodeReply NOT_SENT = NodeReply.unknown("not sent");
  private static final LeaseEnd EXPIRED =
      new LeaseEnd(Cause.EXPIRED, "it was not extended before its deadline came near");
  private static final LeaseEnd HELD_OUT =
      new LeaseEnd(Cause.RENEWAL_ENDED, "it was held for as long as its request allowed");

  final ServiceContext context;
  final List<String> names;
  final String id;
  final @Nullable QueuePlace place;
  final Listeners listeners;
  final Tenure tenure; // guarded by this

  private @Nullable Holder holder; // guarded by this
  private @Nullable Cancellable timer; // guarded by this; of what is due next
  private long timerNanos; // guarded by this

  private final CompletableFuture<ReleaseResult> result = new CompletableFuture<>();
  private boolean releaseSent; // guarded by this
  private @Nullable Runnable onReleaseSent; // guarded by this
  private final @Nullable Pending[] pending; // these are guarded by this; of the release
  private NodeRequest.@Nullable Release request; // guarded by this; written before the first send
  private int unhanded; // guarded by this; requests that were handed over without memory for it
  private boolean mustEnd; // guarded by this; its end had no memory
  private @Nullable Turn unsent; // guarded by this; the release that had no memory
  private int unbooked; // guarded by this; nodes whose release had no memory, as bits

  Owner(
      ServiceContext context,
      List<String> names,
      String id,
      @Nullable QueuePlace place,
      Listeners listeners,
      LeaseRequest request) {
    this.context = context;
    this.names = names;
    this.id = id;
    this.place = place;
    this.listeners = listeners;
    this.tenure =
        new Tenure(
            context.rules,
            context.quorum,
            place != null,
            request.isUnlessHeld(),
            request.isShared());
    this.pending = new Pending[context.nodes.size()];
  }

  // What is due.

  /** Sets whose lease it is, before others can find that. */
  synchronized void hold(Holder held) {
    holder = held;
  }

  @Override
  void wake() {
    try {
      handAgain();
      endAgain();
      bookAgain();
      while (doNext()) {}
    } catch (Throwable e) {
      context.liveLeases.stalled(this);
      throw e;
    }
  }

  /** Does the first thing that is due; else sets the timer, and returns false. */
  private boolean doNext() {
    long nowNanos = context.ticker.monotonicNanos();
    long nowWallMicros = context.ticker.wallMicros();
    Turn turn;
    LeaseEnd how;
    synchronized (this) {
      turn = tenure.due(nowNanos, nowWallMicros);
      if (turn.outcome() == Outcome.NOTHING) {
        return !setTimer();
      }
      how = loss(turn.outcome());
      if (how != null) {
        held().ends(how);
      }
    }
    Extending extending = turn.extending();
    if (how != null) {
      held().tell(how);
    } else if (extending != null) {
      extend(extending, nowNanos);
    } else if (turn.outcome() == Outcome.REPEATED) {
      sendTo(turn.targets());
    } else if (turn.outcome() == Outcome.GIVEN_UP) {
      withdraw();
    } else {
      releaseIfDue(turn);
    }
    return true;
  }

  private static @Nullable LeaseEnd loss(Outcome outcome) {
    return switch (outcome) {
      case EXPIRED -> EXPIRED;
      case HELD_OUT -> HELD_OUT;
      default -> null;
    };
  }

  private synchronized Holder held() {
    return Objects.requireNonNull(holder);
  }

  private void extend(Extending extending, long startNanos) {
    Holder held = held();
    try {
      held.send(extending, startNanos);
    } catch (Throwable e) {
      synchronized (this) { // first, because even a line takes memory
        tenure.failed(extending.tag(), context.ticker.monotonicNanos());
      }
      Log.LOG.error("{} could not be extended; this is a defect of the lock library", held, e);
    }
  }

  /** Sets the timer for what is due next, if it is due before the timer strikes. */
  void plan() {
    try {
      synchronized (this) {
        setTimer();
      }
    } catch (Throwable e) {
      context.liveLeases.stalled(this);
      throw e;
    }
  }

  /** Sets the timer; returns false if something became due meanwhile. */
  private boolean setTimer() {
    assert Thread.holdsLock(this);
    long nowNanos = context.ticker.monotonicNanos();
    long delayNanos = tenure.delayNanos(nowNanos, context.ticker.wallMicros());
    while (delayNanos < Long.MAX_VALUE) {
      if (timer != null && nowNanos + delayNanos - timerNanos > -TIMER_TOLERANCE_NANOS) {
        return true;
      }
      cancelTimer();
      timer = context.scheduler.schedule(this::strike, Math.max(0, delayNanos));
      // The delay counts from now on, which is too late if this thread was paused meanwhile.
      nowNanos = context.ticker.monotonicNanos();
      timerNanos = nowNanos + delayNanos;
      delayNanos = tenure.delayNanos(nowNanos, context.ticker.wallMicros());
      if (delayNanos <= 0) {
        return false;
      }
    }
    cancelTimer();
    return true;
  }

  private void cancelTimer() {
    if (timer != null) {
      timer.cancel();
      timer = null;
    }
  }

  private void strike() {
    synchronized (this) {
      timer = null;
    }
    wake();
  }

  /** Finds out whether a quorum still holds its lease after this node was reset. */
  void reset(int node) {
    synchronized (this) {
      tenure.reset(node, context.ticker.monotonicNanos());
    }
    wake();
  }

  /** Finds out the same after resets of which nobody told it. */
  void confirm() {
    synchronized (this) {
      for (int node = 0; node < pending.length; node++) {
        tenure.reset(node, context.ticker.monotonicNanos());
      }
    }
    wake();
  }

  // Its requests and its end.

  /** Records that a request was handed to every node, or failed to be. */
  void handed(int tag, boolean all) {
    Turn turn;
    try {
      turn = hand(tag, all);
    } catch (Throwable e) {
      synchronized (this) {
        unhanded++;
      }
      context.liveLeases.stalled(this);
      throw e;
    }
    releaseIfDue(turn);
  }

  private synchronized Turn hand(int tag, boolean all) {
    return tenure.handed(tag, all, context.ticker.monotonicNanos());
  }

  /** Records that requests were handed over, where memory was short; nobody decides on them. */
  private void handAgain() {
    while (true) {
      synchronized (this) {
        if (unhanded == 0) {
          return;
        }
        unhanded--;
      }
      handed(0, false);
    }
  }

  /**
   * Ends the owner: releases the keys that it may have left on nodes, and removes its tickets,
   * which wakes the next waiter. Repeated calls only return the result.
   *
   * @return the future result, known once it is settled or a node timeout has passed
   */
  CompletableFuture<ReleaseResult> end() {
    try {
      release();
    } catch (Throwable e) {
      synchronized (this) {
        mustEnd = true;
      }
      context.liveLeases.stalled(this);
      throw e;
    }
    return result;
  }

  /** Ends, and sends its release, if there was no memory for it. */
  private void endAgain() {
    Turn late;
    boolean ends;
    synchronized (this) {
      late = unsent;
      unsent = null;
      ends = mustEnd;
      mustEnd = false;
    }
    if (late != null) {
      releaseIfDue(late);
    }
    if (ends) {
      end();
    }
  }

  private void release() {
    Turn turn;
    boolean started;
    synchronized (this) {
      started = tenure.release() != null;
      turn = tenure.end(true, context.ticker.monotonicNanos());
      if (!started) {
        cancelTimer();
      }
    }
    releaseIfDue(turn);
    if (started && place != null) {
      place.removeTickets(context.nodes, names); // its caller first went on, and has given up now
    }
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
    try {
      release(turn);
    } catch (Throwable e) {
      synchronized (this) {
        unsent = turn;
      }
      context.liveLeases.stalled(this);
      throw e;
    }
  }

  private void release(Turn turn) {
    Ticket ticket = null;
    if (place != null) {
      ticket = turn.isLast() ? place.forgetTicket() : place.ticket();
    }
    begin(turn, ticket);
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

  private void begin(Turn turn, @Nullable Ticket ticket) {
    long nowNanos = context.ticker.monotonicNanos();
    synchronized (this) {
      request = tenure.release(names, id, turn.isLast(), ticket);
    }
    if (isDecided()) {
      result.complete(ReleaseResult.NOT_HELD);
      return;
    }
    sendTo(turn.targets());
    context.timeouts.add(this, nowNanos);
  }

  private ReleaseRound round() {
    assert Thread.holdsLock(this);
    return Objects.requireNonNull(tenure.release());
  }

  /** Sends the release to these nodes. A failure counts as a lost answer, and spares the others. */
  private void sendTo(int targets) {
    for (int rest = targets; rest != 0; rest &= rest - 1) {
      int node = Integer.numberOfTrailingZeros(rest);
      try {
        send(node);
      } catch (Throwable e) {
        failed(node); // first, because even a line takes memory
        Log.LOG.error("A release failed; this is a defect of the lock library", e);
      }
    }
  }

  private void failed(int node) {
    synchronized (this) {
      unbooked |= 1 << node;
    }
    context.liveLeases.stalled(this);
  }

  /** Books the release as unanswered where memory was short. */
  private void bookAgain() {
    while (true) {
      int node;
      synchronized (this) {
        if (unbooked == 0) {
          return;
        }
        node = Integer.numberOfTrailingZeros(unbooked);
        unbooked &= unbooked - 1;
      }
      onReply(node, NOT_SENT);
    }
  }

  private void send(int node) {
    NodeRequest.Release release;
    synchronized (this) {
      release = Objects.requireNonNull(request);
      if (!round().owes(node)) {
        return;
      }
    }
    Pending sent = context.nodes.get(node).send(release, node, this);
    boolean tooLate;
    synchronized (this) {
      pending[node] = sent;
      tooLate = round().isGivenUp(node);
    }
    if (tooLate) {
      sent.withdraw();
    }
  }

  @Override
  public void onReply(int node, NodeReply reply) {
    ReleaseRound now;
    try {
      now = book(node, reply);
    } catch (Throwable e) {
      failed(node);
      throw e;
    }
    if (now.isSettled()) {
      result.complete(result(now));
    }
    if (now.owes(node)) {
      plan();
    }
  }

  private synchronized ReleaseRound book(int node, NodeReply reply) {
    tenure.released(node, reply, context.ticker.monotonicNanos());
    ReleaseRound now = round();
    if (now.isComplete()) {
      cancelTimer();
    }
    return now;
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
    }
    result.complete(atLast);
    plan();
  }

  /** Returns true if the result is open, and a node is busy with what came before. */
  private synchronized boolean awaitsItsTurn() {
    if (result.isDone() || !tenure.mayHaveLeftKeys(context.ticker.monotonicNanos())) {
      return false;
    }
    for (int node = 0; node < pending.length; node++) {
      Pending each = pending[node];
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

  private void withdraw() {
    @Nullable Pending[] unanswered;
    synchronized (this) {
      unanswered = pending.clone();
    }
    for (Pending sent : unanswered) {
      if (sent != null) {
        sent.withdraw();
      }
    }
  }

  /** For example {@code owner of orders/42}. */
  @Override
  public String toString() {
    return "owner of " + Brief.names(names);
  }
}
