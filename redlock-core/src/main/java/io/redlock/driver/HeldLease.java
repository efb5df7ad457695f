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
import io.redlock.protocol.Extending;
import io.redlock.text.Brief;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/** The lease of a holder. Ends once; after that only its release goes on. */
final class HeldLease implements Extension.Extendable, LiveLeases.Live, Owner.Holder {

  private static final LeaseEnd RELEASED = new LeaseEnd(Cause.RELEASED, "by its holder");

  private final Owner owner;
  private final ServiceContext context;
  private final Set<String> resources;
  private final long token;
  private final long startNanos;
  final Ending ending;
  private @Nullable LocalQueue queue; // null if it is shared; written before it is seen

  /** The number of times that a thread must unlock to release it; written by that thread only. */
  volatile int holds = 1;

  /** The number of these that are for reading; used by that thread only. */
  int reads;

  private volatile Deadline lossTime; // written under owner; the deadline less the loss margin

  private HeldLease(Owner owner, Set<String> resources, AcquireRound round) {
    this.owner = owner;
    this.context = owner.context;
    this.resources = resources;
    this.token = round.token();
    this.startNanos = context.ticker.monotonicNanos();
    this.ending = new Ending(this, owner, startNanos);
    this.lossTime = round.terms().lossTime(round.deadline());
  }

  /**
   * Returns the lease of a successful round; watches it and, if requested, renews it.
   *
   * @param resources what it holds, of what the request names
   * @param resets the number of resets of nodes before its first grant
   */
  static HeldLease begin(
      Owner owner, LeaseRequest request, Set<String> resources, AcquireRound round, long resets) {
    ServiceContext context = owner.context;
    HeldLease lease = new HeldLease(owner, resources, round);
    try {
      owner.hold(lease); // first: a thread that finds the lease wakes its owner
      lease.queue = lease.isShared() ? null : context.queues.leased(owner.names);
      context.liveLeases.add(lease);
      request.renewFor().ifPresent(renewFor -> lease.renew(round, renewFor));
      owner.wake();
      if (context.resets.get() != resets) { // later ones find the lease among the live ones
        owner.confirm();
      }
    } catch (Throwable e) { // no memory
      lease.discard();
      throw e;
    }
    return lease;
  }

  /** Ends a lease that nobody has seen, without a report; a release without memory comes later. */
  void discard() {
    if (!endsNow(RELEASED)) {
      return;
    }
    context.liveLeases.remove(this);
    endOwner();
  }

  private CompletableFuture<ReleaseResult> endOwner() {
    try {
      return owner.end();
    } finally {
      leaveQueue();
    }
  }

  private void leaveQueue() {
    if (queue != null) {
      context.queues.ended(queue);
    }
  }

  private void renew(AcquireRound round, Duration renewFor) {
    long holdNanos = Settings.saturatedNanos(renewFor);
    Deadline until = Deadline.after(round.startNanos(), round.startWallMicros(), holdNanos);
    synchronized (owner) {
      owner.tenure.renew(round.terms(), until, startNanos);
    }
  }

  @Override
  public Set<String> resources() {
    return resources;
  }

  @Override
  public boolean isShared() {
    return owner.tenure.isShared();
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
    if (ending.how() != null) { // L3
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
    long nowNanos = context.ticker.monotonicNanos();
    boolean renewed;
    synchronized (owner) {
      renewed = owner.tenure.isRenewed(nowNanos, context.ticker.wallMicros());
    }
    return Optional.of(
        new StatusOfLease(
            resources,
            token,
            Duration.ofNanos(nowNanos - startNanos),
            Duration.ofNanos(leftNanos),
            isShared(),
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
      owner.wake(); // after a pause no timer may have declared it lost yet
      LeaseEnd how = ending.how();
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
    return new Extension(this, owner, context.ticker.monotonicNanos())
        .start(Settings.ceilMillis(ttl));
  }

  @Override
  public void send(Extending extending, long sentNanos) {
    Extension extension;
    try {
      extension = new Extension(this, owner, sentNanos);
    } catch (Throwable e) {
      owner.handed(extending.tag(), false);
      throw e;
    }
    extension.send(extending);
  }

  @Override
  public void reaffirm(int node) {
    owner.reset(node);
  }

  @Override
  public boolean isReleased() {
    return ending.isRelease();
  }

  @Override
  public void lengthened() {
    assert Thread.holdsLock(owner);
    Deadline lost = owner.tenure.lossTime();
    lossTime = lost == null ? lossTime : lost;
  }

  @Override
  public void check() {
    owner.wake();
  }

  /** Ends the lease, unless it has ended, and releases it on every node that may hold it. */
  CompletableFuture<ReleaseResult> end(LeaseEnd how) {
    if (!endsNow(how)) {
      return owner.end();
    }
    CompletableFuture<ReleaseResult> released;
    try {
      report();
    } finally {
      released = endOwner(); // also where memory is short
    }
    return released;
  }

  /**
   * Ends the lease, unless it has ended. Keeps its keys until its deadline, or until its holder
   * releases it: in the loss margin the holder has time to stop.
   */
  @Override
  public void lose(LeaseEnd how) {
    if (endsNow(how)) {
      tell(how);
    }
  }

  @Override
  public void abandon(LeaseEnd how) {
    lose(how);
  }

  private boolean endsNow(LeaseEnd how) {
    synchronized (owner) {
      boolean first = ending.how() == null;
      ends(how);
      return first;
    }
  }

  @Override
  public void ends(LeaseEnd how) {
    owner.tenure.lose(); // first: what has no memory has not ended
    ending.come(how);
  }

  @Override
  public void tell(LeaseEnd how) {
    try {
      report();
    } finally {
      leaveQueue();
    }
  }

  private void report() {
    context.liveLeases.remove(this);
    ending.report();
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
      owner.wake(); // a lease that expired in a pause is lost, not released
    }
    return end(RELEASED);
  }

  /** Releases the lease and waits for the result; an interrupt does not end the wait. */
  ReleaseResult releaseUninterruptibly() {
    return Blocking.uninterruptibly(releasing(), context.scheduler);
  }

  @Override
  public CompletionStage<LeaseEnd> ended() {
    return ending.stage();
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
    return (isShared() ? "shared lease on " : "lease on ")
        + Brief.names(resources)
        + ", token "
        + token;
  }
}
