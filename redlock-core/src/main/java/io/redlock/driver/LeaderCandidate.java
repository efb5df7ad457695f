package io.redlock.driver;

import io.redlock.AcquireResult;
import io.redlock.Leadership;
import io.redlock.LeaseEnd;
import io.redlock.LeaseRequest;
import io.redlock.ReleaseResult;
import io.redlock.spi.HolderLabel;
import io.redlock.text.Brief;
import java.time.Duration;
import java.util.Objects;
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
  private static final long PATIENCE_NANOS = 1_000_000_000; // for a thread that ends the pause

  private final ServiceContext context;
  private final LeaseRequest request;
  private final Work work;
  private final Function<LeaseRequest, AcquireCall> calls;
  private final ThreadFactory threads;
  private final ClassLoader classes = Thread.currentThread().getContextClassLoader();
  private final long ttlNanos;

  private Phase phase = Phase.STARTS; // guarded by this, as all that follows
  private volatile @Nullable AcquireCall call; // written under this; the last one
  private volatile @Nullable HeldLease lease; // written under this; of a term, until it is released
  private @Nullable CompletableFuture<ReleaseResult> released; // once its release has begun
  private @Nullable Thread thread; // null unless the work runs
  private long dueNanos; // the end of a phase that has one
  private boolean closed;
  private long overNanos; // once it is closed: when nobody waits any longer for the last term
  private final CompletableFuture<Void> over = new CompletableFuture<>(); // the last term, or that

  private enum Phase {
    STARTS, // it makes a call
    CALLS, // it waits for the end of its call
    LEADS, // it holds a lease, for its work
    STOPS, // its work was asked to stop, a ttl ago at most
    OVERSTAYS, // its work was asked to stop, and should have stopped
    ENDS, // its work has ended, or did not start: the lease is released
    PAUSES, // it waits until it calls again
    OVER;

    boolean isTimed() {
      return this == STOPS || this == PAUSES;
    }
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
    next.result.whenComplete((result, failure) -> drain());
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
      AcquireResult taken = done.take(done.result.join());
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
    boolean isTold;
    synchronized (this) {
      goesOn = !closed && !context.closed.get();
      isTold = !closed;
      callLater(goesOn); // first, because even a line takes memory
    }
    drain();
    if (goesOn) {
      Log.LOG.warn("{} could not campaign; it tries again", this, failure);
    } else if (isTold) {
      Log.LOG.info("{} ends: its Redlock was closed", this);
    }
  }

  /** Pauses if this candidate goes on; else it is over. */
  private void callLater(boolean goesOn) {
    assert Thread.holdsLock(this);
    phase = goesOn ? Phase.PAUSES : Phase.OVER;
    dueNanos = context.ticker.monotonicNanos() + ttlNanos / 3;
  }

  /** Calls on a callback thread, since the source of owner ids may block. */
  private void callAgain() {
    synchronized (this) {
      dueNanos = context.ticker.monotonicNanos() + PATIENCE_NANOS; // no thread may start
    }
    context.callbacks.other(
        () -> {
          synchronized (this) {
            if (phase != Phase.PAUSES) {
              return;
            }
            phase = Phase.STARTS;
          }
          try {
            call();
          } catch (Throwable failure) { // the source of owner ids, or no memory
            failed(failure);
          }
        });
  }

  @Override
  boolean step(long nowNanos, long nowWallMicros) {
    Runnable due;
    synchronized (this) {
      long phaseNanos = phase.isTimed() ? dueNanos - nowNanos : Agenda.NEVER;
      long leftNanos = closed && !over.isDone() ? overNanos - nowNanos : Agenda.NEVER;
      boolean isTime = phaseNanos <= 0;
      AcquireCall last = call;
      HeldLease held = lease;
      due =
          leftNanos <= 0
              ? () -> over.complete(null)
              : switch (phase) {
                case CALLS -> last != null && last.result.isDone() ? () -> called(last) : null;
                case LEADS ->
                    held != null && held.told.isDone() ? () -> ended(held, held.told.join()) : null;
                case STOPS -> isTime ? this::warn : null;
                case ENDS ->
                    released == null ? this::release : released.isDone() ? this::end : null;
                case PAUSES -> isTime ? this::callAgain : null;
                default -> null;
              };
      if (due == null) {
        return phase == Phase.OVER ? leaves() : rests(nowNanos, Math.min(phaseNanos, leftNanos));
      }
    }
    due.run();
    return true;
  }

  // A term: its work starts, is asked to stop, ends; then the lease is released.

  private void lead(HeldLease acquired) {
    synchronized (this) {
      lease = acquired;
      phase = closed ? Phase.ENDS : Phase.LEADS;
      if (closed) {
        return;
      }
    }
    boolean isStarted = false;
    try {
      acquired.told.whenComplete((how, none) -> drain());
      threads.newThread(() -> work(acquired)).start();
      isStarted = true;
    } finally {
      if (!isStarted) {
        workEnded();
      }
    }
  }

  private void work(HeldLease held) {
    Thread.currentThread().setContextClassLoader(classes);
    try {
      if (begins()) {
        Log.LOG.info("{} leads, with token {}", this, held.fencingToken());
        work.run(held, this);
      }
    } catch (Throwable failure) {
      if (isWanted()) {
        Log.LOG.warn("The work of {} failed; it campaigns again", this, failure);
      } else {
        Log.LOG.debug("The work of {} has stopped", this, failure);
      }
    } finally {
      workEnded();
    }
  }

  private synchronized boolean begins() {
    thread = isWanted() ? Thread.currentThread() : null;
    return isWanted();
  }

  private synchronized boolean isWanted() {
    return phase == Phase.LEADS;
  }

  private void workEnded() {
    boolean ownWill;
    synchronized (this) {
      ownWill = isWanted();
      thread = null;
      phase = Phase.ENDS;
    }
    drain();
    if (ownWill) {
      Log.LOG.info("{} no longer leads: its work has ended", this);
    }
  }

  private void ended(HeldLease held, LeaseEnd how) {
    stop(
        held,
        how.lost() ? "its lease was lost: " : "its work released the lease",
        how.lost() ? how.detail() : "");
  }

  /** Asks the work to stop, once in a term. Takes no memory for that. */
  private void stop(@Nullable HeldLease held, String why, String detail) {
    long nowNanos = context.ticker.monotonicNanos();
    synchronized (this) {
      if (!isWanted() || lease != held) {
        return;
      }
      phase = Phase.STOPS;
      dueNanos = nowNanos + ttlNanos;
      if (thread != null) {
        thread.interrupt();
      }
    }
    drain(); // first, because even a line takes memory
    Log.LOG.info("{} no longer leads: {}{}", this, why, detail);
  }

  private void warn() {
    synchronized (this) {
      if (phase != Phase.STOPS) {
        return;
      }
      phase = Phase.OVERSTAYS;
    }
    Log.LOG.warn(
        "The work of {} still runs {} after it was interrupted; this candidate campaigns again when"
            + " it has ended",
        this,
        Brief.duration(request.ttl()));
  }

  /** Releases the lease; done again if it throws. */
  private void release() {
    CompletableFuture<ReleaseResult> release = Objects.requireNonNull(lease).releasing();
    release.whenComplete((result, failure) -> drain());
    synchronized (this) {
      released = release;
    }
  }

  private void end() {
    boolean isOver;
    synchronized (this) {
      lease = null;
      released = null;
      callLater(!closed);
      isOver = closed;
    }
    if (isOver) {
      over.complete(null);
    }
  }

  @Override
  public String resource() {
    return request.resources().iterator().next();
  }

  @Override
  public boolean isLeader() {
    HeldLease current = lease;
    return current != null && isWanted() && current.isValid();
  }

  @Override
  public Optional<String> leader() {
    AcquireCall last = call;
    HeldLease current = lease;
    if (current != null) {
      return Optional.of(HolderLabel.of(current.owner.id))
          .filter(label -> isLeader() && !label.isEmpty());
    }
    return last == null ? Optional.empty() : last.refusedBy();
  }

  @Override
  public void resign() {
    stop(lease, "it resigned", "");
  }

  @Override
  public void close() {
    AcquireCall last;
    synchronized (this) {
      closed = true;
      // After this time a release has come to an end, or its keys have expired.
      overNanos = context.ticker.monotonicNanos() + ttlNanos + context.settings.nodeTimeoutNanos();
      last = phase == Phase.CALLS ? call : null;
      phase = phase == Phase.PAUSES ? Phase.OVER : phase;
    }
    drain();
    HeldLease current = lease;
    if (current != null) {
      stop(current, "its candidature was closed", "");
      awaitEnd();
    } else if (last != null) {
      last.cancel();
    }
  }

  /** Waits until the lease is released or the service closed, unless the work itself waits. */
  private void awaitEnd() {
    synchronized (this) {
      if (thread == Thread.currentThread()) {
        return;
      }
    }
    try {
      context.scheduler.await(CompletableFuture.anyOf(over, context.ends));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** For example {@code candidate for reports/leader}. */
  @Override
  public String toString() {
    return "candidate for " + Brief.text(resource());
  }
}
