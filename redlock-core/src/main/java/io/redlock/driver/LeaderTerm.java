package io.redlock.driver;

import io.redlock.Leadership;
import io.redlock.LeaseEnd;
import io.redlock.spi.Scheduler.Cancellable;
import io.redlock.text.Brief;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** The time of a lease: its work starts, is asked to stop, ends; then the lease is released. */
final class LeaderTerm implements Runnable {

  final HeldLease lease;
  private final ServiceContext context;
  private final Leadership candidate;
  private final Leadership.Work work;
  private final Duration ttl;
  private final Runnable whenOver;
  private final Consumer<LeaderTerm> whenReleased;
  private final CompletableFuture<Void> over = new CompletableFuture<>();
  private @Nullable Thread thread; // guarded by this; null unless the work runs
  private @Nullable Cancellable warning; // guarded by this; for work that does not stop
  private boolean wanted = true; // guarded by this; false once the work was asked to stop
  private boolean isToRelease; // guarded by this; the work has ended, or did not start

  /**
   * @param ttl that of the lease
   * @param whenOver called when the work has ended: {@link #release} is due
   * @param whenReleased called when the lease was released; perhaps twice
   */
  LeaderTerm(
      ServiceContext context,
      HeldLease lease,
      Leadership candidate,
      Leadership.Work work,
      Duration ttl,
      Runnable whenOver,
      Consumer<LeaderTerm> whenReleased) {
    this.context = context;
    this.lease = lease;
    this.candidate = candidate;
    this.work = work;
    this.ttl = ttl;
    this.whenOver = whenOver;
    this.whenReleased = whenReleased;
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
    Log.LOG.info("{} no longer leads: {}", candidate, why);
    synchronized (this) {
      if (thread != null) {
        warning = context.scheduler.schedule(this::warn, Settings.saturatedNanos(ttl));
      }
    }
  }

  private void warn() {
    Log.LOG.warn(
        "The work of {} still runs {} after it was interrupted; this candidate campaigns again"
            + " when it has ended",
        candidate,
        Brief.duration(ttl));
  }

  @Override
  public void run() {
    try {
      if (begins()) {
        Log.LOG.info("{} leads, with token {}", candidate, lease.fencingToken());
        work.run(lease, candidate);
      }
    } catch (Throwable failure) {
      if (isWanted()) {
        Log.LOG.warn("The work of {} failed; it campaigns again", candidate, failure);
      } else {
        Log.LOG.debug("The work of {} has stopped", candidate, failure);
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
    whenOver.run();
    if (ownWill) {
      Log.LOG.info("{} no longer leads: its work has ended", candidate);
    }
  }

  synchronized boolean isToRelease() {
    return isToRelease;
  }

  /** Releases the lease; done again if it throws. */
  void release() {
    lease.releasing().whenComplete((result, failure) -> whenReleased.accept(this));
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
    return Settings.saturatedNanos(ttl) + context.settings.nodeTimeoutNanos();
  }
}
