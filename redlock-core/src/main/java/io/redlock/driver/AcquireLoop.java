package io.redlock.driver;

import io.redlock.AcquireResult;
import io.redlock.Lease;
import io.redlock.LeaseRequest;
import io.redlock.driver.Waiting.Phase;
import io.redlock.spi.Scheduler.Cancellable;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * One call for a lease: attempts with fresh owner ids, pauses between them, until one holds or the
 * wait is over. {@link Waiting} decides which; here are the monitor, the timer, the attempts and
 * the future. Needs no thread of its own; blocking calls merely wait for its future.
 */
final class AcquireLoop implements LocalQueues.Waiter, FairWaiters.Waiter {

  /** The calls of one lock service that are not over, so that closing it can end them. */
  interface OpenCalls {
    /** False if the service is closed. */
    boolean add(AcquireLoop call);

    void remove(AcquireLoop call);

    boolean isClosed();
  }

  private final ServiceContext cluster;
  private final LeaseRequest request;
  private final List<String> names;
  private final Pauses pauses;
  private final @Nullable QueuePlace place; // null unless it is first come, first served
  private final CompletableFuture<AcquireResult> future = new CompletableFuture<>();
  private final OpenCalls openCalls;
  private final FlightEvents.@Nullable Acquire event = FlightEvents.acquiring();
  private final long startNanos;
  private final long maxWaitNanos;

  private String owner = ""; // drawn before the first attempt
  private Waiting waiting; // guarded by this
  private @Nullable Attempt running; // guarded by this; null unless it asks
  private @Nullable Cancellable timer; // guarded by this; of the present plan
  private @Nullable AttemptEnd lastRefusal; // guarded by this
  private boolean isStarting; // guarded by this; some thread is in ask()
  private long started; // guarded by this; attempts
  private boolean isStrategyBusy; // guarded by this; it owes an answer, perhaps to an older plan

  AcquireLoop(ServiceContext cluster, LeaseRequest request, Pauses pauses, OpenCalls openCalls) {
    this.cluster = cluster;
    this.request = request;
    this.pauses = pauses;
    this.openCalls = openCalls;
    this.names = cluster.settings.names(request);
    this.startNanos = cluster.ticker.monotonicNanos();
    this.maxWaitNanos = request.maxWait().map(Settings::saturatedNanos).orElse(0L);
    this.waiting =
        Waiting.begin(
            new Waiting.Rules(
                request.isFair(),
                cluster.nodes.size(),
                Math.min(QueuePlace.LIFE_NANOS, Settings.saturatedNanos(request.ttl())),
                cluster.settings.nodeTimeoutNanos()));
    this.place = request.isFair() ? cluster.fairWaiters.enter(this, waits()) : null;
  }

  @Override
  public List<String> names() {
    return names;
  }

  @Override
  public boolean isFair() {
    return place != null;
  }

  /** Draws the owner id on the caller's thread: its source is user code, and may block. */
  CompletableFuture<AcquireResult> start() {
    try {
      owner = cluster.ownerIds.get();
    } catch (IllegalStateException failure) {
      fail(failure);
      return future;
    }
    if (openCalls.add(this)) {
      boolean mayAsk = !waits() || cluster.lines.join(this);
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

  private long leftNanos() {
    return maxWaitNanos - (cluster.ticker.monotonicNanos() - startNanos);
  }

  /** Starts, and waits for the result; an interrupt gives up. */
  AcquireResult await() throws InterruptedException {
    try {
      return Blocking.await(start(), cluster.scheduler);
    } catch (InterruptedException e) {
      cancel();
      throw e;
    }
  }

  /** Starts, and waits for the result whatever happens. */
  AcquireResult awaitUninterruptibly() {
    return Blocking.uninterruptibly(start(), cluster.scheduler);
  }

  /** Gives up; whatever was or will be granted is released. */
  void cancel() {
    if (future.cancel(false)) {
      stop();
    } else {
      releaseUnwanted();
    }
  }

  /**
   * Ends the call because the service is closed.
   *
   * @return what is released; empty if nothing is, because a lease is just being handed out
   */
  Optional<Claim> fail() {
    return fail(new IllegalStateException("this Redlock is closed"));
  }

  private Optional<Claim> fail(RuntimeException why) {
    return future.completeExceptionally(why) ? stop() : Optional.empty();
  }

  /** True if the call ended with this result. */
  boolean yielded(@Nullable AcquireResult result) {
    return result != null
        && future.isDone()
        && !future.isCompletedExceptionally()
        && future.join() == result;
  }

  /** Releases the lease of a call that is complete although nobody wants it any more. */
  void releaseUnwanted() {
    if (future.isDone() && !future.isCompletedExceptionally()) {
      future.join().optionalLease().ifPresent(Lease::close);
    }
  }

  private Optional<Claim> stop() {
    Attempt unfinished;
    synchronized (this) {
      unfinished = running;
      endLocked();
    }
    try {
      if (unfinished == null) {
        withdraw();
      }
      return Optional.ofNullable(unfinished).map(Attempt::abandon);
    } finally {
      leave();
    }
  }

  private void endLocked() {
    waiting = waiting.over();
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

  /** Gives up its place in the queues, if it has one and no claim has done so or will. */
  private void withdraw() {
    if (place != null) {
      place.withdraw(cluster.nodes, names);
    }
  }

  private void leave() {
    openCalls.remove(this);
    if (place != null) {
      cluster.fairWaiters.leave(place);
    }
    if (waits()) {
      cluster.lines.leave(this);
    }
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
    return place != null && place.stands();
  }

  /** Takes the event, sets the timer if that begins a new plan, and does what is planned. */
  private void step(UnaryOperator<Waiting> event) {
    Waiting next;
    synchronized (this) {
      int plan = waiting.plan();
      next = event.apply(waiting);
      waiting = next;
      if (next.plan() == plan) {
        return;
      }
      cancelTimer();
      if (next.isTimed()) {
        int planned = next.plan();
        timer = cluster.scheduler.schedule(() -> due(planned), next.nanos());
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
    boolean mayAsk = hasTickets() || cluster.lines.mayAsk(this);
    long leftNanos = leftNanos();
    step(
        now ->
            now.phase() == Phase.PONDERS && now.plan() == plan
                ? pausedByDefault(now, leftNanos) // the strategy takes too long
                : now.due(plan, mayAsk, leftNanos));
  }

  /**
   * Makes attempts for as long as the plan is to ask; a plan made meanwhile is next in the loop.
   */
  private void ask() {
    while (mayStart()) {
      try {
        Attempt next = new Attempt(cluster, request, names, nextOwner(), place, this::attempted);
        if (runs(next)) {
          next.start();
        }
      } catch (RuntimeException | Error e) { // of the machine: out of memory, say
        fail(e instanceof RuntimeException failure ? failure : new IllegalStateException(e));
      } finally {
        synchronized (this) {
          isStarting = false;
        }
      }
    }
  }

  private synchronized boolean mayStart() {
    boolean may =
        waiting.phase() == Phase.ASKS && running == null && !isStarting && !openCalls.isClosed();
    isStarting |= may;
    return may;
  }

  /** Returns an owner id that no other attempt has: the call's own, numbered from the second on. */
  private synchronized String nextOwner() {
    started++;
    return started == 1 ? owner : owner + "-" + started;
  }

  private synchronized boolean runs(Attempt next) {
    boolean asks = waiting.phase() == Phase.ASKS;
    running = asks ? next : running;
    return asks;
  }

  private void attempted(AttemptEnd outcome) {
    if (outcome.lease() != null) {
      finish(outcome.result());
      return;
    }
    if (waits()) {
      cluster.lines.refused(this, outcome);
    }
    long leftNanos = leftNanos();
    step(
        now -> {
          running = null;
          lastRefusal = outcome;
          Waiting next = now.refused(outcome, leftNanos);
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

  private Waiting pausedByDefault(Waiting now, long leftNanos) {
    return now.paused(now.plan(), pauses.byDefaultNanos(now.attempts(), lastOutcome()), leftNanos);
  }

  private synchronized AcquireResult.Outcome lastOutcome() {
    return Objects.requireNonNull(lastRefusal).outcome();
  }

  /** Asks the strategy where user code belongs: it may block, and the timer goes on. */
  private void ponder(Waiting asked) {
    AcquireResult.Outcome outcome = lastOutcome();
    cluster.callBack(
        () -> {
          long nanos = pauses.chosenNanos(asked.attempts(), outcome);
          long leftNanos = leftNanos();
          step(
              now -> {
                isStrategyBusy = false;
                return now.paused(asked.plan(), nanos, leftNanos);
              });
        });
  }

  /** The wait is over: reports the last refusal, of the line if this call has asked no node. */
  private void giveUp() {
    AttemptEnd refusal;
    synchronized (this) {
      refusal = lastRefusal;
    }
    if (refusal == null) {
      refusal = cluster.lines.refusal(this);
    }
    withdraw(); // before its caller hears of it, who may close the service at once
    finish(refusal != null ? refusal.result() : new AcquireResult.Contended(cluster.noVotes));
  }

  private void finish(AcquireResult result) {
    Optional<Lease> lease = result.optionalLease();
    boolean wanted = future.complete(result);
    if (wanted || lease.isPresent()) { // an unwanted lease is told of from beginning to end
      FlightEvents.acquired(event, request, result);
      long tookNanos = cluster.ticker.monotonicNanos() - startNanos;
      cluster.tell(listener -> listener.onAcquire(request, result, Duration.ofNanos(tookNanos)));
    }
    if (!wanted) {
      lease.ifPresent(Lease::close);
    }
    synchronized (this) {
      endLocked(); // not before: who ends the call meanwhile has to find the attempt that held
    }
    leave();
  }
}
