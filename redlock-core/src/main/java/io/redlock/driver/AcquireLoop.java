package io.redlock.driver;

import io.redlock.AcquireResult;
import io.redlock.AcquireResult.By;
import io.redlock.Lease;
import io.redlock.LeaseRequest;
import io.redlock.RetryStrategy.Cause;
import io.redlock.WaitStatus;
import io.redlock.driver.CallState.Phase;
import io.redlock.spi.Scheduler.Cancellable;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * One call for a lease: attempts with new owner ids, and pauses between them, until one succeeds or
 * the wait ends. {@link CallState} decides what to do; this class adds the monitor, the timer, the
 * attempts and the future. Needs no thread of its own; blocking calls wait for its future.
 */
final class AcquireLoop implements LocalQueues.Waiter, FairWaiters.Waiter {

  /** The open calls of one lock service, so that closing it can end them. */
  interface OpenCalls {
    /** Returns false if the service is closed. */
    boolean add(AcquireLoop call);

    void remove(AcquireLoop call);

    boolean isClosed();
  }

  private static final int CAUSES = Cause.values().length;

  private final ServiceContext context;
  private final LeaseRequest request;
  private final List<String> names;
  private final List<String> queueNames;
  private final Pauses pauses;
  private volatile @Nullable QueuePlace place; // null unless the request is fair and has started
  private final CompletableFuture<AcquireResult> future = new CompletableFuture<>();
  private final OpenCalls openCalls;
  private final FlightEvents.@Nullable Acquire event = FlightEvents.acquiring();
  private final Listeners listeners;
  private final int[] failures = new int[CAUSES]; // guarded by this; of each cause
  private final long startNanos;
  private final long maxWaitNanos;

  private final @Nullable NameChoice choice; // guarded by this; null unless it wants one of several

  private String owner = ""; // drawn before the first attempt
  private CallState state; // guarded by this
  private @Nullable Attempt running; // guarded by this; null between attempts
  private @Nullable Cancellable timer; // guarded by this; of the current plan
  private @Nullable AttemptEnd lastRefusal; // guarded by this
  private boolean isStarting; // guarded by this; a thread is in ask()
  private boolean isLooking; // guarded by this; it looks which names are free
  private int passPlan = -1; // guarded by this; the plan of the pass through its choices
  private long passNanos; // guarded by this; when that pass began
  private long started; // guarded by this; the number of attempts
  private volatile @Nullable Throwable failure; // of this library
  private boolean wasDone; // at the last check, though it had not left
  private boolean isStrategyBusy; // guarded by this; it has not answered, perhaps for an older plan

  AcquireLoop(ServiceContext context, LeaseRequest request, Pauses pauses, OpenCalls openCalls) {
    this.context = context;
    this.request = request;
    this.pauses = pauses;
    this.openCalls = openCalls;
    this.names = context.settings.names(request);
    this.choice =
        request.isAnyOf() ? new NameChoice(List.copyOf(request.resources()), names) : null;
    this.queueNames = choice == null ? names : NameChoice.queueNames(names);
    this.listeners = context.listeners.ofCall(request);
    this.startNanos = context.ticker.monotonicNanos();
    this.maxWaitNanos = request.waitUpTo().map(Settings::saturatedNanos).orElse(0L);
    this.state =
        CallState.begin(
            new CallState.Rules(
                request.isFair(),
                request.isUnlessHeld(),
                context.quorum,
                Math.min(QueuePlace.LIFE_NANOS, Settings.saturatedNanos(request.ttl())),
                context.settings.nodeTimeoutNanos()));
  }

  @Override
  public List<String> names() {
    return queueNames;
  }

  @Override
  public List<String> choices() {
    return choice == null ? List.of() : names;
  }

  @Override
  public boolean isFair() {
    return request.isFair();
  }

  /** Returns the result to come, also before the start. */
  CompletableFuture<AcquireResult> result() {
    return future;
  }

  /** Starts the call. Draws its ids here, on the caller's thread: their source may block. */
  CompletableFuture<AcquireResult> start() {
    try {
      return begin();
    } catch (Error e) { // no memory: it may be queued, and a check ends it
      failure = e;
      throw e;
    }
  }

  private CompletableFuture<AcquireResult> begin() {
    try {
      place = isFair() ? context.fairWaiters.enter(this, waits()) : null;
      owner = context.ownerIds.get();
    } catch (IllegalStateException failure) {
      fail(failure);
      return future;
    }
    if (openCalls.add(this)) {
      boolean mayAsk = !isQueued() || context.queues.join(this) || choice != null;
      long leftNanos = leftNanos();
      step(now -> now.joined(mayAsk, leftNanos));
    } else {
      fail();
    }
    return future;
  }

  private boolean waits() {
    return maxWaitNanos > 0;
  }

  /** Returns true if it takes its turn among the waiting calls of this service. */
  private boolean isQueued() {
    return waits() && !request.isUnlessHeld();
  }

  /** Returns how it waits; null for a call without a wait, and for one that has ended. */
  @Nullable WaitStatus status() {
    return waits() && !future.isDone()
        ? new WaitStatus(request.resources(), 1, sinceStart())
        : null;
  }

  private long leftNanos() {
    return maxWaitNanos - (context.ticker.monotonicNanos() - startNanos);
  }

  /** Starts, and waits for the result; an interrupt cancels the call. */
  AcquireResult await() throws InterruptedException {
    try {
      return Blocking.await(start(), context.scheduler);
    } catch (InterruptedException | Error e) { // no memory to wait
      cancel();
      throw e;
    }
  }

  /** Starts, and waits for the result; an interrupt does not end the wait. */
  AcquireResult awaitUninterruptibly() {
    return Blocking.uninterruptibly(start(), context.scheduler);
  }

  /** Cancels the call; every grant, also a later one, is released. */
  void cancel() {
    if (future.completeExceptionally(new CancellationException())) { // true once, unlike cancel()
      stopAndReport();
    } else {
      releaseUnwanted();
    }
  }

  /**
   * Ends the call because the service is closed.
   *
   * @return the owner that is released; empty if there is none, or if a lease is being handed out
   */
  Optional<Owner> fail() {
    return fail(closed());
  }

  static IllegalStateException closed() {
    return new IllegalStateException("this Redlock is closed");
  }

  /** Ends the call because this library failed, for example for want of memory. */
  private void failed(Throwable why) {
    failure = why;
    if (future.isDone()) {
      Log.LOG.error("{} failed after its end; this is a defect of the lock library", request, why);
    }
    fail(why instanceof RuntimeException failure ? failure : new IllegalStateException(why));
  }

  /** Ends the call if memory was too short to end it. Called about once a second. */
  void check() {
    Throwable why = failure;
    if (future.isDone()) {
      if (wasDone) {
        synchronized (this) {
          endLocked();
        }
        leave();
      }
      wasDone = true;
    } else if (why != null) {
      failed(why);
    }
  }

  private Optional<Owner> fail(RuntimeException why) {
    return future.completeExceptionally(why) ? stopAndReport() : Optional.empty();
  }

  /** Stops a call that ends without a result. It must stop even if it cannot be reported. */
  private Optional<Owner> stopAndReport() {
    try {
      return stop();
    } finally {
      Duration waited = sinceStart();
      listeners.report(listener -> listener.onGiveUp(request, waited));
    }
  }

  private Duration sinceStart() {
    return Duration.ofNanos(context.ticker.monotonicNanos() - startNanos);
  }

  /** Returns true if the call ended with this result. */
  boolean yielded(@Nullable AcquireResult result) {
    return result != null
        && future.isDone()
        && !future.isCompletedExceptionally()
        && future.join() == result;
  }

  /** Releases the lease of a complete call whose caller has given up. */
  private void releaseUnwanted() {
    if (future.isDone() && !future.isCompletedExceptionally()) {
      future.join().lease().ifPresent(Lease::close);
    }
  }

  private Optional<Owner> stop() {
    Attempt unfinished;
    synchronized (this) {
      unfinished = running;
      endLocked();
    }
    try {
      if (unfinished == null) {
        removeTickets();
      }
      return Optional.ofNullable(unfinished).map(Attempt::abandon);
    } finally {
      leave();
    }
  }

  private void endLocked() {
    state = state.over();
    running = null;
    cancelTimer();
  }

  private void cancelTimer() {
    assert Thread.holdsLock(this);
    if (timer != null) {
      timer.cancel();
      timer = null;
    }
  }

  /** Removes its tickets from the nodes, unless its owner has done so or will. */
  private void removeTickets() {
    if (place != null) {
      place.removeTickets(context.nodes, names);
    }
  }

  private void leave() {
    if (place != null) {
      context.fairWaiters.leave(place);
    }
    if (isQueued()) {
      context.queues.leave(this);
    }
    openCalls.remove(this); // last: a check finds a call that has not left
  }

  @Override
  public void proceed(long delayNanos) {
    long leftNanos = leftNanos();
    step(now -> now.moved(delayNanos, leftNanos));
  }

  @Override
  public void woken(int node) {
    boolean hasTickets = hasTickets();
    long leftNanos = leftNanos();
    step(now -> now.woken(node, hasTickets, leftNanos));
  }

  private boolean hasTickets() {
    return place != null && place.hasTickets();
  }

  /** Applies the event. If that begins a new plan, sets the timer and carries the plan out. */
  private void step(UnaryOperator<CallState> event) {
    try {
      carryOut(event);
    } catch (RuntimeException | Error e) { // a plan without a timer would never end
      failed(e);
    }
  }

  private void carryOut(UnaryOperator<CallState> event) {
    CallState next;
    synchronized (this) {
      int plan = state.plan();
      next = event.apply(state);
      state = next;
      if (next.plan() == plan) {
        return;
      }
      cancelTimer();
      if (next.isTimed()) {
        int planned = next.plan();
        timer = context.scheduler.schedule(() -> due(planned), next.nanos());
      }
    }
    switch (next.phase()) {
      case ASKS -> ask();
      case PONDERS -> ponder(next);
      case OVER -> giveUp();
      default -> {}
    }
  }

  private void due(int plan) {
    try {
      comeDue(plan);
    } catch (RuntimeException | Error e) { // the timer is used up
      failed(e);
    }
  }

  private void comeDue(int plan) {
    boolean mayAsk = !isQueued() || hasTickets() || context.queues.mayAsk(this);
    long leftNanos = leftNanos();
    step(
        now ->
            now.phase() == Phase.PONDERS && now.plan() == plan
                ? pausedByDefault(now, leftNanos) // the strategy takes too long
                : now.due(plan, mayAsk, leftNanos));
  }

  /**
   * Makes attempts while the plan is to ask; a plan made meanwhile is carried out by the same loop.
   */
  private void ask() {
    while (mayStart()) {
      try {
        if (choice == null) {
          attempt(request.resources(), names);
        } else {
          choose(choice);
        }
      } catch (RuntimeException | Error e) {
        failed(e);
      } finally {
        synchronized (this) {
          isStarting = false;
        }
      }
    }
  }

  private void attempt(Set<String> resources, List<String> keys) {
    Attempt next =
        new Attempt(
            context,
            request,
            resources,
            keys,
            nextOwner(),
            place,
            listeners,
            this::attempted,
            this::failed);
    if (runs(next)) {
      next.start();
    }
  }

  /** Tries a name, or looks which are free. */
  private void choose(NameChoice names) {
    String one = null;
    List<String> key = List.of();
    AvailabilityCheck look = null;
    synchronized (this) {
      if (passPlan != state.plan()) {
        passPlan = state.plan();
        passNanos = context.ticker.monotonicNanos();
        names.begin(context.random, context.queues::isLeased);
      }
      if (names.next() == NameChoice.Step.LOOK) {
        List<Integer> numbers = names.toLookAt();
        look = new AvailabilityCheck(context, numbers.stream().map(names::key).toList());
        isLooking = true;
      } else {
        one = names.current();
        key = List.of(names.currentKey());
      }
    }
    if (one != null) {
      attempt(Collections.singleton(one), key);
    } else if (look != null) {
      look.start(this::looked);
    }
  }

  private void looked(AvailabilityCheck look) {
    AttemptEnd refusal = null;
    synchronized (this) {
      isLooking = false;
      NameChoice names = Objects.requireNonNull(choice);
      names.looked(look, context.ticker.monotonicNanos());
      if (isPassOver(names)) {
        refusal = lastRefusal;
      }
    }
    if (refusal == null) {
      ask();
    } else {
      refused(refusal);
    }
  }

  private boolean isPassOver(NameChoice names) {
    assert Thread.holdsLock(this);
    return names.next() == NameChoice.Step.OVER
        || context.ticker.monotonicNanos() - passNanos > 2 * context.settings.nodeTimeoutNanos();
  }

  /** Records that a name is taken. Returns true if the call goes on with the others. */
  private synchronized boolean triesOthers(NameChoice names, AttemptEnd outcome) {
    if (!outcome.isRefused() || state.phase() != Phase.ASKS) {
      return false;
    }
    names.refused(outcome.heldRemainingMillis(), context.ticker.monotonicNanos());
    if (isPassOver(names)) {
      return false;
    }
    lastRefusal = outcome;
    running = null;
    return true;
  }

  private synchronized boolean mayStart() {
    boolean may =
        state.phase() == Phase.ASKS
            && running == null
            && !isStarting
            && !isLooking
            && !openCalls.isClosed();
    isStarting |= may;
    return may;
  }

  /** Returns a unique owner id: that of the call, with a number from the second attempt on. */
  private synchronized String nextOwner() {
    started++;
    return started == 1 ? owner : owner + "-" + started;
  }

  private synchronized boolean runs(Attempt next) {
    boolean asks = state.phase() == Phase.ASKS;
    running = asks ? next : running;
    return asks;
  }

  private void attempted(AttemptEnd outcome) {
    if (outcome.lease() != null) {
      finish(outcome.result());
    } else if (choice != null && triesOthers(choice, outcome)) {
      ask();
    } else {
      refused(outcome);
    }
  }

  private void refused(AttemptEnd failed) {
    AttemptEnd outcome = failed;
    if (choice != null) {
      synchronized (this) {
        outcome = failed.remaining(choice.remainingMillis(context.ticker.monotonicNanos()));
      }
    }
    pause(outcome);
  }

  private void pause(AttemptEnd outcome) {
    if (isQueued()) {
      context.queues.refused(this, outcome);
    }
    long leftNanos = leftNanos();
    step(
        now -> {
          running = null;
          lastRefusal = outcome;
          failures[outcome.cause().ordinal()]++;
          CallState next = now.refused(outcome, leftNanos);
          if (place != null && next.clockLearned() && !now.clockLearned()) {
            place.restart();
          }
          if (next.phase() != Phase.PONDERS) {
            return next;
          }
          if (isStrategyBusy || !pauses.mayBlock()) {
            return pausedByDefault(next, leftNanos);
          }
          isStrategyBusy = true;
          return next;
        });
  }

  private CallState pausedByDefault(CallState now, long leftNanos) {
    assert Thread.holdsLock(this);
    Cause cause = lastCause();
    return now.paused(now.plan(), pauses.byDefaultNanos(failures(cause), cause), leftNanos);
  }

  private synchronized Cause lastCause() {
    return Objects.requireNonNull(lastRefusal).cause();
  }

  private synchronized int failures(Cause cause) {
    return failures[cause.ordinal()];
  }

  /** Asks the strategy on a callback thread, since it may block; the timer goes on. */
  private void ponder(CallState asked) {
    Cause cause = lastCause();
    int count = failures(cause);
    context.callBack(
        () -> {
          long nanos = pauses.chosenNanos(count, cause);
          long leftNanos = leftNanos();
          step(
              now -> {
                isStrategyBusy = false;
                return now.paused(asked.plan(), nanos, leftNanos);
              });
        });
  }

  /** Ends with the last refusal. */
  private void giveUp() {
    AttemptEnd refusal = refusal();
    removeTickets(); // before the result: its receiver may close the service at once
    finish(
        refusal != null ? refusal.result() : AcquireResult.contended(By.UNKNOWN, context.noVotes));
  }

  /** Returns the last refusal: that of the queue if this call has asked no node. */
  private @Nullable AttemptEnd refusal() {
    AttemptEnd refusal;
    synchronized (this) {
      refusal = lastRefusal;
    }
    return refusal != null ? refusal : context.queues.refusal(this);
  }

  /** Returns the label of the client that was in the way at last, if it is known. */
  Optional<String> refusedBy() {
    AttemptEnd refusal = refusal();
    return refusal == null ? Optional.empty() : refusal.votes().holder();
  }

  private void finish(AcquireResult result) {
    Optional<Lease> lease = result.lease();
    boolean wanted = future.complete(result);
    try {
      if (wanted || lease.isPresent()) { // each lease is reported at its beginning and its end
        FlightEvents.acquired(event, request, result);
        Duration took = sinceStart();
        listeners.report(listener -> listener.onAcquire(request, result, took));
      }
      if (!wanted) {
        lease.ifPresent(Lease::close);
      }
    } finally {
      synchronized (this) {
        endLocked(); // not before: a cancel meanwhile has to find the attempt that succeeded
      }
      leave();
    }
  }
}
