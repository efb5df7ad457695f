package io.redlock.driver;

import io.redlock.AcquireResult;
import io.redlock.Leadership;
import io.redlock.LeaseEnd;
import io.redlock.LeaseRequest;
import io.redlock.LeasedRunnable;
import io.redlock.spi.HolderLabel;
import io.redlock.spi.Scheduler.Cancellable;
import io.redlock.text.Brief;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadFactory;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A candidate for leadership: acquires a lease again and again, until it is closed. Each lease is a
 * term, and has a thread for the work.
 */
final class LeaderCandidate implements Leadership {

  private static final Duration ENDLESS = Duration.ofSeconds(Long.MAX_VALUE);

  private final ServiceContext context;
  private final LeaseRequest request;
  private final LeasedRunnable<?> work;
  private final Function<LeaseRequest, AcquireLoop> calls;
  private final ThreadFactory threads;
  private final long ttlNanos;

  private @Nullable AcquireLoop call; // guarded by this; the last one
  private @Nullable Term term; // guarded by this; null unless this candidate holds a lease
  private @Nullable Cancellable pause; // guarded by this
  private boolean closed; // guarded by this

  private LeaderCandidate(
      ServiceContext context,
      LeaseRequest request,
      LeasedRunnable<?> work,
      Function<LeaseRequest, AcquireLoop> calls,
      ThreadFactory threads) {
    this.context = context;
    this.request = request;
    this.work = work;
    this.calls = calls;
    this.threads = threads;
    this.ttlNanos = Settings.saturatedNanos(request.ttl());
  }

  /** Begins a campaign for one resource; a term lasts without end if the request sets none. */
  static LeaderCandidate begin(
      ServiceContext context,
      LeaseRequest request,
      LeasedRunnable<?> work,
      Function<LeaseRequest, AcquireLoop> calls,
      ThreadFactory threads) {
    LeaseRequest patient = request.fairly().waitUpTo(ENDLESS);
    LeaderCandidate candidate =
        new LeaderCandidate(
            context,
            patient.maxHold().isPresent() ? patient : patient.renewFor(ENDLESS),
            work,
            calls,
            threads);
    candidate.call();
    return candidate;
  }

  private void call() {
    AcquireLoop next = calls.apply(request);
    CompletableFuture<AcquireResult> result = next.start();
    boolean wanted;
    synchronized (this) {
      call = next;
      wanted = !closed;
    }
    if (!wanted) {
      next.cancel();
    }
    result.whenComplete(this::called);
  }

  private void called(@Nullable AcquireResult result, @Nullable Throwable failure) {
    if (result instanceof AcquireResult.Acquired acquired) {
      lead((HeldLease) acquired.lease());
    } else { // its wait has no end
      failed(failure);
    }
  }

  private void failed(@Nullable Throwable failure) {
    if (isClosed()) {
      return;
    }
    if (context.closed.get()) {
      Log.LOG.info("{} ends: its Redlock was closed", this);
      return;
    }
    Log.LOG.warn("{} could not campaign; it tries again", this, failure);
    callLater();
  }

  private void callLater() {
    synchronized (this) {
      if (!closed) {
        pause =
            context.scheduler.schedule(
                () -> context.callbacks.alone(threads, this::callAgain), ttlNanos / 3);
      }
    }
  }

  private void callAgain() {
    if (isClosed()) {
      return;
    }
    try {
      call();
    } catch (Throwable failure) { // the supplier of owner ids, or no memory
      failed(failure);
    }
  }

  private void lead(HeldLease lease) {
    Term next = new Term(lease);
    boolean wanted;
    synchronized (this) {
      wanted = !closed;
      term = wanted ? next : null;
    }
    if (!wanted) {
      lease.close();
      return;
    }
    lease.whenEnded(next::ended);
    try {
      next.start();
    } catch (Throwable failure) { // no memory for a thread
      Log.LOG.error("{} could not start a thread for its term; it campaigns again", this, failure);
      next.over();
    }
  }

  @Override
  public String resource() {
    return request.resources().iterator().next();
  }

  @Override
  public boolean isLeader() {
    Term current = term();
    return current != null && current.isWanted() && current.lease.isValid();
  }

  @Override
  public Optional<String> leader() {
    AcquireLoop last;
    synchronized (this) {
      last = call;
    }
    Term current = term();
    if (current != null) {
      return isLeader() ? label(HolderLabel.of(current.lease.owner())) : Optional.empty();
    }
    return last == null ? Optional.empty() : last.refusedBy();
  }

  private static Optional<String> label(String label) {
    return label.isEmpty() ? Optional.empty() : Optional.of(label);
  }

  @Override
  public void resign() {
    Term current = term();
    if (current != null) {
      current.stop("it resigned");
    }
  }

  @Override
  public void close() {
    AcquireLoop last;
    synchronized (this) {
      closed = true;
      last = call;
      if (pause != null) {
        pause.cancel();
      }
    }
    Term current = term();
    if (current != null) {
      current.stop("its candidature was closed");
      current.awaitEnd();
    } else if (last != null) {
      last.cancel();
    }
  }

  private synchronized boolean isClosed() {
    return closed;
  }

  private synchronized @Nullable Term term() {
    return term;
  }

  /** For example {@code candidate for reports/leader}. */
  @Override
  public String toString() {
    return "candidate for " + Brief.text(resource());
  }

  /** The time of a lease: its work starts, is asked to stop, ends; then the lease is released. */
  private final class Term implements Runnable {

    final HeldLease lease;
    private final CompletableFuture<Void> over = new CompletableFuture<>();
    private @Nullable Thread thread; // guarded by this; null unless the work runs
    private @Nullable Cancellable warning; // guarded by this; for work that does not stop
    private boolean wanted = true; // guarded by this; false once the work was asked to stop

    Term(HeldLease lease) {
      this.lease = lease;
    }

    void start() {
      threads.newThread(this).start();
    }

    synchronized boolean isWanted() {
      return wanted;
    }

    void ended(LeaseEnd how) {
      stop(how.lost() ? "its lease was lost: " + how.detail() : "its work released the lease");
    }

    /** Asks the work to stop, once. */
    void stop(String why) {
      synchronized (this) {
        if (!wanted) {
          return;
        }
        wanted = false;
        if (thread != null) {
          thread.interrupt();
        }
      }
      Log.LOG.info("{} no longer leads: {}", LeaderCandidate.this, why);
      synchronized (this) {
        if (thread != null) {
          warning = context.scheduler.schedule(this::warn, ttlNanos);
        }
      }
    }

    private void warn() {
      Log.LOG.warn(
          "The work of {} still runs {} after it was interrupted; this candidate campaigns again"
              + " when it has ended",
          LeaderCandidate.this,
          request.ttl());
    }

    @Override
    public void run() {
      try {
        if (begins()) {
          Log.LOG.info("{} leads, with token {}", LeaderCandidate.this, lease.fencingToken());
          work.run(lease);
        }
      } catch (Throwable failure) {
        if (isWanted()) {
          Log.LOG.warn("The work of {} failed; it campaigns again", LeaderCandidate.this, failure);
        } else {
          Log.LOG.debug("The work of {} has stopped", LeaderCandidate.this, failure);
        }
      } finally {
        over();
      }
    }

    private synchronized boolean begins() {
      if (wanted) {
        thread = Thread.currentThread();
      }
      return wanted;
    }

    void over() {
      boolean ownWill;
      synchronized (this) {
        ownWill = wanted;
        wanted = false;
        thread = null;
        if (warning != null) {
          warning.cancel();
        }
      }
      if (ownWill) {
        Log.LOG.info("{} no longer leads: its work has ended", LeaderCandidate.this);
      }
      lease.releasing().whenComplete((result, failure) -> released());
    }

    private void released() {
      synchronized (LeaderCandidate.this) {
        term = null;
      }
      over.complete(null);
      callLater();
    }

    /** Waits until the lease is released or the service closed, unless the work itself waits. */
    void awaitEnd() {
      synchronized (this) {
        if (thread == Thread.currentThread()) {
          return;
        }
      }
      CompletableFuture<Void> patience = new CompletableFuture<>();
      over.thenRun(() -> patience.complete(null));
      Cancellable timer =
          context.scheduler.schedule(
              () -> patience.complete(null), ttlNanos + context.settings.nodeTimeoutNanos());
      context.waits.add(patience);
      try {
        if (!context.closed.get()) { // else it has dropped the timer
          Blocking.await(patience, context.scheduler);
        }
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      } finally {
        context.waits.remove(patience);
        timer.cancel();
      }
    }
  }
}
