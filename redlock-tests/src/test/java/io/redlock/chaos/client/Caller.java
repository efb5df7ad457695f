package io.redlock.chaos.client;

import io.redlock.AcquireResult;
import io.redlock.ExtendResult;
import io.redlock.Leadership;
import io.redlock.Lease;
import io.redlock.LeaseEnd;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import io.redlock.ReleaseResult;
import io.redlock.chaos.history.HistoryEvent;
import io.redlock.chaos.history.Journal;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * One thread's calls, one after the other, each written down before it begins and after it has
 * returned. Holds at most one lease at a time. Belongs to one thread.
 */
final class Caller implements AutoCloseable {

  private final String name;
  private final ClientSettings settings;
  private final Redlock redlock;
  private final Journal journal;
  private final StoreClient store;
  private final AtomicInteger untold;

  private @Nullable Lease lease;
  private Duration ttl = Duration.ZERO;
  private long acquiredNanos;
  private volatile boolean isCampaigning; // it asks for the next term
  private boolean isOver; // guarded by this; its campaign

  /**
   * @param untold counts the leases of whose end nobody has been told yet
   */
  Caller(
      String name,
      ClientSettings settings,
      Redlock redlock,
      Journal journal,
      AtomicInteger untold) {
    this.untold = untold;
    this.name = name;
    this.settings = settings;
    this.redlock = redlock;
    this.journal = journal;
    this.store = new StoreClient(settings.storePort());
  }

  /**
   * Asks for a lease.
   *
   * @param more what else is known of the call: {@code must} if not to get the lease is a fault,
   *     {@code pause} if nobody else wants it, so many ms after the one before was given back
   */
  boolean acquire(LeaseRequest request, Map<String, String> more) throws InterruptedException {
    Duration attempt = settings.nodeTimeout().multipliedBy(request.isAnyOf() ? 3 : 1);
    HistoryEvent call = call(request, request.waitUpTo().orElse(Duration.ZERO).plus(attempt));
    call.details().putAll(more);
    journal.write(call);
    AcquireResult result = redlock.tryAcquire(request);
    if (result.lease().isEmpty()) {
      String what = result.outcome().name();
      journal.note("%s refused result=%s why=%s", name, what, result);
      return false;
    }
    got(result.lease().orElseThrow(), request);
    return true;
  }

  private HistoryEvent call(LeaseRequest request, Duration within) {
    return HistoryEvent.now(
        "%s acquire resources=%s ttl=%s within=%s shared=%s",
        name,
        String.join(",", request.resources()),
        request.ttl().toMillis(),
        within.toMillis(),
        request.isShared());
  }

  private void got(Lease got, LeaseRequest request) {
    acquiredNanos = System.nanoTime();
    ttl = request.ttl();
    lease = got;
    look(got, "held resources=" + String.join(",", got.resources()));
    untold.incrementAndGet();
    got.ended().thenAccept(end -> ended(got, end, request.renewFor().isPresent()));
  }

  /** Campaigns; the work of each term is done by this caller. */
  Leadership campaign(LeaseRequest request, Runnable work) {
    Duration hour = Duration.ofHours(1);
    LeaseRequest renewed = request.renewFor(hour);
    isCampaigning = true;
    journal.write(call(renewed, hour));
    return redlock.lead(
        request.resources().iterator().next(),
        request.ttl(),
        hour,
        (term, leadership) -> {
          isCampaigning = false;
          got(term, renewed);
          try {
            work.run();
          } finally {
            yields(term, call(renewed, hour));
          }
        });
  }

  private synchronized void yields(Lease term, HistoryEvent next) {
    journal.note("%s yields token=%s", name, term.fencingToken());
    if (!isOver) {
      isCampaigning = true;
      journal.write(next);
    }
  }

  /** Closing waits for the work only so long, so that a term may end after this. */
  synchronized void campaignIsOver() {
    isOver = true;
    if (isCampaigning) {
      journal.note("%s refused result=Closed why=closed", name);
    }
  }

  private void ended(Lease over, LeaseEnd end, boolean renewed) {
    journal.note(
        "%s ended resources=%s token=%s cause=%s renewed=%s detail=%s",
        name,
        String.join(",", over.resources()),
        over.fencingToken(),
        end.cause(),
        renewed ? 1 : 0,
        end.detail());
    untold.decrementAndGet();
  }

  /** Asks the lease what it has left; says whether that is something. */
  boolean look() {
    return look(held(), "look");
  }

  private boolean look(Lease asked, String what) {
    long fromNanos = System.nanoTime();
    long leftNanos = leftNanos(asked);
    journal.note(
        "%s " + what + " token=%s from=%s left=%s",
        name,
        asked.fencingToken(),
        fromNanos,
        leftNanos);
    return leftNanos > 0;
  }

  private long leftNanos(Lease asked) {
    if (settings.variant() == Variant.STAMPS_AT_THE_END) {
      long drift = ttl.toNanos() / 100 + 2_000_000;
      return Math.max(0, ttl.toNanos() - drift - (System.nanoTime() - acquiredNanos));
    }
    return asked.remaining().toNanos();
  }

  boolean extend() throws InterruptedException {
    Lease held = held();
    journal.note(
        "%s extend token=%s within=%s",
        name, held.fencingToken(), settings.nodeTimeout().toMillis());
    ExtendResult result = held.extend(ttl);
    if (result.outcome() == ExtendResult.Outcome.EXTENDED) {
      acquiredNanos = System.nanoTime();
      look(held, "extended");
      return true;
    }
    String what = result.outcome().name();
    journal.note("%s not-extended token=%s result=%s", name, held.fencingToken(), what);
    return false;
  }

  /**
   * Adds one to both numbers of what the lease protects, or reads them if it is shared: careless of
   * the lease.
   *
   * @param thinking what it takes altogether
   */
  boolean update(Duration thinking) {
    Lease held = held();
    boolean all = true;
    for (String resource : held.resources()) {
      all &= held.isShared() ? read(held, resource, thinking) : write(held, resource, thinking);
    }
    return all;
  }

  private boolean write(Lease held, String resource, Duration thinking) {
    long token = held.fencingToken();
    StoreClient.Begun begun = store.begin(resource, token);
    LockSupport.parkNanos(thinking.toNanos() / 2);
    boolean first = store.write(resource, token, 0, begun);
    LockSupport.parkNanos(thinking.toNanos() / 2);
    boolean accepted = store.write(resource, token, 1, begun) && first;
    if (accepted) {
      journal.note("%s confirmed resource=%s token=%s", name, resource, token);
    }
    return accepted;
  }

  private boolean read(Lease held, String resource, Duration thinking) {
    long token = held.fencingToken();
    StoreClient.Glance first = store.read(resource, token, 0);
    LockSupport.parkNanos(thinking.toNanos());
    StoreClient.Glance second = store.read(resource, token, 1);
    boolean accepted = first.accepted() && second.accepted();
    journal.note(
        "%s saw resource=%s token=%s accepted=%s fenced=%s unfenced=%s",
        name,
        resource,
        token,
        accepted,
        first.fenced() + "," + second.fenced(),
        first.unfenced() + "," + second.unfenced());
    return accepted;
  }

  ReleaseResult release() throws InterruptedException {
    Lease held = held();
    journal.note(
        "%s release token=%s within=%s",
        name, held.fencingToken(), settings.nodeTimeout().toMillis());
    ReleaseResult result = held.release();
    journal.note("%s released token=%s result=%s", name, held.fencingToken(), result);
    lease = null;
    return result;
  }

  /** Lets the lease run out. */
  boolean forget() {
    lease = null;
    return true;
  }

  private Lease held() {
    return Objects.requireNonNull(lease, "no lease is held");
  }

  @Override
  public void close() {
    store.close();
  }
}
