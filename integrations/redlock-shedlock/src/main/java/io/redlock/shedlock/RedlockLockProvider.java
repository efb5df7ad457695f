package io.redlock.shedlock;

import io.redlock.AcquireResult;
import io.redlock.AcquireResult.By;
import io.redlock.Lease;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import net.javacrumbs.shedlock.core.AbstractSimpleLock;
import net.javacrumbs.shedlock.core.ExtensibleLockProvider;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.support.LockException;

/**
 * A {@link LockProvider} whose locks are renewed leases over a quorum of Redis masters.
 *
 * <ul>
 *   <li><b>{@code lockAtMostFor}</b> limits how long a running job holds its lock. After a crash
 *       the lock is free within the ttl of its lease, usually much sooner.
 *   <li><b>{@code lockAtLeastFor}</b> stays in force after the job has ended, and after its process
 *       has closed the {@link Redlock} or died. For that the lease's ttl is at least a tenth longer
 *       than {@code lockAtLeastFor}; the service's {@code maxTtl} must allow it.
 *   <li>A lock can be extended, also by ShedLock's {@code KeepAliveLockProvider} and {@code
 *       LockExtender}.
 * </ul>
 *
 * <p>Instances that ask at the same time can split the votes of the masters. They then ask again
 * until one of them holds the lock, see {@link #lock}.
 *
 * <p>Both times are counted by the monotonic clock, from the attempt that acquired. Thread-safe.
 * Needs no closing; does not close the {@link Redlock}.
 */
public final class RedlockLockProvider implements ExtensibleLockProvider {

  /** The ttl of a lease, unless {@code lockAtLeastFor} needs a longer one. */
  public static final Duration DEFAULT_TTL = Duration.ofSeconds(10);

  /** The prefix that ShedLock's own providers for Redis give their keys. */
  public static final String DEFAULT_PREFIX = "job-lock:default:";

  /** The time for which a call asks again while the masters have not decided who holds the lock. */
  private static final Duration DECISION = Duration.ofSeconds(2);

  /**
   * The longest renewal of a lease: it is released before, at a limit that an extension can move.
   */
  private static final Duration LONGEST = Duration.ofDays(36_500);

  private static final Duration DRIFT_FLOOR = Duration.ofMillis(10);

  private final Redlock redlock;
  private final Duration ttl;
  private final String prefix;
  private final JobTimer timer = new JobTimer();

  /**
   * Creates a provider with the default ttl and prefix.
   *
   * @param redlock the lock service
   * @throws NullPointerException if the argument is null
   */
  public RedlockLockProvider(Redlock redlock) {
    this(redlock, DEFAULT_TTL, DEFAULT_PREFIX);
  }

  /**
   * Creates a provider.
   *
   * @param redlock the lock service
   * @param ttl how long a lock stays held after its process has died; range as in {@link
   *     LeaseRequest#of}
   * @param prefix the prefix of every lock's name; the same for all instances of a service
   * @throws NullPointerException if an argument is null
   */
  public RedlockLockProvider(Redlock redlock, Duration ttl, String prefix) {
    this.redlock = Objects.requireNonNull(redlock, "redlock is null: give the lock service");
    this.ttl = Objects.requireNonNull(ttl, "ttl is null: give a duration of a few seconds");
    this.prefix = Objects.requireNonNull(prefix, "prefix is null: give one, or \"\"");
  }

  /**
   * Acquires the lock unless another instance holds it. Returns as soon as a majority of the
   * masters has decided. While none has, because votes are split or masters do not answer, asks
   * again after random pauses, for two seconds but no longer than {@code lockAtMostFor}.
   *
   * @param configuration the name and the times
   * @return the lock; empty if another instance holds it
   * @throws LockException if the masters did not decide in that time, with the answer of each, or
   *     if the thread was interrupted, which stays set
   * @throws IllegalArgumentException if the name or a time does not fit the settings of the {@link
   *     Redlock}
   */
  @Override
  public Optional<SimpleLock> lock(LockConfiguration configuration) {
    AcquireResult result = tryAcquire(configuration);
    if (result.lease().isPresent()) {
      return Optional.of(begin(result.lease().get(), configuration));
    }
    if (result.contendedBy().equals(Optional.of(By.HOLDER))) {
      return Optional.empty();
    }
    throw new LockException(
        "The masters did not decide who holds the lock "
            + configuration.getName()
            + ", so its job is skipped: "
            + result.outcome()
            + ", "
            + result.votes());
  }

  private SimpleLock begin(Lease lease, LockConfiguration configuration) {
    SimpleLock lock = null;
    try {
      JobHold hold = new JobHold(lease, limits(configuration), timer);
      timer.add(hold);
      lock = new JobLock(configuration, hold);
      return lock;
    } finally {
      if (lock == null) { // no memory
        lease.close();
      }
    }
  }

  /** The handle of one hold, until it is unlocked or extended. */
  private final class JobLock extends AbstractSimpleLock {
    private final JobHold hold;

    JobLock(LockConfiguration configuration, JobHold hold) {
      super(configuration);
      this.hold = hold;
    }

    @Override
    protected void doUnlock() {
      hold.end();
    }

    @Override
    protected Optional<SimpleLock> doExtend(LockConfiguration next) {
      return hold.extend(limits(next), ttlFor(next))
          ? Optional.of(new JobLock(next, hold))
          : Optional.empty();
    }
  }

  private AcquireResult tryAcquire(LockConfiguration configuration) {
    LeaseRequest request =
        LeaseRequest.of(prefix + configuration.getName(), ttlFor(configuration))
            .renewFor(LONGEST)
            .waitUpTo(shorter(DECISION, configuration.getLockAtMostFor()))
            .unlessHeld();
    try {
      return redlock.tryAcquire(request);
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(
          configuration + " needs a lease that cannot be acquired: " + e.getMessage(), e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new LockException("Interrupted while locking " + configuration.getName(), e);
    }
  }

  /** Returns the limits of a hold that begins now. */
  private JobHold.Limits limits(LockConfiguration configuration) {
    long startNanos = System.nanoTime();
    Duration longest = shorter(configuration.getLockAtMostFor(), LONGEST);
    return new JobHold.Limits(
        startNanos + shorter(configuration.getLockAtLeastFor(), LONGEST).toNanos(),
        startNanos + longest.toNanos());
  }

  private static Duration shorter(Duration one, Duration other) {
    return one.compareTo(other) < 0 ? one : other;
  }

  /** Returns a ttl after which {@code lockAtLeastFor} is over, also by a clock that drifts. */
  private Duration ttlFor(LockConfiguration configuration) {
    Duration atLeast = shorter(configuration.getLockAtLeastFor(), LONGEST);
    Duration needed = atLeast.plus(atLeast.dividedBy(10)).plus(DRIFT_FLOOR);
    return needed.compareTo(ttl) > 0 ? needed : ttl;
  }
}
