package io.redlock.driver;

import io.redlock.AcquireResult;
import io.redlock.Lease;
import io.redlock.LeaseLock;
import io.redlock.LeaseReadWriteLock;
import io.redlock.LeaseRequest;
import io.redlock.spi.Scheduler;
import io.redlock.text.Brief;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import org.jspecify.annotations.Nullable;

/**
 * A {@link LeaseLock} over a lock service, for writing or for reading: counts the holds of each
 * thread. All locks on the same resources are one; a thread that has both kinds has one lease.
 */
final class ReentrantLease implements LeaseLock {

  /** The locks of a lock service that each thread holds. */
  static class Holds {
    private final ThreadLocal<Map<Object, HeldLease>> held = ThreadLocal.withInitial(HashMap::new);

    @Nullable HeldLease get(Object lock) {
      HeldLease lease = held.get().get(lock);
      leaveIfEmpty();
      return lease;
    }

    void put(Object lock, HeldLease lease) {
      held.get().put(lock, lease);
    }

    void remove(Object lock) {
      held.get().remove(lock);
      leaveIfEmpty();
    }

    private void leaveIfEmpty() {
      if (held.get().isEmpty()) {
        held.remove();
      }
    }
  }

  record Both(ReentrantLease readLock, ReentrantLease writeLock) implements LeaseReadWriteLock {

    /** For example {@code read lock and write lock on catalog for 10s, renewed for 5m, fair}. */
    @Override
    public String toString() {
      return "read lock and write " + writeLock;
    }
  }

  private static final Duration ENDLESS = Duration.ofSeconds(Long.MAX_VALUE);

  private final ServiceContext context;
  private final LeaseRequest request;
  private final Holds holds;
  private final Object lock;

  ReentrantLease(ServiceContext context, LeaseRequest request, Holds holds) {
    this.context = context;
    this.request = request;
    this.holds = holds;
    this.lock = request.isAnyOf() ? this : request.resources();
  }

  @Override
  public Lease lease() {
    return mine();
  }

  @Override
  public void lock() {
    if (!lockAgain()) {
      AcquireCall call = patientCall();
      remember(call.awaitUninterruptibly().orElseThrow(call.request));
    }
  }

  @Override
  public void lockInterruptibly() throws InterruptedException {
    Scheduler.checkInterrupt();
    if (!lockAgain()) {
      AcquireCall call = patientCall();
      remember(call.await().orElseThrow(call.request));
    }
  }

  private AcquireCall patientCall() {
    return new AcquireCall(
        context, request.waitUpTo().isPresent() ? request : request.waitUpTo(ENDLESS));
  }

  /** Locks again if the thread holds a lease; returns false if it has none. */
  private boolean lockAgain() {
    HeldLease lease = valid();
    if (lease != null && !count(lease)) {
      throw new IllegalStateException(
          "this thread reads "
              + Brief.names(request.resources())
              + ": unlock the read lock before you lock for writing, or it waits for itself");
    }
    return lease != null;
  }

  @Override
  public boolean tryLock() {
    HeldLease lease = valid();
    return lease == null
        ? take(new AcquireCall(context, request.waitUpTo(Duration.ZERO)).awaitUninterruptibly())
        : count(lease);
  }

  @Override
  public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
    Objects.requireNonNull(unit, "unit is null: give the unit of time");
    Scheduler.checkInterrupt();
    HeldLease lease = valid();
    if (lease != null) {
      return count(lease);
    }
    Duration maxWait = Duration.ofNanos(Math.max(0, unit.toNanos(time)));
    return take(new AcquireCall(context, request.waitUpTo(maxWait)).await());
  }

  /** Returns the lease of this thread, which is valid; null if it has none. */
  private @Nullable HeldLease valid() {
    HeldLease lease = holds.get(lock);
    if (lease != null) {
      lease.ensureValid(Duration.ZERO);
    }
    return lease;
  }

  /** Counts another hold; returns false if the lock is for writing, and the thread only reads. */
  private boolean count(HeldLease lease) {
    if (!request.isShared() && !isHeld(lease)) {
      return false;
    }
    lease.holds = Math.addExact(lease.holds, 1);
    lease.reads += reads();
    return true;
  }

  /** Returns how many of a hold of this lock are for reading. */
  private int reads() {
    return request.isShared() ? 1 : 0;
  }

  /** Returns true if the thread of the lease holds this lock, not only the other kind. */
  private boolean isHeld(HeldLease lease) {
    return (request.isShared() ? lease.reads : lease.holds - lease.reads) > 0;
  }

  private boolean take(AcquireResult result) {
    result.lease().ifPresent(this::remember);
    return result.lease().isPresent();
  }

  private void remember(Lease lease) {
    HeldLease held = (HeldLease) lease;
    held.reads = reads();
    boolean isKept = false;
    try {
      holds.put(lock, held);
      isKept = true;
    } finally {
      if (!isKept) { // nobody could unlock it
        lease.close();
      }
    }
  }

  private HeldLease mine() {
    HeldLease lease = holds.get(lock);
    if (lease == null || !isHeld(lease)) {
      throw new IllegalMonitorStateException(
          "the current thread does not hold the "
              + (request.isShared() ? "read lock" : "lock")
              + " on "
              + Brief.names(request.resources()));
    }
    return lease;
  }

  @Override
  public void unlock() {
    HeldLease lease = mine();
    int left = lease.holds - 1;
    lease.holds = left;
    lease.reads -= reads();
    if (left > 0) {
      lease.throwIfLost(null);
      return;
    }
    holds.remove(lock);
    lease.throwIfLost(lease.releaseUninterruptibly());
  }

  @Override
  public Condition newCondition() {
    throw new UnsupportedOperationException("a lease has no conditions");
  }

  /** For example {@code lock on orders/42 for 30s}. */
  @Override
  public String toString() {
    return (request.isShared() ? "read lock on " : "lock on ") + request;
  }
}
