package io.redlock.driver;

import io.redlock.ExtendResult;
import io.redlock.LeaseEnd;
import io.redlock.LeaseEnd.Cause;
import io.redlock.LeaseLostException;
import io.redlock.LeaseRequest;
import io.redlock.LeaseTooShortException;
import io.redlock.ReleaseResult;
import io.redlock.protocol.AcquireRound;
import io.redlock.protocol.Deadline;
import io.redlock.spi.Scheduler.Cancellable;
import io.redlock.text.Brief;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** A lease as its holder sees it. Ends once; from then on only its release lives. */
final class HeldLease implements Extension.Extendable, LiveLeases.Live {

  private static final long TIMER_TOLERANCE_NANOS = 1_000_000;
  private static final LeaseEnd NOT_HELD =
      new LeaseEnd(Cause.REFUSED, "no majority held it when it was released");

  private final Claim claim;
  private final ServiceContext cluster;
  private final LeaseRequest request;
  private final long token;
  private final long startNanos;
  private final FlightEvents.@Nullable LeaseEnded event = FlightEvents.holding();

  private volatile Deadline lossTime; // written under claim; the deadline less the loss margin
  private Deadline deadline; // guarded by claim
  private volatile @Nullable LeaseEnd end; // written under claim, once
  private @Nullable Cancellable timer; // guarded by claim; of the loss, then of the keys' release
  private @Nullable Renewal renewal; // guarded by claim
  private @Nullable Reaffirmation
      reaffirmation; // guarded by claim; null until a node lost its past
  private @Nullable CompletableFuture<LeaseEnd> ended; // guarded by claim; null until asked for

  private HeldLease(
      Claim claim, LeaseRequest request, long token, Deadline deadline, long ttlMillis) {
    this.claim = claim;
    this.cluster = claim.cluster;
    this.request = request;
    this.token = token;
    this.startNanos = cluster.ticker.monotonicNanos();
    this.deadline = deadline;
    this.lossTime = lossTime(deadline, ttlMillis);
  }

  /** The lease that a decided round stands for, watched and, if so requested, renewed. */
  static HeldLease begin(Claim claim, LeaseRequest request, AcquireRound round) {
    ServiceContext cluster = claim.cluster;
    long ttlMillis = round.terms().ttlMillis();
    HeldLease lease = new HeldLease(claim, request, round.token(), round.deadline(), ttlMillis);
    cluster.lines.leased(claim.names);
    cluster.liveLeases.add(lease);
    lease.checkDeadline();
    request
        .maxHold()
        .map(Settings::saturatedNanos)
        .map(nanos -> Deadline.after(round.startNanos(), round.startWallMicros(), nanos))
        .ifPresent(until -> lease.renew(new Renewal(lease, cluster, ttlMillis, until)));
    return lease;
  }

  private void renew(Renewal started) {
    synchronized (claim) {
      if (end == null) {
        renewal = started;
        started.start();
      }
    }
  }

  private Deadline lossTime(Deadline deadline, long ttlMillis) {
    return Deadline.after(
        deadline.nanos(), deadline.wallMicros(), -cluster.settings.lossMarginNanos(ttlMillis));
  }

  @Override
  public Set<String> resources() {
    return request.resources();
  }

  @Override
  public long fencingToken() {
    return token;
  }

  @Override
  public Duration remaining() {
    return Duration.ofNanos(remainingNanos());
  }

  private long remainingNanos() {
    if (end != null) {
      return 0;
    }
    long nowNanos = cluster.ticker.monotonicNanos();
    return Math.max(0, lossTime.remainingNanos(nowNanos, cluster.ticker.wallMicros()));
  }

  @Override
  public boolean isValid() {
    return remainingNanos() > 0;
  }

  @Override
  public void ensureValid(Duration atLeast) {
    Objects.requireNonNull(atLeast, "atLeast is null: give the time you need, or zero for now");
    long left = remainingNanos();
    if (left <= 0) {
      checkDeadline(); // after a pause no timer may have declared it lost yet
      throw new LeaseLostException(this, Objects.requireNonNull(end));
    }
    if (left < Settings.saturatedNanos(atLeast)) {
      throw new LeaseTooShortException(this, Duration.ofNanos(left), atLeast);
    }
  }

  @Override
  public ExtendResult extend(Duration ttl) throws InterruptedException {
    return Blocking.await(checkedExtension(ttl), cluster.scheduler);
  }

  @Override
  public CompletableFuture<ExtendResult> extendAsync(Duration ttl) {
    CompletableFuture<ExtendResult> future = new CompletableFuture<>();
    checkedExtension(ttl).thenAccept(result -> cluster.complete(future, result));
    return future;
  }

  private CompletableFuture<ExtendResult> checkedExtension(Duration ttl) {
    Objects.requireNonNull(ttl, "ttl is null: give the time to extend by, from now");
    Settings.reject("cannot extend " + this, cluster.settings.ttlProblems(ttl));
    LeaseEnd how = end;
    if (how != null && how.cause() == Cause.RELEASED) {
      throw new IllegalStateException(this + " was released and cannot be extended");
    }
    return extension(Settings.ceilMillis(ttl));
  }

  private CompletableFuture<ExtendResult> extension(long ttlMillis) {
    return new Extension(this, claim, ttlMillis, true).start();
  }

  @Override
  public void extend(long ttlMillis, Consumer<ExtendResult> next) {
    inBackground(() -> extension(ttlMillis), next);
  }

  @Override
  public void confirm(Consumer<ExtendResult> next) {
    inBackground(() -> new Extension(this, claim, leftMillis(), false).start(), next);
  }

  private void inBackground(
      Supplier<CompletableFuture<ExtendResult>> step, Consumer<ExtendResult> next) {
    CompletableFuture<ExtendResult> extended;
    try {
      extended = step.get();
    } catch (Throwable e) {
      Log.LOG.error("{} could not be extended; this is a defect of the lock library", this, e);
      extended = CompletableFuture.completedFuture(new ExtendResult.Unknown(cluster.noVotes));
    }
    extended.thenAccept(
        result -> {
          try {
            next.accept(result);
          } catch (Throwable e) {
            Log.LOG.error("The next extension of {} is late", this, e);
            cluster.liveLeases.checkSoon();
          }
        });
  }

  /**
   * A node that granted this lease has lost its past: finds out whether a quorum still holds it,
   * and lets the node join again.
   */
  @Override
  public void reaffirm(int node) {
    if (!claim.wasGrantedBy(node) || hasEnded()) {
      return;
    }
    Reaffirmation chain;
    synchronized (claim) {
      if (reaffirmation == null) {
        reaffirmation = new Reaffirmation(this, cluster);
      }
      chain = reaffirmation;
    }
    chain.begin();
  }

  /** A ttl that ends with the lease. */
  private long leftMillis() {
    synchronized (claim) {
      return cluster.settings.ttlMillisFor(
          deadline.remainingNanos(cluster.ticker.monotonicNanos(), cluster.ticker.wallMicros()));
    }
  }

  @Override
  public Deadline deadline() {
    assert Thread.holdsLock(claim);
    return deadline;
  }

  @Override
  public boolean hasEnded() {
    checkDeadline();
    return end != null;
  }

  @Override
  public void lengthen(Deadline extended, long ttlMillis) {
    assert Thread.holdsLock(claim);
    deadline = deadline.max(extended);
    lossTime = lossTime.max(lossTime(extended, ttlMillis));
  }

  /** Declares the lease lost if its time has come; else sees to it that this is checked in time. */
  void checkDeadline() {
    boolean watched = false;
    try {
      if (watchDeadline()) {
        lose(expiry());
      }
      watched = true;
    } finally {
      if (!watched) {
        cluster.liveLeases.checkSoon();
      }
    }
  }

  /** True if its time has come. */
  private boolean watchDeadline() {
    synchronized (claim) {
      if (end != null) {
        return false;
      }
      long leftNanos = remainingNanos();
      while (leftNanos > 0) {
        cancelTimer();
        timer = cluster.scheduler.schedule(this::checkDeadline, leftNanos);
        // The delay counts from now on, which is late if this thread stood still meanwhile.
        long plannedNanos = leftNanos;
        leftNanos = remainingNanos();
        if (plannedNanos - leftNanos < TIMER_TOLERANCE_NANOS) {
          return false;
        }
      }
    }
    return true;
  }

  @Override
  public void check() {
    checkDeadline();
    Renewal renewed;
    synchronized (claim) {
      renewed = renewal;
    }
    if (renewed != null) {
      renewed.resume();
    }
  }

  private void cancelTimer() {
    assert Thread.holdsLock(claim);
    if (timer != null) {
      timer.cancel();
    }
  }

  private LeaseEnd expiry() {
    Renewal renewed;
    synchronized (claim) {
      renewed = renewal;
    }
    return renewed != null && renewed.isOver()
        ? new LeaseEnd(Cause.MAX_HOLD, "it was held for as long as its request allowed")
        : new LeaseEnd(Cause.EXPIRED, "it was not extended before its deadline came near");
  }

  /** Ends the lease, unless it has ended already, and releases it wherever it may be held. */
  PendingRelease end(LeaseEnd how) {
    boolean first = conclude(how);
    synchronized (claim) {
      cancelTimer();
    }
    PendingRelease release = claim.end();
    if (first) {
      cluster.lines.ended(claim.names);
    }
    return release;
  }

  /**
   * Ends the lease, unless it has ended already, and keeps its keys until its deadline or until its
   * holder releases it: the margin is the holder's time to stop. A wall clock that was set forward
   * must not take that time from it, so the monotonic clock decides.
   */
  @Override
  public void lose(LeaseEnd how) {
    if (conclude(how)) {
      cluster.lines.ended(claim.names);
      synchronized (claim) {
        if (!claim.hasEnded()) {
          long leftNanos = deadline.nanos() - cluster.ticker.monotonicNanos();
          timer = cluster.scheduler.schedule(claim::end, leftNanos);
        }
      }
    }
  }

  @Override
  public void abandon(LeaseEnd how) {
    if (conclude(how)) {
      cluster.lines.ended(claim.names);
    }
  }

  /** True if the lease had not ended before. */
  private boolean conclude(LeaseEnd how) {
    boolean first;
    CompletableFuture<LeaseEnd> awaited;
    synchronized (claim) {
      awaited = ended;
      first = end == null;
      if (first) {
        end = how;
        cancelTimer();
        if (renewal != null) {
          renewal.stop();
        }
      }
    }
    if (first) {
      try {
        tell(how, awaited);
      } catch (Throwable e) { // those who wait for the resource must not wait for ever
        Log.LOG.error("The end of {} was not told to all", this, e);
      }
    }
    return first;
  }

  private void tell(LeaseEnd how, @Nullable CompletableFuture<LeaseEnd> awaited) {
    cluster.liveLeases.remove(this);
    long heldNanos = cluster.ticker.monotonicNanos() - startNanos;
    cluster.announce(
        how, awaited, listener -> listener.onEnd(this, how, Duration.ofNanos(heldNanos)));
    if (how.lost()) {
      Log.LOG.warn("{} is lost: {}, {}", this, how.cause(), how.detail());
    }
    FlightEvents.ended(event, this, how);
  }

  @Override
  public ReleaseResult release() throws InterruptedException {
    return Blocking.await(releasing(), cluster.scheduler);
  }

  @Override
  public CompletableFuture<ReleaseResult> releaseAsync() {
    CompletableFuture<ReleaseResult> future = new CompletableFuture<>();
    releasing().thenAccept(result -> cluster.complete(future, result));
    return future;
  }

  /** Releases the lease, unless it is found to be lost, wherever it may be held. */
  CompletableFuture<ReleaseResult> releasing() {
    if (!isValid()) {
      checkDeadline(); // after a pause the first call tells a lost lease from a released one
    }
    return end(new LeaseEnd(Cause.RELEASED, "by its holder")).result();
  }

  /** Releases the lease and waits for the outcome whatever happens. */
  ReleaseResult releaseUninterruptibly() {
    return Blocking.uninterruptibly(releasing(), cluster.scheduler);
  }

  /** How the lease was lost before this came of its release; empty if it was not, or is held. */
  Optional<LeaseLostException> loss(@Nullable ReleaseResult released) {
    LeaseEnd how = end;
    if (how != null && how.lost()) {
      return Optional.of(new LeaseLostException(this, how));
    }
    return released == ReleaseResult.NOT_HELD
        ? Optional.of(new LeaseLostException(this, NOT_HELD))
        : Optional.empty();
  }

  void throwIfLost(@Nullable ReleaseResult released) {
    loss(released)
        .ifPresent(
            loss -> {
              throw loss;
            });
  }

  @Override
  public CompletionStage<LeaseEnd> ended() {
    CompletableFuture<LeaseEnd> asked;
    LeaseEnd how = null;
    synchronized (claim) {
      if (ended == null) {
        ended = new CompletableFuture<>();
        how = end;
      }
      asked = ended;
    }
    if (how != null) {
      cluster.complete(asked, how);
    }
    return asked.minimalCompletionStage();
  }

  @Override
  public void close() {
    releasing();
  }

  /** For example {@code lease on orders/42, token 1763654400000000}. */
  @Override
  public String toString() {
    return "lease on " + Brief.names(request.resources()) + ", token " + token;
  }
}
