package io.redlock.driver;

import io.redlock.ExtendResult;
import io.redlock.LeaseEnd;
import io.redlock.LeaseEnd.Cause;
import io.redlock.LeaseLostException;
import io.redlock.LeaseRequest;
import io.redlock.LeaseStatus;
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

/** The lease of a holder. Ends once; after that only its release goes on. */
final class HeldLease implements Extension.Extendable, LiveLeases.Live {

  private static final long TIMER_TOLERANCE_NANOS = 1_000_000;
  private static final LeaseEnd RELEASED = new LeaseEnd(Cause.RELEASED, "by its holder");
  private static final LeaseEnd NOT_HELD =
      new LeaseEnd(Cause.REFUSED, "no majority held it when it was released");

  private final Owner owner;
  private final ServiceContext context;
  private final Set<String> resources;
  private final long token;
  private final long startNanos;
  private final FlightEvents.@Nullable LeaseEnded event = FlightEvents.holding();

  /** The number of times that a thread must unlock to release it; written by that thread only. */
  volatile int holds = 1;

  private volatile Deadline lossTime; // written under owner; the deadline less the loss margin
  private volatile @Nullable LeaseEnd end; // written under owner, once
  private @Nullable Cancellable timer; // guarded by owner; of the loss, then of the keys' release
  private @Nullable Renewal renewal; // guarded by owner
  private @Nullable Reaffirmation reaffirmation; // guarded by owner; null until a node was reset
  private Callbacks.@Nullable Handover<LeaseEnd> ended; // guarded by owner; null until asked for
  private Consumer<LeaseEnd> watcher = how -> {}; // guarded by owner

  private HeldLease(Owner owner, Set<String> resources, AcquireRound round) {
    this.owner = owner;
    this.context = owner.context;
    this.resources = resources;
    this.token = round.token();
    this.startNanos = context.ticker.monotonicNanos();
    this.lossTime = round.terms().lossTime(round.deadline());
  }

  /**
   * Returns the lease of a successful round; watches it and, if requested, renews it.
   *
   * @param resources what it holds, of what the request names
   */
  static HeldLease begin(
      Owner owner, LeaseRequest request, Set<String> resources, AcquireRound round) {
    ServiceContext context = owner.context;
    long ttlMillis = round.terms().ttlMillis();
    HeldLease lease = new HeldLease(owner, resources, round);
    context.queues.leased(owner.names);
    boolean watched = false;
    try {
      context.liveLeases.add(lease);
      lease.checkDeadline();
      request
          .renewFor()
          .map(Settings::saturatedNanos)
          .map(nanos -> Deadline.after(round.startNanos(), round.startWallMicros(), nanos))
          .ifPresent(until -> lease.renew(new Renewal(lease, context, ttlMillis, until)));
      watched = true;
    } finally {
      if (!watched) { // no memory for a timer
        lease.discard();
      }
    }
    return lease;
  }

  /** Releases a lease that nobody has seen yet. */
  private void discard() {
    synchronized (owner) {
      if (end != null) {
        return;
      }
      end = RELEASED;
      cancelTimer();
      if (renewal != null) {
        renewal.stop();
      }
    }
    context.liveLeases.remove(this);
    try {
      owner.end();
    } finally {
      context.queues.ended(owner.names);
    }
  }

  private void renew(Renewal started) {
    synchronized (owner) {
      if (end == null) {
        renewal = started;
        started.start();
      }
    }
  }

  @Override
  public Set<String> resources() {
    return resources;
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
    if (end != null) { // L3
      return 0;
    }
    long nowNanos = context.ticker.monotonicNanos();
    return Math.max(0, lossTime.remainingNanos(nowNanos, context.ticker.wallMicros()));
  }

  @Override
  public Optional<LeaseStatus> status() {
    long leftNanos = remainingNanos();
    if (leftNanos == 0) {
      return Optional.empty();
    }
    boolean renewed;
    synchronized (owner) {
      renewed = renewal != null && !renewal.isOver();
    }
    return Optional.of(
        new StatusOfLease(
            resources,
            token,
            Duration.ofNanos(context.ticker.monotonicNanos() - startNanos),
            Duration.ofNanos(leftNanos),
            renewed,
            holds));
  }

  @Override
  public boolean isValid() {
    return remainingNanos() > 0;
  }

  @Override
  public void ensureValid(Duration atLeast) {
    Objects.requireNonNull(atLeast, "atLeast is null: give the time you need, or zero for now");
    long left = remainingNanos();
    while (left <= 0) {
      checkDeadline(); // after a pause no timer may have declared it lost yet
      LeaseEnd how = end;
      if (how != null) {
        throw new LeaseLostException(this, how);
      }
      left = remainingNanos(); // an extension or the wall clock came in between
    }
    if (left < Settings.saturatedNanos(atLeast)) {
      throw new LeaseTooShortException(this, Duration.ofNanos(left), atLeast);
    }
  }

  @Override
  public ExtendResult extend(Duration ttl) throws InterruptedException {
    return Blocking.await(checkedExtension(ttl), context.scheduler);
  }

  @Override
  public CompletableFuture<ExtendResult> extendAsync(Duration ttl) {
    return context.callbacks.pass(checkedExtension(ttl));
  }

  private CompletableFuture<ExtendResult> checkedExtension(Duration ttl) {
    Objects.requireNonNull(ttl, "ttl is null: give the time to extend by, from now");
    Settings.reject("cannot extend " + this, context.settings.ttlProblems(ttl));
    if (isReleased()) {
      throw new IllegalStateException(this + " was released and cannot be extended");
    }
    return extension(Settings.ceilMillis(ttl));
  }

  private CompletableFuture<ExtendResult> extension(long ttlMillis) {
    return new Extension(this, owner, ttlMillis, true).start();
  }

  @Override
  public void extend(long ttlMillis, Consumer<ExtendResult> next) {
    inBackground(() -> extension(ttlMillis), next);
  }

  @Override
  public void confirm(Consumer<ExtendResult> next) {
    inBackground(() -> new Extension(this, owner, leftMillis(), false).start(), next);
  }

  private void inBackground(
      Supplier<CompletableFuture<ExtendResult>> step, Consumer<ExtendResult> next) {
    CompletableFuture<ExtendResult> extended;
    try {
      extended = step.get();
    } catch (Throwable e) {
      Log.LOG.error("{} could not be extended; this is a defect of the lock library", this, e);
      extended = CompletableFuture.completedFuture(ExtendResult.unknown(context.noVotes));
    }
    extended.thenAccept(
        result -> {
          try {
            next.accept(result);
          } catch (Throwable e) {
            context.liveLeases.checkSoon(); // first, because even a line takes memory
            Log.LOG.error("The next extension of {} is late", this, e);
          }
        });
  }

  /**
   * Finds out whether a quorum still holds the lease after a node that granted it was reset, and
   * lets the node join again.
   */
  @Override
  public void reaffirm(int node) {
    if (!owner.wasGrantedBy(node) || hasEnded()) {
      return;
    }
    Reaffirmation chain;
    synchronized (owner) {
      if (reaffirmation == null) {
        reaffirmation = new Reaffirmation(this, context);
      }
      chain = reaffirmation;
    }
    chain.begin();
  }

  /** Returns a ttl that ends with the lease. */
  private long leftMillis() {
    synchronized (owner) {
      Deadline deadline = owner.tenure.deadline();
      return context.settings.ttlMillisFor(
          deadline == null
              ? 0
              : deadline.remainingNanos(
                  context.ticker.monotonicNanos(), context.ticker.wallMicros()));
    }
  }

  @Override
  public boolean hasEnded() {
    checkDeadline();
    return end != null;
  }

  @Override
  public boolean isReleased() {
    LeaseEnd how = end;
    return how != null && how.cause() == Cause.RELEASED;
  }

  @Override
  public void lengthened() {
    assert Thread.holdsLock(owner);
    Deadline lost = owner.tenure.lossTime();
    lossTime = lost == null ? lossTime : lost;
  }

  /** Declares the lease lost if its time has come; else sets a timer to check it again. */
  void checkDeadline() {
    boolean watched = false;
    try {
      if (watchDeadline()) {
        lose(expiry());
      }
      watched = true;
    } finally {
      if (!watched) {
        context.liveLeases.checkSoon();
      }
    }
  }

  /** Returns true if its time has come; else sets the timer. */
  private boolean watchDeadline() {
    synchronized (owner) {
      if (end != null) {
        return false;
      }
      long leftNanos = remainingNanos();
      while (leftNanos > 0) {
        cancelTimer();
        timer = context.scheduler.schedule(this::checkDeadline, leftNanos);
        // The delay counts from now on, which is too late if this thread was paused meanwhile.
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
    synchronized (owner) {
      renewed = renewal;
    }
    if (renewed != null) {
      renewed.resume();
    }
  }

  private void cancelTimer() {
    assert Thread.holdsLock(owner);
    if (timer != null) {
      timer.cancel();
    }
  }

  private LeaseEnd expiry() {
    Renewal renewed;
    synchronized (owner) {
      renewed = renewal;
    }
    return renewed != null && renewed.isOver()
        ? new LeaseEnd(Cause.RENEWAL_ENDED, "it was held for as long as its request allowed")
        : new LeaseEnd(Cause.EXPIRED, "it was not extended before its deadline came near");
  }

  /** Ends the lease, unless it has ended, and releases it on every node that may hold it. */
  CompletableFuture<ReleaseResult> end(LeaseEnd how) {
    boolean first = conclude(how);
    synchronized (owner) {
      cancelTimer();
    }
    try {
      return owner.end();
    } finally {
      if (first) {
        context.queues.ended(owner.names);
      }
    }
  }

  /**
   * Ends the lease, unless it has ended. Keeps its keys until its deadline, or until its holder
   * releases it: in the loss margin the holder has time to stop. The monotonic clock decides, so
   * that a wall clock that is set forward does not shorten that time.
   */
  @Override
  public void lose(LeaseEnd how) {
    if (conclude(how)) {
      context.queues.ended(owner.names);
      synchronized (owner) {
        if (!owner.hasEnded()) {
          long leftNanos = owner.tenure.keptNanos(context.ticker.monotonicNanos());
          timer = context.scheduler.schedule(owner::end, leftNanos);
        }
      }
    }
  }

  @Override
  public void abandon(LeaseEnd how) {
    if (conclude(how)) {
      context.queues.ended(owner.names);
    }
  }

  /** Ends the lease; returns true if it had not ended before. */
  private boolean conclude(LeaseEnd how) {
    boolean first;
    Callbacks.Handover<LeaseEnd> awaited;
    Consumer<LeaseEnd> watching;
    synchronized (owner) {
      awaited = ended;
      watching = watcher;
      first = end == null;
      if (first) {
        end = how;
        owner.tenure.lose();
        cancelTimer();
        if (renewal != null) {
          renewal.stop();
        }
      }
    }
    if (first) {
      try {
        try {
          watching.accept(how);
        } finally {
          report(how, awaited);
        }
      } catch (Throwable e) { // waiters for the resource must go on all the same
        Log.LOG.error("The end of {} could not be reported", this, e);
      }
    }
    return first;
  }

  private void report(LeaseEnd how, Callbacks.@Nullable Handover<LeaseEnd> awaited) {
    context.liveLeases.remove(this);
    long heldNanos = context.ticker.monotonicNanos() - startNanos;
    if (awaited != null) {
      awaited.pass(how, null);
    }
    owner.listeners.reportEnd(
        how, listener -> listener.onEnd(this, how, Duration.ofNanos(heldNanos)));
    if (how.lost()) {
      Log.LOG.warn("{} is lost: {}, {}", this, how.cause(), how.detail());
    }
    FlightEvents.ended(event, this, how);
  }

  @Override
  public ReleaseResult release() throws InterruptedException {
    return Blocking.await(releasing(), context.scheduler);
  }

  @Override
  public CompletableFuture<ReleaseResult> releaseAsync() {
    return context.callbacks.pass(releasing());
  }

  /** Releases the lease on every node that may hold it; if it has expired, it ends as lost. */
  CompletableFuture<ReleaseResult> releasing() {
    if (!isValid()) {
      checkDeadline(); // a lease that expired in a pause is lost, not released
    }
    return end(RELEASED);
  }

  /** Releases the lease and waits for the result; an interrupt does not end the wait. */
  ReleaseResult releaseUninterruptibly() {
    return Blocking.uninterruptibly(releasing(), context.scheduler);
  }

  /** Returns the loss of the lease, given the result of its release; empty if it was not lost. */
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
    Callbacks.Handover<LeaseEnd> asked;
    LeaseEnd how = null;
    synchronized (owner) {
      if (ended == null) {
        ended = context.callbacks.handover();
        how = end;
      }
      asked = ended;
    }
    if (how != null) {
      asked.pass(how, null);
    }
    return asked.future.minimalCompletionStage();
  }

  /**
   * Has the end of the lease passed to code of the library, on the thread that ends it: now, if it
   * has ended. The watcher must neither block nor throw.
   */
  void whenEnded(Consumer<LeaseEnd> code) {
    LeaseEnd how;
    synchronized (owner) {
      watcher = code;
      how = end;
    }
    if (how != null) {
      code.accept(how);
    }
  }

  /** Returns the value of its keys on the nodes. */
  String owner() {
    return owner.id;
  }

  @Override
  public void close() {
    releasing();
  }

  /** For example {@code lease on orders/42, token 1763654400000000}. */
  @Override
  public String toString() {
    return "lease on " + Brief.names(resources) + ", token " + token;
  }
}
