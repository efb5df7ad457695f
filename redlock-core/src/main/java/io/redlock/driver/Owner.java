package io.redlock.driver;

import io.redlock.Lease;
import io.redlock.LeaseEnd;
import io.redlock.LeaseEnd.Cause;
import io.redlock.LeaseRequest;
import io.redlock.ReleaseResult;
import io.redlock.protocol.Deadline;
import io.redlock.protocol.ReleaseRound;
import io.redlock.protocol.Tenure;
import io.redlock.protocol.Tenure.Due;
import io.redlock.protocol.Tenure.Phase;
import io.redlock.spi.LockNode;
import io.redlock.spi.LockNode.Pending;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.NodeRequest.Ticket;
import io.redlock.text.Brief;
import java.util.ArrayList;
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
final class Owner extends Agenda.Item implements LockNode.ReplyHandler {

  /** A round of it: sent to every node, decided, carried out, reported. */
  interface Round extends Runnable {
    /** Returns true if there is something to do for it. Called under the owner's lock. */
    boolean isDue(long nowNanos);

    /** Returns the time until its timeout. */
    long delayNanos(long nowNanos);

    /** Returns true if only what came of it is left to carry out. */
    boolean hasEnded();

    /** Sends it, or decides it; if that throws, it ends. */
    void step(long nowNanos, long nowWallMicros);

    /** Carries out what came of it, up to the report, which is made when it is run. */
    void end();
  }

  /** Its lease, which keeps its own end. */
  interface Held extends Lease {
    /** Begins the extend that is due. */
    void extend(Due due, long nowNanos, long nowWallMicros);

    /** Ends the lease, unless it has ended. Called under the owner's lock. */
    void ends(LeaseEnd how);

    /** Returns the report of its end once, when that has come. Called under the owner's lock. */
    @Nullable Runnable takeReport();

    /** Takes notice that its deadline may have moved. Called under the owner's lock. */
    void lengthened();

    /** Returns true if its holder has released it. */
    boolean isReleased();
  }

  private static final NodeReply NOT_SENT = NodeReply.unknown("not sent");
  private static final LeaseEnd EXPIRED =
      new LeaseEnd(Cause.EXPIRED, "it was not extended before its deadline came near");
  private static final LeaseEnd HELD_OUT =
      new LeaseEnd(Cause.RENEWAL_ENDED, "it was held for as long as its request allowed");
  private static final LeaseEnd BY_WALL_CLOCK =
      new LeaseEnd(Cause.EXPIRED, "the wall clock was set forward, or the machine slept");

  final ServiceContext context;
  final Listeners listeners;
  final Tenure tenure; // guarded by this
  final String id;

  final List<String> names;
  final @Nullable QueuePlace place;

  private final List<Round> rounds = new ArrayList<>(1); // guarded by this, as what follows
  private @Nullable Held lease; // once it has acquired one
  private int resets; // nodes that were reset since it entered, as bits

  private final CompletableFuture<ReleaseResult> result = new CompletableFuture<>();
  private final @Nullable Pending[] pending; // of the release
  private NodeRequest.@Nullable Release release;
  private long releaseEndNanos; // when the wait for the result ends
  private int unbooked; // nodes whose answer to the release could not be recorded, as bits
  private boolean isReleaseSent;
  private @Nullable Runnable onReleaseSent;

  Owner(
      ServiceContext context,
      List<String> names,
      String id,
      @Nullable QueuePlace place,
      Listeners listeners,
      LeaseRequest request) {
    super(context.agenda);
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

  @Override
  boolean step(long nowNanos, long nowWallMicros) {
    Due due;
    Round round = null;
    Runnable ended = null;
    synchronized (this) {
      due = tenure.due(nowNanos, nowWallMicros);
      if (due != Due.RELEASE) {
        ended = lease == null ? null : lease.takeReport();
        round = ended == null ? dueRound(nowNanos) : null;
      }
      boolean isIdle = due == Due.NOTHING && ended == null && round == null;
      boolean isOverdue = (isStruck() || isClosing()) && releaseNanos(nowNanos) <= 0;
      if (isIdle && unbooked == 0 && !isOverdue) {
        return rest(nowNanos, nowWallMicros);
      }
    }
    if (ended != null) {
      return apart(ended);
    }
    if (round != null) {
      return carryOn(round, nowNanos, nowWallMicros);
    }
    act(due, nowNanos, nowWallMicros);
    return true;
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

  private @Nullable Round dueRound(long nowNanos) {
    assert Thread.holdsLock(this);
    for (Round round : rounds) {
      if (round.isDue(nowNanos)) {
        return round;
      }
    }
    return null;
  }

  private boolean carryOn(Round round, long nowNanos, long nowWallMicros) {
    if (!round.hasEnded()) {
      round.step(nowNanos, nowWallMicros);
      return true;
    }
    round.end();
    synchronized (this) {
      rounds.remove(round);
    }
    return apart(round);
  }

  /** Adds a round that has begun. */
  void add(Round round) {
    assert Thread.holdsLock(this);
    rounds.add(round);
  }

  private void act(Due due, long nowNanos, long nowWallMicros) {
    switch (due) {
      case NOTHING -> settle(nowNanos);
      case LOSS -> expire(nowNanos, nowWallMicros);
      case RENEWAL, CONFIRMATION -> lease().extend(due, nowNanos, nowWallMicros);
      case END -> {
        synchronized (this) {
          tenure.end(true); // R4
        }
      }
      case RELEASE -> release(nowNanos);
      case REPEAT -> repeat();
      case GIVING_UP -> giveUp();
    }
  }

  // The lease.

  /** Sets its lease, before others can find that. */
  void hold(Held held, long nowNanos) {
    assert Thread.holdsLock(this);
    lease = held;
    for (int node = 0; node < pending.length; node++) {
      if ((resets & 1 << node) != 0) {
        tenure.reset(node, nowNanos);
      }
    }
  }

  private Held lease() {
    return Objects.requireNonNull(held());
  }

  /** Returns its lease; null if it has none. */
  synchronized @Nullable Held held() {
    return lease;
  }

  /** Does what is due, the loss of the lease first, also if another thread is at it. */
  void wake() {
    long nowNanos = context.ticker.monotonicNanos();
    expire(nowNanos, context.ticker.wallMicros());
    drain();
  }

  private synchronized void expire(long nowNanos, long nowWallMicros) {
    if (lease != null && tenure.due(nowNanos, nowWallMicros) == Due.LOSS) {
      lease.ends(expiry(nowNanos));
    }
  }

  private LeaseEnd expiry(long nowNanos) {
    Deadline loss = tenure.lossTime();
    if (loss != null && loss.nanos() - nowNanos > 0) {
      return BY_WALL_CLOCK; // whatever that says of the renewal
    }
    return tenure.isHeldOut(nowNanos) ? HELD_OUT : EXPIRED;
  }

  /** Finds out whether a quorum still holds its lease, or holds it later, after this reset. */
  void reset(int node) {
    synchronized (this) {
      resets |= 1 << node;
      tenure.reset(node, context.ticker.monotonicNanos());
    }
    drain();
  }

  // The end.

  /**
   * Ends the owner: releases the keys that it may have left on nodes, and removes its tickets,
   * which wakes the next waiter. Repeated calls only return the result.
   *
   * @return the future result, known once it is settled or a node timeout has passed
   */
  CompletableFuture<ReleaseResult> end() {
    boolean isReleased;
    synchronized (this) {
      isReleased = tenure.release() != null;
      tenure.end(true);
    }
    drain();
    if (isReleased && place != null) {
      place.removeTickets(context.nodes, names); // its caller first went on, and has given up now
    }
    return result;
  }

  /** Runs the callback once the release of this ended owner was handed to its nodes. */
  void whenReleaseSent(Runnable callback) {
    synchronized (this) {
      if (!isReleaseSent) {
        onReleaseSent = callback;
        return;
      }
    }
    callback.run();
  }

  private void release(long nowNanos) {
    boolean isLast;
    int targets;
    synchronized (this) {
      isLast = tenure.isLast();
      release = tenure.release(names, id, place == null ? null : place.ticket());
      targets = tenure.beginRelease(nowNanos);
      releaseEndNanos = nowNanos + context.settings.nodeTimeoutNanos();
    }
    sendTo(targets);
    Runnable callback;
    synchronized (this) {
      isReleaseSent = true;
      callback = onReleaseSent;
    }
    if (callback != null) {
      callback.run();
    }
    if (targets == 0) {
      result.complete(ReleaseResult.NOT_HELD);
    }
    Ticket ticket = isLast && place != null ? place.forgetTicket() : null;
    if (ticket != null) {
      QueuePlace.removeTickets(context.nodes, names, ticket, targets);
    }
  }

  private void repeat() {
    int targets;
    synchronized (this) {
      targets = tenure.repeated();
    }
    sendTo(targets);
  }

  /** Sends the release to these nodes. A failure counts as a lost answer, and spares the others. */
  private void sendTo(int targets) {
    for (int rest = targets; rest != 0; rest &= rest - 1) {
      int node = Integer.numberOfTrailingZeros(rest);
      try {
        send(node);
      } catch (RuntimeException | Error e) {
        lost(node);
        Log.failure(this, e);
      }
    }
  }

  private synchronized void lost(int node) {
    unbooked |= 1 << node;
  }

  private void send(int node) {
    NodeRequest.Release sent;
    synchronized (this) {
      if (!round().owes(node)) {
        return;
      }
      sent = Objects.requireNonNull(release);
    }
    Pending handed = context.nodes.get(node).send(sent, node, this);
    synchronized (this) {
      pending[node] = handed;
    }
  }

  private ReleaseRound round() {
    assert Thread.holdsLock(this);
    return Objects.requireNonNull(tenure.release());
  }

  @Override
  public void onReply(int node, NodeReply reply) {
    ReleaseRound now;
    try {
      now = book(node, reply);
    } catch (RuntimeException | Error e) {
      lost(node);
      drain();
      throw e;
    }
    if (now.isSettled()) {
      result.complete(result(now));
    }
    if (now.isComplete() || now.owes(node)) {
      drain();
    }
  }

  private synchronized ReleaseRound book(int node, NodeReply reply) {
    tenure.released(node, reply, context.ticker.monotonicNanos());
    return round();
  }

  /** Returns the rest of the wait for the result of the release. */
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
    if (now.isSettled() || now.isOverdue()) {
      result.complete(result(now));
    }
  }

  /** Returns true if the result is open, and a node is busy with what came before. */
  private boolean awaitsItsTurn(long nowNanos) {
    assert Thread.holdsLock(this);
    if (isClosing() || result.isDone() || !tenure.mayHaveLeftKeys(nowNanos)) {
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
}
