package io.redlock.driver;

import io.redlock.AcquireResult;
import io.redlock.AcquireResult.By;
import io.redlock.Lease;
import io.redlock.LeaseRequest;
import io.redlock.RetryStrategy.Cause;
import io.redlock.WaitStatus;
import io.redlock.driver.CallState.Phase;
import io.redlock.protocol.AcquireRound;
import io.redlock.protocol.Decision;
import io.redlock.protocol.Decision.Outcome;
import io.redlock.protocol.LeaseTerms;
import io.redlock.protocol.LookRound;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.NodeRequest.Ticket;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * One call for a lease: attempts, each with a new owner id, and the pauses between them, until one
 * succeeds or the wait ends. {@link CallState} decides what to do; this class adds the monitor, the
 * attempts, its place in the queues, and its future. Needs no thread of its own; blocking calls
 * wait for its future.
 */
final class AcquireCall extends LocalQueue.Waiter {

  private static final int CAUSES = Cause.values().length;

  private final ServiceContext context;
  private final Listeners listeners;
  private final long maxWaitNanos;
  final CompletableFuture<AcquireResult> result = new CompletableFuture<>();
  private volatile @Nullable QueuePlace place; // null unless the request is fair and has started
  private volatile @Nullable AcquireResult taken; // written under this; what its caller gets
  private final @Nullable NameChoice choice; // guarded by this; null if it wants all names
  private boolean isLooking; // guarded by this; between two attempts of a pass
  private final int[] failures = new int[CAUSES]; // guarded by this; of each cause
  private volatile @Nullable FailedAttempt lastRefusal; // written under this
  private int pondered; // guarded by this; the plan for which a strategy is asked; 0 for none

  private String owner = ""; // set before it joins the queues
  private CallState state; // guarded by this
  private long dueNanos; // guarded by this; when a phase that is timed ends
  private @Nullable AcquireResult end; // guarded by this; what it ends with, once that is known
  private @Nullable Throwable failure; // guarded by this; why it ends without
  private boolean wasBehind; // guarded by this; others, when it joined its queue
  private long movedNanos = -1; // guarded by this; when it may ask as the head; negative for none
  private int woken; // guarded by this; the nodes that have woken it, as bits, until it looks
  private @Nullable Owner running; // guarded by this; null between attempts
  private long started; // guarded by this; the number of attempts

  AcquireCall(ServiceContext context, LeaseRequest request) {
    this(context, request, context.listeners.ofCall(request)); // first: user code, which may block
  }

  private AcquireCall(ServiceContext context, LeaseRequest request, Listeners listeners) {
    super(
        context.agenda, request, context.settings.names(request), context.ticker.monotonicNanos());
    this.context = context;
    this.listeners = listeners;
    context.callbacks.expect(Settings.saturatedNanos(request.ttl()));
    this.maxWaitNanos = request.waitUpTo().map(Settings::saturatedNanos).orElse(0L);
    this.choice =
        request.isAnyOf()
            ? new NameChoice(
                List.copyOf(request.resources()),
                keys,
                context.random,
                2 * context.settings.nodeTimeoutNanos())
            : null;
    this.state = CallState.begin(request);
  }

  /** Starts the call. Draws its ids here, on the caller's thread: their source may block. */
  CompletableFuture<AcquireResult> start() {
    if (enter()) {
      drain();
    } else {
      result.completeExceptionally(closed());
    }
    return result;
  }

  private void begin() {
    place =
        request.isFair()
            ? context.fairWaiters.enter(waits(), request.isShared(), this::woken)
            : null;
    owner = context.ownerId(request.note());
    boolean mayAsk = !isQueued() || context.queues.join(this) || request.isAnyOf();
    synchronized (this) {
      wasBehind = !mayAsk;
      become(state.joined(mayAsk, leftNanos()));
    }
  }

  private boolean waits() {
    return maxWaitNanos > 0;
  }

  /** Returns true if it takes its turn among the waiting calls of this service. */
  private boolean isQueued() {
    return waits() && !request.isUnlessHeld();
  }

  /** Returns how it waits; empty for a call without a wait, and for one that has ended. */
  Optional<WaitStatus> status() {
    return waits() && !result.isDone()
        ? Optional.of(new WaitStatus(request.resources(), 1, sinceStart()))
        : Optional.empty();
  }

  private Duration sinceStart() {
    return Duration.ofNanos(context.ticker.monotonicNanos() - startNanos);
  }

  private long leftNanos() {
    return maxWaitNanos - (context.ticker.monotonicNanos() - startNanos);
  }

  /** Starts, and waits for the result; an interrupt cancels the call. */
  AcquireResult await() throws InterruptedException {
    blocks = true;
    try {
      return take(context.scheduler.await(start()));
    } catch (Throwable e) { // nobody gets a lease
      cancel();
      throw e;
    }
  }

  AcquireResult awaitUninterruptibly() {
    blocks = true;
    try {
      return take(context.scheduler.awaitUninterruptibly(start()));
    } catch (Throwable e) { // likewise
      cancel();
      throw e;
    }
  }

  /**
   * Returns what its caller gets, on the thread that hands it over. This looks at the lease for the
   * last time: one that has ended by now is none. From here on it is renewed, and listeners know.
   */
  AcquireResult take(AcquireResult end) {
    HeldLease lease = (HeldLease) end.lease().orElse(null);
    synchronized (this) {
      if (taken != null) {
        return taken;
      }
      taken = lease == null || lease.begin() ? end : AcquireResult.tooSlow(end.votes());
    }
    AcquireResult told = taken;
    if (told != end) {
      discard(end);
    } else if (lease != null) {
      lease.taken(blocks);
    }
    Duration took = sinceStart();
    listeners.report(listener -> listener.onAcquire(request, told, took));
    return told;
  }

  /** Cancels the call; every grant, also a later one, is released. */
  void cancel() {
    if (fails(new CancellationException())) {
      return;
    }
    boolean isUntaken;
    synchronized (this) {
      isUntaken = taken == null && end != null;
      taken = isUntaken ? end : taken;
    }
    if (taken != null) {
      discard(taken);
    }
    if (isUntaken) {
      reportGivingUp();
    }
  }

  /** Ends the call because the service is closed, unless a lease is being handed out. */
  void fail() {
    fails(closed());
  }

  static IllegalStateException closed() {
    return new IllegalStateException("this Redlock is closed");
  }

  private static void discard(AcquireResult end) {
    end.lease().ifPresent(lease -> ((HeldLease) lease).discard());
  }

  private void reportGivingUp() {
    Duration waited = sinceStart();
    listeners.report(listener -> listener.onGiveUp(request, waited));
  }

  boolean yielded(@Nullable AcquireResult yielded) {
    return yielded != null && yielded == taken;
  }

  /** Ends with this result, unless it has ended: then nobody wants the lease. */
  private void ends(AcquireResult with) {
    boolean isOpen;
    synchronized (this) {
      isOpen = isOpen();
      end = isOpen ? with : end;
    }
    if (!isOpen) {
      discard(with);
    }
    drain();
  }

  /**
   * Ends without a result, and ends the attempt under way: who closes the service waits for that.
   * Returns false if it has ended.
   */
  private boolean fails(Throwable why) {
    Owner last;
    synchronized (this) {
      if (!isOpen()) {
        return false;
      }
      failure = why;
      last = running;
    }
    drain();
    if (last != null) {
      last.end();
    }
    return true;
  }

  private boolean isOpen() {
    assert Thread.holdsLock(this);
    return end == null && failure == null;
  }

  /**
   * Carries the end out; done again if it throws. Leaves the queues first, because its caller may
   * release the lease, or close the service, as soon as it has the result.
   */
  private void conclude() {
    AcquireResult with;
    Throwable why;
    Owner last;
    synchronized (this) {
      become(state.over());
      with = end;
      why = failure;
      last = running;
    }
    boolean isHeld = with != null && with.lease().isPresent();
    if (!isHeld && last != null) {
      last.end();
    } else if (!isHeld && place != null) { // else its owner has done so or will
      place.removeTickets(context.nodes, keys, 0);
    }
    if (place != null) {
      context.fairWaiters.leave(place);
    }
    context.queues.leave(this);
    if (with != null) {
      result.complete(with);
      if (isHeld && request.isShared()) {
        context.queues.shared(keys);
      }
    } else if (result.completeExceptionally(
        why instanceof RuntimeException ? why : new IllegalStateException(why))) {
      reportGivingUp();
    }
  }

  private @Nullable QueuePlace place() {
    QueuePlace own = place;
    return own == null || !request.isShared() || !isQueued() || context.queues.isHead(this)
        ? own
        : own.passing(); // Q8
  }

  /** Returns true if it need not wait for other calls of this service. */
  private boolean mayAsk() {
    return !isQueued() || place != null && place.ticket() != null || context.queues.mayAsk(this);
  }

  private void giveUp() {
    FailedAttempt refusal = refusal();
    ends(refusal != null ? refusal.result() : AcquireResult.contended(By.UNKNOWN, context.noVotes));
  }

  /** Returns the last refusal: that of the queue if this call has asked no node. */
  @Nullable FailedAttempt refusal() {
    FailedAttempt refusal = lastRefusal;
    return refusal != null ? refusal : context.queues.refusal(this);
  }

  /** Returns the label of the client that was in the way at last, if it is known. */
  Optional<String> refusedBy() {
    FailedAttempt refusal = refusal();
    return refusal == null ? Optional.empty() : refusal.votes().holder();
  }

  // The attempts.

  @Override
  void proceed(long delayNanos) {
    synchronized (this) {
      movedNanos = delayNanos; // takes no memory, so that it cannot throw
    }
    drain();
  }

  @Override
  boolean takeOver(Lease released) {
    HeldLease from = (HeldLease) released;
    LeaseTerms terms = context.terms(request.ttl());
    synchronized (this) {
      HeldLease next =
          state.mayTakeOver() && leftNanos() > 0 && isOpen() && !context.closed.get()
              ? from.next(request, listeners)
              : null;
      if (next == null) {
        return false;
      }
      AcquireResult acquired = AcquireResult.acquired(next, context.noVotes);
      if (!from.owner.pass(next, terms)) { // from here on nothing takes memory
        return false;
      }
      end = acquired;
    }
    drain();
    return true;
  }

  private void woken(int node) {
    synchronized (this) {
      woken |= 1 << node;
    }
    drain();
  }

  private void become(CallState next) {
    assert Thread.holdsLock(this);
    if (next.plan() != state.plan()) {
      dueNanos = context.ticker.monotonicNanos() + next.nanos();
    }
    state = next;
  }

  @Override
  boolean step(long nowNanos, long nowWallMicros) {
    Runnable due;
    synchronized (this) {
      if (movedNanos >= 0) {
        become(state.moved(movedNanos, leftNanos()));
        movedNanos = -1;
      }
      if (woken != 0) {
        QueuePlace own = place();
        boolean hasTickets = own != null && own.ticket() != null;
        become(state.woken(woken, context.quorum, hasTickets, leftNanos()));
        woken = 0;
      }
      if (state.isTimed() && dueNanos - nowNanos <= 0) {
        become(
            state.phase() == Phase.PONDERS
                ? pausedByDefault() // the strategy takes too long
                : state.due(mayAsk(), leftNanos()));
      }
      due = due();
      if (due == null) {
        return state.phase() == Phase.OVER
            ? leaves()
            : rests(nowNanos, state.isTimed() ? dueNanos - nowNanos : Agenda.NEVER);
      }
    }
    try {
      due.run();
    } catch (RuntimeException | Error e) { // of the source of ids, or no memory
      if (!fails(e)) {
        throw e;
      }
    }
    return true;
  }

  private @Nullable Runnable due() {
    assert Thread.holdsLock(this);
    if (result.isDone()) {
      return null;
    }
    if (!isOpen()) {
      return this::conclude;
    }
    if (context.closed.get()) {
      return this::fail;
    }
    if (state.plan() == 0) {
      return this::begin;
    }
    return switch (state.phase()) {
      case OVER -> this::giveUp;
      case PONDERS -> pondered == state.plan() ? null : this::ponder;
      case ASKS -> running == null && !isLooking ? this::ask : null;
      default -> null;
    };
  }

  private void ask() {
    List<String> wanted = keys;
    boolean looks = false;
    synchronized (this) {
      if (choice != null) {
        long nowNanos = context.ticker.monotonicNanos();
        wanted = choice.next(state.plan(), context.queues::isLeased, nowNanos);
        looks = wanted.size() > 1;
        isLooking = looks;
      }
    }
    if (looks) {
      look(wanted);
    } else {
      attempt(wanted);
    }
  }

  /** Starts an attempt, under a new owner id, unless the call has ended. */
  private void attempt(List<String> wanted) {
    Owner next;
    synchronized (this) {
      if (state.phase() != Phase.ASKS || !isOpen()) {
        return;
      }
      started++;
      String id = started == 1 ? owner : owner + "-" + started; // A1
      next = new Owner(context, wanted, id, place(), request, mayPass());
      running = next;
    }
    LeaseTerms terms = context.terms(request.ttl());
    long token = context.clock.nextToken();
    long startNanos = context.ticker.monotonicNanos();
    long startWallMicros = context.ticker.wallMicros();
    synchronized (next) {
      next.tenure.begin(terms, token, startNanos, startWallMicros);
    }
    next.enter();
    propose(next, startNanos, startNanos + context.settings.nodeTimeoutNanos());
    next.drain();
  }

  /** Returns true if others of its queue may take over its lease: one came before, or waits. */
  private boolean mayPass() {
    assert Thread.holdsLock(this);
    return isQueued()
        && !request.isFair()
        && !request.isShared()
        && choice == null
        && (wasBehind || context.queues.isFollowed(this)); // P1, P2
  }

  /** Adds the round that has begun, unless the attempt was ended since. */
  private void propose(Owner next, long startNanos, long endNanos) {
    long micros = request.isShared() ? context.clock.micros() : 0; // S4
    synchronized (next) {
      if (next.tenure.round() > 0) {
        QueuePlace own = next.place;
        Ticket ticket = own == null ? null : own.ticket(next.tenure.token());
        NodeRequest grant = next.tenure.grant(next.names, next.id, ticket, micros);
        next.rounds.add(new Attempt(next, grant, startNanos, endNanos));
      }
    }
  }

  /**
   * One round of an attempt to acquire a lease. An attempt has up to three, under one owner id and
   * within one node timeout. It ends with a lease, or fails; then every key that it may have left
   * is released.
   */
  private final class Attempt extends Asker.Round {
    private final Owner asking;

    Attempt(Owner owner, NodeRequest grant, long startNanos, long endNanos) {
      super(owner, grant, owner.tenure.round(), startNanos, endNanos);
      this.asking = owner;
    }

    @Override
    @Nullable Runnable report(Decision decision) {
      if (decision.outcome() == Outcome.PROPOSED) {
        propose(asking, decidedNanos, endNanos);
      }
      AcquireRound attempted = decision.attempted();
      if (attempted == null) {
        return null;
      }
      if (decision.outcome() == Outcome.HELD) {
        HeldLease lease = lease(attempted);
        lease.enter();
        AcquireResult acquired = AcquireResult.acquired(lease, votes());
        return () -> ends(acquired);
      }
      Log.LOG.debug("{}: {}", owner, decision.outcome());
      FailedAttempt failed = new FailedAttempt(decision.outcome(), attempted, votes());
      return () -> failed(failed);
    }

    private HeldLease lease(AcquireRound round) {
      long token;
      synchronized (owner) {
        token = owner.tenure.leaseToken();
      }
      return new HeldLease(
          asking, AcquireCall.this.request, listeners, tried(), token, round.start());
    }

    @Override
    Runnable report(Throwable why) {
      return () -> fails(why);
    }
  }

  /** Returns the names of the attempt under way: those of the request, or one of them. */
  private synchronized Set<String> tried() {
    return choice == null ? request.resources() : Collections.singleton(choice.tried());
  }

  private void look(List<String> wanted) {
    NodeRequest request = new NodeRequest.Look(wanted, context.ticker.wallMicros());
    Poll.ask(context, request, replies -> look(wanted, replies).isDecided())
        .thenAccept(answers -> looked(look(wanted, Poll.replies(answers))))
        .whenComplete(
            (looked, why) -> {
              if (why != null) { // nobody else hears of it
                fails(why);
              }
            });
  }

  private LookRound look(List<String> wanted, List<@Nullable NodeReply> replies) {
    return new LookRound(context.quorum, wanted.size(), replies);
  }

  private void looked(LookRound look) {
    synchronized (this) {
      isLooking = false;
      NameChoice looking = Objects.requireNonNull(choice);
      looking.looked(look, context.ticker.monotonicNanos());
      if (lastRefusal != null && looking.isOver(context.ticker.monotonicNanos())) {
        refused(lastRefusal);
      }
    }
    drain();
  }

  private void failed(FailedAttempt outcome) {
    synchronized (this) {
      running = null;
      lastRefusal = outcome;
      NameChoice tried = outcome.isRefused() ? choice : null;
      if (tried != null) {
        tried.refused(outcome.round().rivals().remainingMillis(), context.ticker.monotonicNanos());
      }
      if (tried == null || tried.isOver(context.ticker.monotonicNanos())) {
        refused(outcome);
      }
    }
    drain();
  }

  private void refused(FailedAttempt outcome) {
    assert Thread.holdsLock(this);
    if (isQueued()) {
      context.queues.refused(this, outcome);
    }
    failures[outcome.cause().ordinal()]++;
    long heldMillis =
        choice == null
            ? outcome.round().rivals().remainingMillis()
            : choice.remainingMillis(context.ticker.monotonicNanos());
    long patienceNanos = context.settings.nodeTimeoutNanos();
    CallState next = state.refused(outcome, heldMillis, patienceNanos, leftNanos());
    if (next.clockLearned() && !state.clockLearned() && place != null) {
      place.restart();
    }
    become(next);
  }

  private CallState pausedByDefault() {
    assert Thread.holdsLock(this);
    Cause cause = Objects.requireNonNull(lastRefusal).cause();
    long nanos = context.pauses.byDefaultNanos(failures[cause.ordinal()], cause);
    return state.paused(state.plan(), nanos, leftNanos());
  }

  /**
   * Has the pause chosen. The strategy of the user may block, so a callback thread asks it, while
   * the timer goes on; as long as it is busy with an older question, the default one decides.
   */
  private void ponder() {
    Cause cause;
    int count;
    int plan;
    synchronized (this) {
      if (pondered != 0 || !context.pauses.mayBlock()) {
        become(pausedByDefault());
        return;
      }
      plan = state.plan();
      pondered = plan;
      cause = Objects.requireNonNull(lastRefusal).cause();
      count = failures[cause.ordinal()];
    }
    context.callbacks.other(
        () -> {
          long nanos = context.pauses.chosenNanos(count, cause);
          synchronized (this) {
            pondered = 0;
            become(state.paused(plan, nanos, leftNanos()));
          }
          drain();
        });
  }

  /** For example {@code call for orders/42 for 30s}. */
  @Override
  public String toString() {
    return "call for " + request;
  }
}
