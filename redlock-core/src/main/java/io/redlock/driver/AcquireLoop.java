package io.redlock.driver;

import io.redlock.AcquireResult;
import io.redlock.AcquireResult.By;
import io.redlock.Lease;
import io.redlock.LeaseRequest;
import io.redlock.WaitStatus;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * One call for a lease: makes {@link Attempts} until one succeeds or the wait ends. This class is
 * its place in the queues, and its future. Needs no thread of its own; blocking calls wait for its
 * future.
 */
final class AcquireLoop implements LocalQueue.Waiter, FairWaiters.Waiter, Attempts.Call {

  private final ServiceContext context;
  private final LeaseRequest request;
  private final List<String> names;
  private final Listeners listeners;
  private final FlightEvents.@Nullable Acquire event;
  private final long startNanos;
  private final long maxWaitNanos;
  private final CompletableFuture<AcquireResult> result = new CompletableFuture<>();
  final Attempts attempts;
  private volatile @Nullable QueuePlace place; // null unless the request is fair and has started
  private volatile @Nullable Throwable failure; // of this library
  private volatile boolean blocks; // a thread waits for it
  private boolean wasDone; // at the last check, though it had not left

  AcquireLoop(ServiceContext context, LeaseRequest request) {
    this.context = context;
    this.request = request;
    this.names = context.settings.names(request);
    this.listeners = context.listeners.ofCall(request);
    this.event = FlightEvents.acquiring();
    this.startNanos = context.ticker.monotonicNanos();
    this.attempts = new Attempts(this, context, request, names, listeners);
    this.maxWaitNanos = request.waitUpTo().map(Settings::saturatedNanos).orElse(0L);
  }

  @Override
  public List<String> names() {
    return request.isAnyOf() ? NameChoice.queueNames(names) : names;
  }

  @Override
  public List<String> choices() {
    return request.isAnyOf() ? names : List.of();
  }

  @Override
  public boolean isFair() {
    return request.isFair();
  }

  @Override
  public boolean isShared() {
    return request.isShared();
  }

  @Override
  public boolean blocks() {
    return blocks;
  }

  @Override
  public long sinceNanos() {
    return startNanos;
  }

  /** Returns the result to come, also before the start. */
  CompletableFuture<AcquireResult> result() {
    return result;
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
    QueuePlace drawn;
    try {
      drawn = isFair() ? context.fairWaiters.place(waits(), isShared()) : null;
      attempts.own(context.ownerIds.get(request.note()));
    } catch (IllegalStateException failure) {
      fail(failure);
      return result;
    }
    place = drawn; // from here on other threads find this call: all that they read is set
    context.calls.put(this, context.callNumbers.incrementAndGet());
    if (drawn != null) {
      context.fairWaiters.enter(drawn, this);
    }
    if (context.closed.get()) {
      fail(); // close() may find it as well
    } else {
      boolean mayAsk = !isQueued() || context.queues.join(this) || request.isAnyOf();
      attempts.begin(mayAsk);
    }
    return result;
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
    return waits() && !result.isDone()
        ? new WaitStatus(request.resources(), 1, sinceStart())
        : null;
  }

  private Duration sinceStart() {
    return Duration.ofNanos(sinceStartNanos());
  }

  private long sinceStartNanos() {
    return context.ticker.monotonicNanos() - startNanos;
  }

  @Override
  public long leftNanos() {
    return maxWaitNanos - sinceStartNanos();
  }

  /** Starts, and waits for the result; an interrupt cancels the call. */
  AcquireResult await() throws InterruptedException {
    blocks = true;
    try {
      return held(Blocking.await(start(), context.scheduler));
    } catch (InterruptedException | Error e) { // no memory to wait
      cancel();
      throw e;
    }
  }

  /** Starts, and waits for the result; an interrupt does not end the wait. */
  AcquireResult awaitUninterruptibly() {
    blocks = true;
    return held(Blocking.uninterruptibly(start(), context.scheduler));
  }

  /** Notes the thread that holds the lease, to warn it when it waits for itself. */
  private static AcquireResult held(AcquireResult result) {
    if (result.lease().orElse(null) instanceof HeldLease lease) {
      lease.acquiredBy(Thread.currentThread());
    }
    return result;
  }

  /** Cancels the call; every grant, also a later one, is released. */
  void cancel() {
    if (result.completeExceptionally(new CancellationException())) {
      stopAndReport();
    } else {
      lease().ifPresent(Lease::close); // its caller has given up
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

  @Override
  public void failed(Throwable why) {
    failure = why;
    if (result.isDone()) {
      Log.LOG.error("{} failed after its end; this is a defect of the lock library", request, why);
    }
    fail(why instanceof RuntimeException failure ? failure : new IllegalStateException(why));
  }

  /** Ends the call if memory was too short to end it. Called about once a second. */
  void check() {
    Throwable why = failure;
    if (result.isDone()) {
      if (wasDone) {
        attempts.end();
        leave();
      }
      wasDone = true;
    } else if (why != null) {
      failed(why);
    }
  }

  private Optional<Owner> fail(RuntimeException why) {
    return result.completeExceptionally(why) ? stopAndReport() : Optional.empty();
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

  @Override
  public boolean hasTaken(Lease lease) {
    return lease().orElse(null) == lease; // needs no memory
  }

  /** Returns the lease of its result; empty if it has none. */
  private Optional<Lease> lease() {
    return hasResult() ? result.join().lease() : Optional.empty();
  }

  private boolean hasResult() {
    return result.isDone() && !result.isCompletedExceptionally();
  }

  /** Returns true if the call ended with this result. */
  boolean yielded(@Nullable AcquireResult yielded) {
    return yielded != null && hasResult() && result.join() == yielded;
  }

  private Optional<Owner> stop() {
    Owner unfinished = attempts.end();
    try {
      if (unfinished == null) {
        removeTickets();
      } else {
        unfinished.end();
      }
      return Optional.ofNullable(unfinished);
    } finally {
      leave();
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
    context.queues.leave(this);
    context.calls.remove(this); // last: a check finds a call that has not left
  }

  @Override
  public void proceed(long delayNanos) {
    attempts.moved(delayNanos);
  }

  @Override
  public void woken(int node) {
    attempts.woken(node);
  }

  @Override
  public @Nullable QueuePlace place() {
    QueuePlace own = place;
    return own == null || !isShared() || !isQueued() || context.queues.isHead(this)
        ? own
        : own.passing(); // Q8
  }

  @Override
  public boolean mayAsk() {
    boolean hasTickets = place != null && place.hasTickets();
    return !isQueued() || hasTickets || context.queues.mayAsk(this);
  }

  @Override
  public void refused(AttemptEnd outcome) {
    if (isQueued()) {
      context.queues.refused(this, outcome);
    }
  }

  @Override
  public void giveUp() {
    AttemptEnd refusal = refusal();
    removeTickets(); // before the result: its receiver may close the service at once
    finish(
        refusal != null ? refusal.result() : AcquireResult.contended(By.UNKNOWN, context.noVotes));
  }

  /** Returns the last refusal: that of the queue if this call has asked no node. */
  private @Nullable AttemptEnd refusal() {
    AttemptEnd refusal = attempts.lastRefusal();
    return refusal != null ? refusal : context.queues.refusal(this);
  }

  /** Returns the label of the client that was in the way at last, if it is known. */
  Optional<String> refusedBy() {
    AttemptEnd refusal = refusal();
    return refusal == null ? Optional.empty() : refusal.votes().holder();
  }

  @Override
  public void finish(AcquireResult end) {
    try {
      complete(end);
    } finally {
      finished(end.lease().isPresent());
    }
  }

  private void finished(boolean isHeld) {
    attempts.end(); // not before: a cancel meanwhile has to find the attempt that succeeded
    leave();
    if (isHeld && isShared()) {
      context.queues.shared(names);
    }
  }

  /** Gives the result to the caller, and reports it. Closes a lease that nobody wants any more. */
  private void complete(AcquireResult end) {
    Optional<Lease> lease = end.lease();
    boolean wanted = result.complete(end);
    if (wanted || lease.isPresent()) { // each lease is reported at its beginning and its end
      FlightEvents.acquired(event, request, end);
      Duration took = sinceStart();
      listeners.report(listener -> listener.onAcquire(request, end, took));
    }
    if (!wanted) {
      lease.ifPresent(Lease::close);
    }
  }
}
