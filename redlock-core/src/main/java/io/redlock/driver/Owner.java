package io.redlock.driver;

import io.redlock.ExtendResult;
import io.redlock.Lease;
import io.redlock.LeaseEnd;
import io.redlock.LeaseEnd.Cause;
import io.redlock.LeaseRequest;
import io.redlock.ReleaseResult;
import io.redlock.Votes;
import io.redlock.protocol.Deadline;
import io.redlock.protocol.Decision;
import io.redlock.protocol.Decision.Outcome;
import io.redlock.protocol.ExtendRound;
import io.redlock.protocol.ExtendRound.Purpose;
import io.redlock.protocol.LeaseTerms;
import io.redlock.protocol.ReleaseRound;
import io.redlock.protocol.Tenure;
import io.redlock.protocol.Tenure.Due;
import io.redlock.protocol.Tenure.Phase;
import io.redlock.spi.LockNode;
import io.redlock.spi.LockNode.Pending;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.Ticker;
import io.redlock.text.Brief;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * The driver of one {@link Tenure}, and the lock that guards it: sends its rounds and its release,
 * and reports what comes of them. The result of the release is known as soon as it is settled, at
 * the latest after a node timeout; in a burst of requests that timeout begins anew while nodes
 * answer those before it. No thread has to wait for it.
 */
final class Owner extends Asker implements LockNode.ReplyHandler, Runnable {

  private static final NodeReply NOT_SENT = NodeReply.unknown("not sent");
  private static final long AWAIT_MILLIS = 10;
  private static final LeaseEnd EXPIRED =
      new LeaseEnd(Cause.EXPIRED, "it was not extended before its deadline came near");
  private static final LeaseEnd HELD_OUT =
      new LeaseEnd(Cause.RENEWAL_ENDED, "it was held for as long as its request allowed");
  private static final LeaseEnd BY_WALL_CLOCK =
      new LeaseEnd(Cause.EXPIRED, "the wall clock was set forward, or the machine slept");
  private static final LeaseEnd TOO_LATE =
      new LeaseEnd(Cause.EXPIRED, "its deadline came before the extension");
  private static final LeaseEnd NOT_HELD =
      new LeaseEnd(Cause.REFUSED, "too few nodes still hold it");
  static final LeaseEnd CLOSED = new LeaseEnd(Cause.CLOSED, "its Redlock was closed");
  private static final LeaseEnd RELEASED = new LeaseEnd(Cause.RELEASED, "by its holder");

  final String id;
  final List<String> names;
  final @Nullable QueuePlace place;

  // Guarded by this, as what follows.
  volatile @Nullable Held lease; // written under this; the last to which it was passed
  private boolean isReporting;
  private int resets; // nodes that were reset since it entered, as bits

  private final @Nullable Pending[] pending; // of the release; used by its own steps only
  private NodeRequest.@Nullable Release release;
  private long releaseEndNanos; // when the wait for the result ends
  private int unbooked; // nodes whose answer to the release could not be recorded, as bits
  private int unsent = -1; // nodes to which the release could not be handed so far, as bits

  Owner(
      ServiceContext context,
      List<String> names,
      String id,
      @Nullable QueuePlace place,
      LeaseRequest request,
      boolean mayPass) {
    super(
        context,
        new Tenure(
            context.rules,
            context.quorum,
            place != null,
            request.isUnlessHeld(),
            request.isShared(),
            mayPass));
    this.names = names;
    this.id = id;
    this.place = place;
    this.pending = new Pending[context.nodes.size()];
  }

  // What is due.

  @Override
  boolean step(long nowNanos, long nowWallMicros) {
    Due due;
    Round round = null;
    boolean isEnded = false;
    synchronized (this) {
      if (isClosing()) {
        ends(CLOSED);
      }
      due = tenure.due(nowNanos, nowWallMicros);
      if (due != Due.RELEASE) {
        isEnded = !isReporting && lease != null && lease.end != null && !lease.isReported;
        isReporting |= isEnded;
        round = isEnded ? null : dueRound(nowNanos);
      }
      boolean isIdle = due == Due.NOTHING && !isEnded && round == null;
      boolean isOverdue = (isStruck() || isClosing()) && releaseNanos(nowNanos) <= 0;
      if (isIdle && unbooked == 0 && !isOverdue) {
        return rest(nowNanos, nowWallMicros);
      }
    }
    if (isEnded) {
      return apart(this); // what is marked takes no memory
    }
    if (round == null) {
      act(due, nowNanos, nowWallMicros);
    } else if (round.step(nowNanos, nowWallMicros)) {
      synchronized (this) {
        rounds.remove(round);
      }
      return apart(round);
    }
    return true;
  }

  private @Nullable Round dueRound(long nowNanos) {
    assert Thread.holdsLock(this);
    for (Round round : rounds) {
      if (round.isDue(nowNanos)) {
        return round;
      }
    }
    return null;
  }

  private boolean rest(long nowNanos, long nowWallMicros) {
    assert Thread.holdsLock(this);
    long delayNanos = Math.min(tenure.delayNanos(nowNanos, nowWallMicros), releaseNanos(nowNanos));
    for (Round round : rounds) {
      delayNanos = Math.min(delayNanos, round.delayNanos(nowNanos));
    }
    boolean isOver = tenure.phase() == Phase.ENDED && delayNanos == Agenda.NEVER;
    return isOver ? leaves() : rests(nowNanos, delayNanos);
  }

  private void act(Due due, long nowNanos, long nowWallMicros) {
    switch (due) {
      case NOTHING -> settle(nowNanos);
      case LOSS -> expire(nowNanos, nowWallMicros);
      case RENEWAL, CONFIRMATION -> extend(due, nowNanos, nowWallMicros);
      case END -> end(); // R4
      case RELEASE -> release(nowNanos);
      case REPEAT -> sendTo(repeated());
      case GIVING_UP -> giveUp();
    }
  }

  // The lease.

  /** Sets its lease, before others can find that; it has ended if the owner has. */
  void hold(Held held, long nowNanos) {
    assert Thread.holdsLock(this);
    lease = held;
    if (tenure.phase() != Phase.HOLDING) {
      held.ends(RELEASED);
    }
    tenure.reset(resets, nowNanos);
  }

  /**
   * Passes its lease on, unless the owner is to end: from now on it concerns the next one, and the
   * former one reaches it no more.
   */
  synchronized boolean pass(Held next, LeaseTerms terms) {
    Ticker ticker = context.ticker;
    if (!tenure.pass(next.fencingToken(), terms, ticker.monotonicNanos(), ticker.wallMicros())) {
      return false;
    }
    lease = next; // P5
    return true;
  }

  /** Returns the time until its lease is lost, if it is not extended; 0 or less if it is now. */
  long remainingNanos() {
    Deadline lost = tenure.lossTime();
    return lost == null
        ? 0
        : lost.remainingNanos(context.ticker.monotonicNanos(), context.ticker.wallMicros());
  }

  /** Ends its lease, unless it has ended. Called under its lock. */
  void ends(LeaseEnd how) {
    assert Thread.holdsLock(this);
    tenure.lose();
    if (lease != null) {
      lease.ends(how);
    }
  }

  /** Reports the end of its lease; done again if that throws. */
  @Override
  public void run() {
    Held ended = Objects.requireNonNull(lease);
    boolean isDone = false;
    try {
      ended.reportEnd();
      isDone = true;
    } finally {
      synchronized (this) {
        ended.isReported = isDone;
        isReporting = false;
      }
    }
  }

  /**
   * Ends its lease, unless it has ended. Keeps its keys until its deadline, or until its holder
   * releases it: in the loss margin the holder has time to stop.
   */
  void lose(LeaseEnd how) {
    synchronized (this) {
      ends(how);
    }
    drain();
  }

  /** Does what is due, the loss of the lease first, also if another thread is at it. */
  void wake() {
    long nowNanos = context.ticker.monotonicNanos();
    expire(nowNanos, context.ticker.wallMicros());
    drain();
  }

  private synchronized void expire(long nowNanos, long nowWallMicros) {
    if (lease != null && tenure.due(nowNanos, nowWallMicros) == Due.LOSS) {
      ends(expiry(nowNanos));
    }
  }

  private LeaseEnd expiry(long nowNanos) {
    Deadline loss = tenure.lossTime();
    if (loss != null && loss.nanos() - nowNanos > 0) {
      return BY_WALL_CLOCK; // whatever that says of the renewal
    }
    return tenure.isHeldOut(nowNanos) ? HELD_OUT : EXPIRED;
  }

  /** Finds out at this time whether a quorum holds its lease, or will, after this reset. */
  void reset(int node, long dueNanos) {
    synchronized (this) {
      resets |= 1 << node;
      tenure.reset(1 << node, dueNanos);
    }
    drain();
  }

  // Extends.

  /** Extends the lease for its holder, if it is the owner's. */
  CompletableFuture<ExtendResult> extend(Held held, LeaseTerms terms) {
    long micros = context.clock.micros();
    long nowNanos = context.ticker.monotonicNanos();
    long nowWallMicros = context.ticker.wallMicros();
    Extension extension;
    boolean isHeld;
    synchronized (this) {
      isHeld = tenure.phase() == Phase.HOLDING && held == lease;
      ExtendRound next = tenure.next(Purpose.CALLED, terms, nowNanos, nowWallMicros);
      extension = isHeld ? begin(held, next, micros) : new Extension(held, next, micros);
    }
    if (isHeld) {
      drain();
    } else {
      extension.finish(ExtendResult.lost(context.noVotes)); // E8
    }
    return extension.future;
  }

  private void extend(Due due, long nowNanos, long nowWallMicros) {
    long micros = context.clock.micros();
    synchronized (this) {
      if (tenure.phase() == Phase.HOLDING) {
        Held held = Objects.requireNonNull(lease);
        begin(held, tenure.next(due, nowNanos, nowWallMicros), micros);
      }
    }
  }

  private Extension begin(Held held, ExtendRound next, long micros) {
    assert Thread.holdsLock(this);
    Extension extension = new Extension(held, next, micros);
    tenure.begin(next);
    rounds.add(extension);
    return extension;
  }

  // The end.

  /**
   * Ends this lease as released by its holder. If calls of this service wait for it, its end is
   * reported first, and then it is passed on, or the owner ends. Does nothing if it was passed on.
   */
  void release(Held released, boolean isAwaited) {
    synchronized (this) {
      if (released != lease) {
        return; // P5
      }
      if (isAwaited && tenure.phase() == Phase.HOLDING && released.ending() == null) {
        released.ends(RELEASED);
      } else {
        ends(RELEASED);
        tenure.end(true);
      }
    }
    drain();
  }

  /**
   * Ends the owner: ends its lease as released, unless it has ended, releases the keys that it may
   * have left on nodes, and removes its tickets, which wakes the next waiter.
   */
  void end() {
    boolean isReleased;
    synchronized (this) {
      ends(RELEASED);
      isReleased = tenure.release() != null;
      tenure.end(true);
    }
    drain();
    if (isReleased && place != null) {
      // Its caller first went on, and has given up now.
      place.removeTickets(context.nodes, names, 0);
    }
  }

  /**
   * Has its release handed to its nodes, if it has ended, and waits for that, so long at most.
   *
   * @return the time that is left
   */
  long awaitSent(long millis) throws InterruptedException {
    long leftMillis = millis;
    while (leftMillis > 0 && isUnsent()) {
      synchronized (this) {
        tenure.hurry(releaseEndNanos - context.settings.nodeTimeoutNanos());
        wait(AWAIT_MILLIS);
      }
      drain();
      leftMillis -= AWAIT_MILLIS;
    }
    return leftMillis;
  }

  private synchronized boolean isUnsent() {
    ReleaseRound begun = tenure.release();
    int owing = begun == null ? -1 : begun.targets() & ~begun.acknowledged();
    return tenure.phase() == Phase.ENDED && (unsent & owing) != 0;
  }

  private void release(long nowNanos) {
    NodeRequest.Release begun;
    int targets;
    synchronized (this) {
      begun = tenure.release(names, id, place == null ? null : place.ticket());
      release = begun;
      targets = tenure.beginRelease(nowNanos);
      releaseEndNanos = nowNanos + context.settings.nodeTimeoutNanos();
    }
    tell(sendTo(targets));
    if (begun.last() && place != null) {
      place.removeTickets(context.nodes, names, targets);
    }
  }

  private synchronized int repeated() {
    return tenure.repeated();
  }

  /** Sends the release to these nodes. A failure counts as a lost answer, and spares the others. */
  private ReleaseRound sendTo(int targets) {
    NodeRequest.Release sent = Objects.requireNonNull(release);
    int failed = 0;
    for (int rest = targets; rest != 0; rest &= rest - 1) {
      int node = Integer.numberOfTrailingZeros(rest);
      try {
        if (owes(node)) {
          pending[node] = context.nodes.get(node).send(sent, node, this);
        }
      } catch (RuntimeException | Error e) {
        failed |= 1 << node;
        Log.failure(this, e);
      }
    }
    synchronized (this) {
      unbooked |= failed;
      unsent = unsent & ~targets | failed;
      notifyAll();
      return round();
    }
  }

  private synchronized boolean owes(int node) {
    return round().owes(node);
  }

  private ReleaseRound round() {
    assert Thread.holdsLock(this);
    return Objects.requireNonNull(tenure.release());
  }

  @Override
  public void onReply(int node, NodeReply reply) {
    ReleaseRound now;
    boolean isDue = true;
    try {
      synchronized (this) {
        unbooked |= 1 << node; // until it is booked
        tenure.released(node, reply, context.ticker.monotonicNanos());
        unbooked &= ~(1 << node);
        now = round();
      }
      tell(now);
      isDue = now.isComplete() || now.owes(node);
    } finally {
      if (isDue) {
        drain();
      }
    }
  }

  private long releaseNanos(long nowNanos) {
    assert Thread.holdsLock(this);
    ReleaseRound round = tenure.release();
    if (round == null || round.isComplete() || round.isOverdue()) {
      return Agenda.NEVER;
    }
    return isClosing() ? 0 : releaseEndNanos - nowNanos;
  }

  /** Records lost answers to the release, or ends the wait for its result. */
  private void settle(long nowNanos) {
    ReleaseRound now;
    synchronized (this) {
      if (unbooked != 0) {
        int node = Integer.numberOfTrailingZeros(unbooked);
        tenure.released(node, NOT_SENT, nowNanos);
        unbooked &= unbooked - 1;
      } else if (awaitsItsTurn(nowNanos)) {
        releaseEndNanos = nowNanos + context.settings.nodeTimeoutNanos();
        return;
      } else {
        tenure.timedOut(Tenure.RELEASE_TAG);
      }
      now = round();
    }
    tell(now);
  }

  /** Returns true if the result is open, and a node is busy with what came before. */
  private boolean awaitsItsTurn(long nowNanos) {
    assert Thread.holdsLock(this);
    Held held = lease;
    boolean isOpen = held != null && !held.released.isDone();
    if (isClosing() || !isOpen || !tenure.mayHaveLeftKeys(nowNanos)) {
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

  /** Tells the holder of the lease the result of its release, once that is known or has no time. */
  private void tell(ReleaseRound round) {
    Held held = lease;
    if (held != null && (round.isSettled() || round.isOverdue())) {
      held.released.complete(round.known());
    }
  }

  /** Withdraws the release where it was not sent: no key can be left. */
  private void giveUp() {
    synchronized (this) {
      tenure.giveUp();
    }
    for (Pending sent : pending) {
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

  /** A lease of an owner, as far as that must know it. */
  abstract static class Held implements Lease {

    final Owner owner;
    final Listeners listeners;
    final CompletableFuture<ReleaseResult> released = new CompletableFuture<>();
    private volatile @Nullable LeaseEnd end; // written under owner, once
    private boolean isReported; // guarded by owner; its end

    Held(Owner owner, Listeners listeners) {
      this.owner = owner;
      this.listeners = listeners;
    }

    /** Returns how it has ended, or was given up before it began; null if it has not. */
    final @Nullable LeaseEnd ending() {
      return end;
    }

    final boolean isReleased() {
      LeaseEnd how = end;
      return how != null && how.cause() == Cause.RELEASED;
    }

    /** Reports its end, without locks; called again if it throws. */
    abstract void reportEnd();

    private void ends(LeaseEnd how) {
      end = end == null ? how : end; // L1
    }
  }

  private final class Extension extends Round {
    final CompletableFuture<ExtendResult> future = new CompletableFuture<>();
    private final Held lease;

    Extension(Held lease, ExtendRound next, long micros) {
      super(
          Owner.this,
          tenure.request(next, names, id, micros),
          next.tag(),
          next.start().nanos(),
          next.start().nanos() + context.settings.nodeTimeoutNanos());
      this.lease = lease;
    }

    @Override
    void decided(Decision decision) {
      if (decision.outcome() == Outcome.EXPIRED) {
        ends(TOO_LATE);
      } else if (decision.outcome() == Outcome.REFUSED) {
        ends(new LeaseEnd(Cause.REFUSED, freedBy() + NOT_HELD.detail() + ": " + votes()));
      }
    }

    @Override
    Runnable report(Decision decision) {
      Votes votes = votes();
      return () ->
          finish(
              switch (decision.outcome()) {
                case EXTENDED -> ExtendResult.extended(lease.remaining(), votes);
                case UNKNOWN -> ExtendResult.unknown(votes);
                default -> ExtendResult.lost(votes);
              });
    }

    @Override
    Runnable report(Throwable why) {
      synchronized (owner) {
        tenure.failed(tag, context.ticker.monotonicNanos());
        if (tenure.phase() == Phase.LOST) {
          ends(NOT_HELD); // unless there was memory to say more
        }
      }
      return () -> future.complete(ExtendResult.unknown(context.noVotes));
    }

    void finish(ExtendResult result) {
      future.complete(result);
      if (result.outcome() == ExtendResult.Outcome.LOST && lease.isReleased()) {
        return; // so nothing was lost
      }
      long tookNanos = owner.context.ticker.monotonicNanos() - startNanos;
      lease.listeners.report(
          listener -> listener.onExtend(lease, result, Duration.ofNanos(tookNanos)));
    }
  }
}
