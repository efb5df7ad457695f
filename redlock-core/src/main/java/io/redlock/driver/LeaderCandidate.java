package io.redlock.driver;

import io.redlock.AcquireResult;
import io.redlock.Leadership;
import io.redlock.LeaseEnd;
import io.redlock.LeaseRequest;
import io.redlock.spi.HolderLabel;
import io.redlock.spi.Scheduler.Cancellable;
import io.redlock.text.Brief;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ThreadFactory;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A candidate for leadership: acquires a lease again and again, until it is closed. Each lease is a
 * term, and has a thread for the work.
 */
final class LeaderCandidate extends Agenda.Item implements Leadership {

  private static final Duration ENDLESS = Duration.ofSeconds(Long.MAX_VALUE);

  /** The time within which a thread is to end the pause; then another one does. */
  private static final long PATIENCE_NANOS = 1_000_000_000;

  private final ServiceContext context;
  private final LeaseRequest request;
  private final Work work;
  private final Function<LeaseRequest, AcquireCall> calls;
  private final ThreadFactory threads;
  private final long ttlNanos;

  private Phase phase = Phase.STARTS; // guarded by this
  private @Nullable AcquireCall call; // guarded by this; the last one
  private @Nullable Term term; // guarded by this; null unless this candidate holds a lease
  private long dueNanos; // guarded by this; the end of the pause
  private boolean closed; // guarded by this

  private enum Phase {
    /** It makes a call. */
    STARTS,
    /** It waits for the end of its call. */
    CALLS,
    /** It holds a lease. */
    LEADS,
    /** It waits until it calls again. */
    PAUSES,
    /** It does nothing more. */
    OVER
  }

  /** Returns a candidate for one resource; a term lasts without end if the request sets none. */
  LeaderCandidate(
      ServiceContext context,
      LeaseRequest request,
      Work work,
      Function<LeaseRequest, AcquireCall> calls,
      ThreadFactory threads) {
    super(context.agenda);
    LeaseRequest patient = request.fair().waitUpTo(ENDLESS);
    this.context = context;
    this.request = patient.renewFor().isPresent() ? patient : patient.renewFor(ENDLESS);
    this.work = work;
    this.calls = calls;
    this.threads = threads;
    this.ttlNanos = Settings.saturatedNanos(request.ttl());
  }

  /** Makes the first call; if that throws, this candidate is over. */
  void begin() {
    enter();
    boolean hasBegun = false;
    try {
      call();
      hasBegun = true;
    } finally {
      synchronized (this) {
        phase = hasBegun ? phase : Phase.OVER;
      }
      drain();
    }
  }

  private void call() {
    AcquireCall next = calls.apply(request);
    next.result().whenComplete((result, failure) -> drain());
    boolean starts;
    synchronized (this) {
      starts = !closed;
      phase = starts ? Phase.CALLS : Phase.OVER;
      call = next;
    }
    if (starts) {
      next.start(); // also if it was cancelled meanwhile: then it ends at once
    }
  }

  private void called(AcquireCall done) {
    Throwable failure = null;
    try {
      AcquireResult taken = done.take(done.result().join());
      if (taken.lease().isPresent()) {
        lead((HeldLease) taken.lease().get());
        return;
      } // else it is too late: its wait has no end
    } catch (CompletionException | CancellationException e) {
      failure = e.getCause() == null ? e : e.getCause();
    }
    failed(failure);
  }

  private void failed(@Nullable Throwable failure) {
    boolean goesOn;
    synchronized (this) {
      goesOn = !closed && !context.closed.get();
      callLater(goesOn); // first, because even a line takes memory
    }
    drain();
    if (isClosed()) {
      return;
    }
    if (goesOn) {
      Log.LOG.warn("{} could not campaign; it tries again", this, failure);
    } else {
      Log.LOG.info("{} ends: its Redlock was closed", this);
    }
  }

  /** Pauses if this candidate goes on; else it is over. */
  private void callLater(boolean goesOn) {
    assert Thread.holdsLock(this);
    phase = goesOn ? Phase.PAUSES : Phase.OVER;
    dueNanos = context.ticker.monotonicNanos() + ttlNanos / 3;
  }

  private synchronized boolean isClosed() {
    return closed;
  }

  private void callAgain() {
    synchronized (this) {
      if (closed || phase != Phase.PAUSES) {
        return;
      }
      phase = Phase.STARTS;
    }
    try {
      call();
    } catch (Throwable failure) { // the supplier of owner ids, or no memory
      failed(failure);
    }
  }

  @Override
  boolean step(long nowNanos, long nowWallMicros) {
    AcquireCall done = null;
    Term over = null;
    synchronized (this) {
      switch (phase) {
        case CALLS -> done = call != null && call.result().isDone() ? call : null;
        case LEADS -> over = term != null && term.isToRelease() ? term : null;
        case PAUSES -> {
          if (nowNanos - dueNanos < 0) {
            return rests(nowNanos, dueNanos - nowNanos);
          }
          dueNanos = nowNanos + PATIENCE_NANOS; // no thread may start
        }
        case OVER -> {
          return leaves();
        }
        case STARTS -> {}
      }
      if (done == null && over == null && phase != Phase.PAUSES) {
        return rests(nowNanos, Agenda.NEVER);
      }
    }
    if (done != null) {
      called(done);
    } else if (over != null) {
      over.release();
    } else {
      context.callbacks.other(this::callAgain); // the supplier of owner ids may block
    }
    return true;
  }

  private void lead(HeldLease lease) {
    Term next = new Term(lease);
    boolean wanted;
    synchronized (this) {
      wanted = !closed;
      phase = wanted ? Phase.LEADS : Phase.OVER;
      term = wanted ? next : null;
    }
    if (!wanted) {
      lease.close();
      return;
    }
    try {
      lease.watch(next::ended);
      threads.newThread(next).start();
    } catch (OutOfMemoryError failure) { // no memory for a thread
      next.over();
      Log.LOG.error("{} could not start a thread for its term; it campaigns again", this, failure);
    }
  }

  private void released(Term ended) {
    synchronized (this) {
      if (term != ended) {
        return;
      }
      term = null;
    }
    ended.complete();
    synchronized (this) {
      callLater(!closed);
    }
    drain();
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
    AcquireCall last;
    synchronized (this) {
      last = call;
    }
    Term current = term();
    if (current != null) {
      return Optional.of(HolderLabel.of(current.lease.owner()))
          .filter(label -> isLeader() && !label.isEmpty());
    }
    return last == null ? Optional.empty() : last.refusedBy();
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
    AcquireCall last;
    synchronized (this) {
      closed = true;
      last = phase == Phase.CALLS ? call : null;
      if (phase == Phase.PAUSES) {
        phase = Phase.OVER;
      }
    }
    drain();
    Term current = term();
    if (current != null) {
      current.stop("its candidature was closed");
      current.awaitEnd();
    } else if (last != null) {
      last.cancel();
    }
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
    private final HeldLease lease;
    private final CompletableFuture<Void> over = new CompletableFuture<>();
    private @Nullable Thread thread; // guarded by this; null unless the work runs
    private @Nullable Cancellable warning; // guarded by this; for work that does not stop
    private boolean wanted = true; // guarded by this; false once the work was asked to stop
    private boolean isToRelease; // guarded by this; the work has ended, or did not start

    Term(HeldLease lease) {
      this.lease = lease;
    }

    synchronized boolean isWanted() {
      return wanted;
    }

    void ended(LeaseEnd how) {
      if (interrupt()) {
        say(how.lost() ? "its lease was lost: " + how.detail() : "its work released the lease");
      }
    }

    /** Asks the work to stop, once. */
    void stop(String why) {
      if (interrupt()) {
        say(why);
      }
    }

    /** Returns true once. Needs no memory. */
    private synchronized boolean interrupt() {
      boolean first = wanted;
      wanted = false;
      if (first && thread != null) {
        thread.interrupt();
      }
      return first;
    }

    private void say(String why) {
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
          Brief.duration(request.ttl()));
    }

    @Override
    public void run() {
      try {
        if (begins()) {
          Log.LOG.info("{} leads, with token {}", LeaderCandidate.this, lease.fencingToken());
          work.run(lease, LeaderCandidate.this);
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
        isToRelease = true;
        if (warning != null) {
          warning.cancel();
        }
      }
      drain();
      if (ownWill) {
        Log.LOG.info("{} no longer leads: its work has ended", LeaderCandidate.this);
      }
    }

    synchronized boolean isToRelease() {
      return isToRelease;
    }

    /** Releases the lease; done again if it throws. */
    void release() {
      lease.releasing().whenComplete((result, failure) -> released(this));
      synchronized (this) {
        isToRelease = false;
      }
    }

    /** Lets those go on that wait for its end. */
    void complete() {
      over.complete(null);
    }

    /** Waits until the lease is released or the service closed, unless the work itself waits. */
    void awaitEnd() {
      synchronized (this) {
        if (thread == Thread.currentThread()) {
          return;
        }
      }
      CompletableFuture<Void> late = new CompletableFuture<>();
      Cancellable timer = context.scheduler.schedule(() -> late.complete(null), longestNanos());
      try {
        Blocking.await(CompletableFuture.anyOf(over, late, context.ends), context.scheduler);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      } finally {
        timer.cancel();
      }
    }

    /** Returns the time after which a release has come to an end, or its keys have expired. */
    private long longestNanos() {
      return ttlNanos + context.settings.nodeTimeoutNanos();
    }
  }
}
