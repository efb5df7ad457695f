package io.redlock;

import io.redlock.AcquireRound.Decision;
import io.redlock.spi.Scheduler.Cancellable;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * One call for a lease: attempts with fresh owner ids, jittered delays between them, until one
 * holds or the wait is over. Needs no thread of its own; blocking calls merely wait for its future.
 */
final class AcquireLoop {

  private final Cluster cluster;
  private final LeaseRequest request;
  private final List<String> names;
  private final CompletableFuture<AcquireResult> future = new CompletableFuture<>();
  private final WaitingLoops waiting;
  private final long startNanos;
  private final long maxWaitNanos;

  private int failures; // touched by one step at a time
  private boolean clockLearned; // touched by one step at a time
  private @Nullable Attempt attempt; // guarded by this
  private @Nullable Cancellable retry; // guarded by this
  private boolean over; // guarded by this

  /** The calls of one lock service that are not over, so that closing it can end them. */
  interface WaitingLoops {
    /** False if the service is closed. */
    boolean add(AcquireLoop loop);

    void remove(AcquireLoop loop);
  }

  AcquireLoop(Cluster cluster, LeaseRequest request, WaitingLoops waiting) {
    this.cluster = cluster;
    this.request = request;
    this.waiting = waiting;
    this.names = List.of(cluster.settings.keyPrefix() + request.resource());
    this.startNanos = cluster.ticker.monotonicNanos();
    this.maxWaitNanos = Settings.saturatedNanos(request.maxWait());
  }

  CompletableFuture<AcquireResult> start() {
    if (waiting.add(this)) {
      attempt();
    } else {
      fail();
    }
    return future;
  }

  /** Starts, and waits for the result; an interrupt gives up. */
  AcquireResult await() throws InterruptedException {
    try {
      return Waits.await(start());
    } catch (InterruptedException e) {
      cancel();
      throw e;
    }
  }

  /** Gives up; whatever was or will be granted is released. */
  void cancel() {
    stop();
    if (!future.cancel(false)) {
      releaseUnwanted();
    }
  }

  /** Ends the call because the service is closed. */
  void fail() {
    stop();
    future.completeExceptionally(new IllegalStateException("this Redlock is closed"));
  }

  /** Releases the lease of a call that is complete although nobody wants it any more. */
  void releaseUnwanted() {
    if (future.isDone() && !future.isCompletedExceptionally()) {
      future.join().lease().ifPresent(Lease::close);
    }
  }

  private void stop() {
    Attempt running;
    synchronized (this) {
      over = true;
      running = attempt;
      if (retry != null) {
        retry.cancel();
      }
    }
    waiting.remove(this);
    if (running != null) {
      running.abandon();
    }
  }

  private void attempt() {
    Attempt next = new Attempt(cluster, request, names, this::attempted);
    synchronized (this) {
      if (over) {
        return;
      }
      attempt = next;
    }
    next.start();
  }

  private void attempted(Attempt.Outcome outcome) {
    if (outcome.lease != null) {
      finish(outcome);
      return;
    }
    if (outcome.decision == Decision.CLOCK_REFUSED && !clockLearned) {
      clockLearned = true;
      attempt();
      return;
    }
    long leftNanos = maxWaitNanos - (cluster.ticker.monotonicNanos() - startNanos);
    if (leftNanos <= 0) {
      finish(outcome);
      return;
    }
    long delayNanos =
        Backoff.delayNanos(
            ++failures, outcome.decision, outcome.takenRemainingMillis(), cluster.random);
    synchronized (this) {
      attempt = null;
      if (!over) {
        retry = cluster.scheduler.schedule(this::attempt, Math.min(delayNanos, leftNanos));
      }
    }
  }

  private void finish(Attempt.Outcome outcome) {
    synchronized (this) {
      over = true;
      attempt = null;
    }
    waiting.remove(this);
    AcquireResult result = outcome.result();
    if (future.complete(result)) {
      cluster.tell(listener -> listener.onAcquire(request, result));
    } else if (outcome.lease != null) {
      outcome.lease.close();
    }
  }
}
