package io.redlock;

import io.redlock.protocol.AcquireRound.Decision;
import io.redlock.protocol.Ballot;
import io.redlock.spi.Scheduler.Cancellable;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * One call for a lease: attempts with fresh owner ids, pauses between them, until one holds or the
 * wait is over. A call that is willing to wait stands in its {@link LocalLines local line} and asks
 * the nodes only at its head. Needs no thread of its own; blocking calls merely wait for its
 * future.
 */
final class AcquireLoop {

  /** The calls of one lock service that are not over, so that closing it can end them. */
  interface OpenCalls {
    /** False if the service is closed. */
    boolean add(AcquireLoop call);

    void remove(AcquireLoop call);
  }

  /** How long to wait for the other nodes' wake-ups after the first. */
  private static final long WAKE_PATIENCE_NANOS = 5_000_000;

  /** Waits longer than this have no end. */
  private static final long ENDLESS_NANOS = Long.MAX_VALUE / 4;

  private final Cluster cluster;
  private final LeaseRequest request;
  private final List<String> names;
  private final @Nullable QueuePlace place; // null unless it is first come, first served
  private final CompletableFuture<AcquireResult> future = new CompletableFuture<>();
  private final OpenCalls openCalls;
  private final FlightEvents.@Nullable Acquire event = FlightEvents.acquiring();
  private final long startNanos;
  private final long maxWaitNanos;

  private @Nullable Attempt running; // guarded by this; null between attempts
  private @Nullable Cancellable timer; // guarded by this; the next attempt, or the end of the wait
  private boolean mayAskAgain; // guarded by this; the line moved while an attempt was running
  private int wokenBy; // guarded by this; the nodes that woke it since its last attempt, as bits
  private boolean over; // guarded by this
  private Attempt.@Nullable Outcome lastOutcome; // guarded by this
  private int failures; // guarded by this
  private boolean clockLearned; // guarded by this

  AcquireLoop(Cluster cluster, LeaseRequest request, OpenCalls openCalls) {
    this.cluster = cluster;
    this.request = request;
    this.openCalls = openCalls;
    this.names = cluster.settings.names(request);
    this.startNanos = cluster.ticker.monotonicNanos();
    this.maxWaitNanos = Settings.saturatedNanos(request.maxWait());
    this.place = request.isFair() ? cluster.fairWaiters.enter(this, waits()) : null;
  }

  List<String> names() {
    return names;
  }

  boolean isFair() {
    return place != null;
  }

  CompletableFuture<AcquireResult> start() {
    if (!openCalls.add(this)) {
      fail();
    } else if (!waits() || cluster.lines.join(this)) {
      attempt();
    } else {
      standInLine();
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
      return Waits.await(start(), cluster.scheduler);
    } catch (InterruptedException e) {
      cancel();
      throw e;
    }
  }

  /** Starts, and waits for the result whatever happens. */
  AcquireResult awaitUninterruptibly() {
    return Waits.uninterruptibly(start(), cluster.scheduler);
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
    return future.completeExceptionally(new IllegalStateException("this Redlock is closed"))
        ? stop()
        : Optional.empty();
  }

  /** Whether this is what came of the call. */
  boolean yielded(@Nullable AcquireResult result) {
    return result != null
        && future.isDone()
        && !future.isCompletedExceptionally()
        && future.join() == result;
  }

  /** Releases the lease of a call that is complete although nobody wants it any more. */
  void releaseUnwanted() {
    if (future.isDone() && !future.isCompletedExceptionally()) {
      future.join().lease().ifPresent(Lease::close);
    }
  }

  private Optional<Claim> stop() {
    Attempt unfinished;
    synchronized (this) {
      unfinished = running;
      endLocked();
    }
    Optional<Claim> released = Optional.ofNullable(unfinished).map(Attempt::abandon);
    if (unfinished == null) {
      withdraw();
    }
    leave();
    return released;
  }

  private void endLocked() {
    over = true;
    running = null;
    if (timer != null) {
      timer.cancel();
    }
  }

  /** Gives up its place in the queues, if it has one and no claim has done so or will. */
  private void withdraw() {
    if (place != null) {
      place.withdraw(cluster, names);
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

  /** The line has moved: asks the nodes after the delay, sooner than planned if it was planned. */
  void proceed(long delayNanos) {
    synchronized (this) {
      if (over) {
        return;
      }
      if (running != null) {
        mayAskAgain = true;
        return;
      }
    }
    if (delayNanos > 0) {
      attemptIn(delayNanos);
    } else {
      attempt();
    }
  }

  /**
   * A node says that this call is first in its queue: a hint. The others will say so too if they
   * can, so the call asks when a quorum has, or a moment after the first.
   */
  void woken(int node) {
    boolean byQuorum;
    synchronized (this) {
      if (over || place == null || !place.stands()) {
        return;
      }
      boolean isFirst = wokenBy == 0;
      wokenBy |= 1 << node;
      byQuorum = isWokenByQuorum();
      if (running != null || !(isFirst || byQuorum)) {
        return;
      }
    }
    if (byQuorum) {
      attempt();
    } else {
      attemptIn(Math.min(WAKE_PATIENCE_NANOS, Math.max(leftNanos(), 1)));
    }
  }

  private boolean isWokenByQuorum() {
    return Integer.bitCount(wokenBy) >= Ballot.quorum(cluster.nodes.size());
  }

  private void standInLine() {
    long leftNanos = leftNanos();
    synchronized (this) {
      // The line may have moved, and a timer may be set, since this call joined it.
      if (!over && running == null && timer == null && leftNanos < ENDLESS_NANOS) {
        timer = cluster.scheduler.schedule(this::giveUpWaiting, leftNanos);
      }
    }
  }

  private void attemptIn(long delayNanos) {
    synchronized (this) {
      if (over || running != null) {
        return;
      }
      if (timer != null) {
        timer.cancel();
      }
      timer = cluster.scheduler.schedule(this::attemptIfHead, delayNanos);
    }
  }

  private void attemptIfHead() {
    boolean keepsTicketAlive = place != null && place.stands();
    if (!waits() || keepsTicketAlive || cluster.lines.mayAsk(this)) {
      attempt();
    } else {
      synchronized (this) {
        timer = null;
      }
      standInLine();
    }
  }

  private void attempt() {
    Attempt next;
    synchronized (this) {
      if (over || running != null) {
        return;
      }
      if (timer != null) {
        timer.cancel();
        timer = null;
      }
      mayAskAgain = false;
      wokenBy = 0;
      next = new Attempt(cluster, request, names, place, this::attempted);
      running = next;
    }
    next.start();
  }

  private void attempted(Attempt.Outcome outcome) {
    if (outcome.lease != null) {
      finish(outcome.lease, outcome.result());
      return;
    }
    boolean relearned;
    boolean asksAtOnce;
    int failed;
    synchronized (this) {
      lastOutcome = outcome;
      failed = ++failures;
      relearned = outcome.decision == Decision.CLOCK_REFUSED && !clockLearned;
      clockLearned |= relearned;
      if (relearned && place != null) {
        place.restart();
      }
      asksAtOnce = relearned || mayAskAgain || isWokenByQuorum();
    }
    // The strategy is a user's, so no monitor is held; this attempt still counts as running.
    long pauseNanos = asksAtOnce ? 0 : pauseNanos(outcome, failed);
    long leftNanos = leftNanos();
    if (relearned && leftNanos <= 0) {
      leftNanos = 1; // the nodes have just told their time: worth one more attempt
    }
    long delayNanos;
    synchronized (this) {
      running = null;
      boolean isHinted = wokenBy != 0 && outcome.keepsPlace();
      long plannedNanos = isHinted ? Math.min(pauseNanos, WAKE_PATIENCE_NANOS) : pauseNanos;
      delayNanos = mayAskAgain || isWokenByQuorum() ? 0 : plannedNanos;
    }
    if (leftNanos <= 0) {
      finish(null, outcome.result());
    } else if (delayNanos == 0) {
      attempt();
    } else {
      attemptIn(Math.min(delayNanos, leftNanos));
    }
  }

  /** At least a nanosecond; no longer than the holder's key lives, which the next attempt finds. */
  private long pauseNanos(Attempt.Outcome outcome, int failed) {
    long askedNanos = askedNanos(outcome, failed);
    long heldForMillis = outcome.takenRemainingMillis();
    if (heldForMillis >= 0) {
      // A key with 0 ms left is still there, until the node's clock has moved on.
      Duration life = Duration.ofMillis(heldForMillis).plusMillis(1);
      askedNanos = Math.min(askedNanos, Settings.saturatedNanos(life));
    }
    return Math.max(askedNanos, 1);
  }

  /**
   * Who is behind others in the queue will be woken: it only keeps its tickets alive. Who was
   * granted a part asks again soon, for the others that were as well have tickets by now, and
   * before those that came with the grants have run out.
   */
  private long askedNanos(Attempt.Outcome outcome, int failed) {
    if (place == null || !outcome.keepsPlace()) {
      return Settings.saturatedNanos(strategyDelay(failed, outcome.cause()));
    }
    if (outcome.isBehindOthers()) {
      return QueuePlace.refreshNanos(QueuePlace.LIFE_NANOS);
    }
    long ticketNanos = Math.min(QueuePlace.LIFE_NANOS, Settings.saturatedNanos(request.ttl()));
    return Math.min(
        QueuePlace.refreshNanos(ticketNanos),
        Settings.saturatedNanos(strategyDelay(failed, outcome.cause())));
  }

  private Duration strategyDelay(int failed, RetryStrategy.Cause cause) {
    try {
      return cluster.retryStrategy.delay(failed, cause, cluster.random);
    } catch (RuntimeException e) { // a user's strategy: the call must not hang for it
      Log.LOG.warn("The retry strategy failed; the default one decides", e);
      return RetryStrategy.jitteredBackoff().delay(failed, cause, cluster.random);
    }
  }

  /** The wait is over and the nodes were not asked: others in this process were first. */
  private void giveUpWaiting() {
    Attempt.Outcome last;
    synchronized (this) {
      if (over || running != null) {
        return;
      }
      last = lastOutcome;
      endLocked();
    }
    int quorum = Ballot.quorum(cluster.nodes.size());
    finish(
        null,
        last != null ? last.result() : new AcquireResult.Contended(new Votes(List.of(), quorum)));
  }

  private void finish(@Nullable HeldLease lease, AcquireResult result) {
    if (lease == null) {
      synchronized (this) {
        endLocked();
      }
      withdraw(); // before its caller hears of it, who may close the service at once
    }
    boolean wanted = future.complete(result);
    if (wanted || lease != null) { // the end of an unwanted lease is told, so its beginning is too
      FlightEvents.acquired(event, request, result);
      long tookNanos = cluster.ticker.monotonicNanos() - startNanos;
      cluster.tell(listener -> listener.onAcquire(request, result, Duration.ofNanos(tookNanos)));
    }
    if (!wanted && lease != null) {
      lease.close();
    }
    synchronized (this) {
      endLocked(); // not before: who ends the call meanwhile has to find the attempt that held
    }
    leave();
  }
}
