package io.redlock.driver;

import io.redlock.AcquireResult;
import io.redlock.Lease;
import io.redlock.LeaseRequest;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** The result of a call, and its reports to listeners. It is known once. Thread-safe. */
final class CallResult {

  final CompletableFuture<AcquireResult> future = new CompletableFuture<>();
  final long startNanos;

  private final ServiceContext context;
  private final LeaseRequest request;
  private final Listeners listeners;
  private final FlightEvents.@Nullable Acquire event = FlightEvents.acquiring();

  CallResult(ServiceContext context, LeaseRequest request, Listeners listeners) {
    this.context = context;
    this.request = request;
    this.listeners = listeners;
    this.startNanos = context.ticker.monotonicNanos();
  }

  boolean isDone() {
    return future.isDone();
  }

  Duration sinceStart() {
    return Duration.ofNanos(sinceStartNanos());
  }

  long sinceStartNanos() {
    return context.ticker.monotonicNanos() - startNanos;
  }

  /** Gives the result to the caller, and reports it. Closes a lease that nobody wants any more. */
  void complete(AcquireResult result) {
    Optional<Lease> lease = result.lease();
    boolean wanted = future.complete(result);
    if (wanted || lease.isPresent()) { // each lease is reported at its beginning and its end
      FlightEvents.acquired(event, request, result);
      Duration took = sinceStart();
      listeners.report(listener -> listener.onAcquire(request, result, took));
    }
    if (!wanted) {
      lease.ifPresent(Lease::close);
    }
  }

  /** Ends it without a result. Returns false if it had ended before. */
  boolean fail(Throwable why) {
    return future.completeExceptionally(why);
  }

  void reportGivenUp() {
    Duration waited = sinceStart();
    listeners.report(listener -> listener.onGiveUp(request, waited));
  }

  /** Returns true if it is this one. */
  boolean is(@Nullable AcquireResult result) {
    return result != null && hasResult() && future.join() == result;
  }

  /** Returns true if the caller has been given this lease. Needs no memory. */
  boolean has(Lease lease) {
    return hasResult() && future.join().lease().orElse(null) == lease;
  }

  /** Releases its lease: its caller has given up. */
  void releaseUnwanted() {
    if (hasResult()) {
      future.join().lease().ifPresent(Lease::close);
    }
  }

  private boolean hasResult() {
    return future.isDone() && !future.isCompletedExceptionally();
  }
}
