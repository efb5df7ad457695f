package io.redlock.driver;

import io.redlock.ExtendResult;
import io.redlock.LeaseEnd;
import io.redlock.LeaseEnd.Cause;
import io.redlock.LeaseLostException;
import io.redlock.LeaseRequest;
import io.redlock.LeaseStatus;
import io.redlock.LeaseTooShortException;
import io.redlock.ReleaseResult;
import io.redlock.protocol.Deadline;
import io.redlock.protocol.Tenure;
import io.redlock.text.Brief;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * The lease of a holder. Ends once; after that only its release goes on, or its owner is the next
 * caller's: then nothing that is called here reaches the owner any more.
 */
final class HeldLease extends Owner.Held {

  private static final LeaseEnd NOT_HELD =
      new LeaseEnd(Cause.REFUSED, "no majority held it when it was released");

  private final ServiceContext context;
  private final LeaseRequest request;
  private final Set<String> resources; // what it holds, of what the request names
  private final long token;
  final long startNanos;
  private @Nullable LocalQueue queue; // null if it is shared; written before it is seen
  private boolean holdsUp = true; // used by the reports of its end only
  // Guarded by owner; since then its longest hold counts; null once its holder has it.
  private @Nullable Deadline since;
  final CompletableFuture<LeaseEnd> told = new CompletableFuture<>(); // for code that never blocks
  private volatile @Nullable CompletableFuture<LeaseEnd> ended; // the same, for user code

  volatile int holds = 1; // how often a thread must unlock to release it; written by that thread
  int reads; // how many of these are for reading; used by that thread only

  HeldLease(
      Owner owner,
      LeaseRequest request,
      Listeners listeners,
      Set<String> resources,
      long token,
      Deadline since) {
    super(owner, listeners);
    this.context = owner.context;
    this.request = request;
    this.resources = resources;
    this.token = token;
    this.since = since;
    this.startNanos = context.ticker.monotonicNanos();
  }

  /** Holds up the waiting calls of this service. */
  void enter() {
    synchronized (owner) {
      owner.hold(this, startNanos);
    }
    queue = isShared() ? null : context.queues.leased(owner.names, startNanos);
  }

  /**
   * Creates the lease of the call to which this one may be passed on; null if its terms differ, or
   * the masters would show another note.
   */
  @Nullable HeldLease next(LeaseRequest call, Listeners itsListeners) {
    if (!call.ttl().equals(request.ttl()) || !call.note().equals(request.note())) {
      return null; // P3
    }
    Deadline now = new Deadline(context.ticker.monotonicNanos(), context.ticker.wallMicros());
    Set<String> all = call.resources();
    HeldLease next = new HeldLease(owner, call, itsListeners, all, token + 1, now);
    next.queue = queue;
    return next;
  }

  /**
   * Begins, as its holder gets it: from now on its end is reported, and it is renewed if the
   * request says so.
   *
   * @return false if it has ended before: nobody hears of it
   */
  boolean begin() {
    synchronized (owner) {
      Deadline from = since;
      if (from != null && isValid()) {
        long holdNanos = request.renewFor().map(Settings::saturatedNanos).orElse(0L);
        if (holdNanos > 0) {
          Deadline until = from.plus(holdNanos);
          owner.tenure.renew(context.terms(request.ttl()), until, startNanos);
        }
        since = null;
      }
      return since == null;
    }
  }

  /** Returns the leases that have not ended, in the order in which they were acquired. */
  static List<HeldLease> all(ServiceContext context) {
    return context.agenda.items(Owner.class).stream()
        .map(owner -> (HeldLease) owner.lease)
        .filter(lease -> lease != null && lease.ending() == null)
        .sorted((one, other) -> Long.compare(one.startNanos - other.startNanos, 0))
        .toList();
  }

  @Override
  public Set<String> resources() {
    return resources;
  }

  @Override
  public boolean isShared() {
    return request.isShared();
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
    return ending() != null ? 0 : Math.max(0, owner.remainingNanos()); // L3
  }

  Optional<LeaseStatus> status() {
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
        new Status(
            resources,
            token,
            owner.tenure.token(),
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
      LeaseEnd how = ending();
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
    return looked(context.scheduler.await(checkedExtension(ttl)));
  }

  @Override
  public CompletableFuture<ExtendResult> extendAsync(Duration ttl) {
    return context.callbacks.pass(checkedExtension(ttl), this::looked);
  }

  /**
   * Returns what the holder gets, on the thread that hands it over: the lease may be lost by now.
   */
  private ExtendResult looked(ExtendResult result) {
    if (result.outcome() != ExtendResult.Outcome.EXTENDED || isValid()) {
      return result;
    }
    owner.wake();
    return isReleased() ? result : ExtendResult.lost(result.votes());
  }

  private CompletableFuture<ExtendResult> checkedExtension(Duration ttl) {
    Objects.requireNonNull(ttl, "ttl is null: give the time to extend by, from now");
    Settings.reject("cannot extend " + this, context.settings.ttlProblems(ttl));
    if (isReleased()) {
      throw new IllegalStateException(this + " was released and cannot be extended");
    }
    owner.wake(); // a lease that expired in a pause has ended
    return owner.extend(this, context.terms(ttl));
  }

  /**
   * Reports its end, if its holder has it. Then it is passed on, or its owner ends and the waiting
   * calls go on. May be repeated.
   */
  @Override
  void reportEnd() {
    boolean isTaken;
    boolean isOffered;
    synchronized (owner) {
      isTaken = since == null;
      isOffered = isReleased() && owner.tenure.phase() == Tenure.Phase.HOLDING;
    }
    try {
      if (isTaken) {
        tell(Objects.requireNonNull(ending()));
      }
      if (isOffered) {
        context.queues.pass(Objects.requireNonNull(queue), this, context.ticker.monotonicNanos());
      }
    } finally {
      if (isOffered) {
        owner.release(this, false); // unless it was passed on
      }
      if (owner.lease != this) {
        released.complete(ReleaseResult.RELEASED); // P7
      } else if (queue != null) {
        if (holdsUp) {
          context.queues.ended(queue);
          holdsUp = false;
        }
        context.queues.passOn(queue);
      }
    }
  }

  @Override
  public ReleaseResult release() throws InterruptedException {
    return context.scheduler.await(releasing());
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
    boolean isAwaited = false;
    if (queue != null && ending() == null) { // else it may be another's queue
      queue.holder = 0; // first: another thread may end it, and this one may ask again
      isAwaited = context.queues.heir(queue, context.ticker.monotonicNanos()) != null;
    }
    owner.release(this, isAwaited);
    return released;
  }

  /** Ends a lease that nobody wants, and its owner, unless it was passed on. Cannot fail. */
  void discard() {
    owner.release(this, false);
  }

  ReleaseResult releaseUninterruptibly() {
    return context.scheduler.awaitUninterruptibly(releasing());
  }

  @Override
  public CompletionStage<LeaseEnd> ended() {
    CompletableFuture<LeaseEnd> asked = ended;
    if (asked == null) {
      asked = context.callbacks.pass(told);
      ended = asked;
    }
    return asked.minimalCompletionStage();
  }

  /** Returns the loss of the lease, given the result of its release; empty if it was not lost. */
  Optional<LeaseLostException> loss(@Nullable ReleaseResult released) {
    LeaseEnd how = ending();
    if (how == null || !how.lost()) {
      how = released == ReleaseResult.NOT_HELD ? NOT_HELD : null;
    }
    return Optional.ofNullable(how).map(lost -> new LeaseLostException(this, lost));
  }

  void throwIfLost(@Nullable ReleaseResult released) {
    Optional<LeaseLostException> loss = loss(released);
    if (loss.isPresent()) {
      throw loss.get();
    }
  }

  private void tell(LeaseEnd how) {
    if (!told.complete(how)) {
      return;
    }
    Duration held = Duration.ofNanos(context.ticker.monotonicNanos() - startNanos);
    listeners.reportEnd(how, listener -> listener.onEnd(this, how, held));
    if (how.lost()) {
      Log.LOG.warn("{} is lost: {}, {}", this, how.cause(), how.detail());
    }
  }

  /** Has it renewed, and warns this thread when it waits for itself, if that blocks. */
  void taken(boolean blocks) {
    if (blocks && queue != null) {
      queue.holder = Thread.currentThread().getId();
    }
    if (request.renewFor().isPresent()) {
      owner.drain();
    }
  }

  @Override
  public void close() {
    releasing();
  }

  /**
   * For example {@code lease on orders/42, token 1763654400000000}, and after it {@code ,
   * 1763654400000007 on the masters} if it is, or may be, passed on.
   */
  @Override
  public String toString() {
    return (isShared() ? "shared lease on " : "lease on ")
        + Brief.names(resources)
        + ", "
        + tokens(token, owner.tenure.token());
  }

  private static String tokens(long token, long mastersToken) {
    return "token "
        + token
        + (token == mastersToken ? "" : ", " + mastersToken + " on the masters");
  }

  private record Status(
      Set<String> resources,
      long fencingToken,
      long mastersToken,
      Duration heldFor,
      Duration remaining,
      boolean shared,
      boolean renewed,
      int holds)
      implements LeaseStatus {

    /** For example {@code orders/42, held for 12s, 9.8s left, renewed, token 1763654400000000}. */
    @Override
    public String toString() {
      return Brief.names(resources)
          + (shared ? ", shared" : "")
          + ", held for "
          + Brief.duration(heldFor)
          + ", "
          + Brief.duration(remaining)
          + " left"
          + (renewed ? ", renewed" : "")
          + (holds > 1 ? ", locked " + holds + " times" : "")
          + ", "
          + tokens(fencingToken, mastersToken);
    }
  }
}
