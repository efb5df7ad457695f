package io.redlock.shedlock;

import io.redlock.AcquireResult;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
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
 * <p>Both times are counted by the monotonic clock, from before the masters are asked. Thread-safe.
 * Needs no closing; does not close the {@link Redlock}.
 */
public final class RedlockLockProvider implements ExtensibleLockProvider {

  /** The ttl of a lease, unless {@code lockAtLeastFor} needs a longer one. */
  public static final Duration DEFAULT_TTL = Duration.ofSeconds(10);

  /** The prefix that ShedLock's own providers for Redis give their keys. */
  public static final String DEFAULT_PREFIX = "job-lock:default:";

  /**
   * The longest renewal of a lease: it is released before, at a limit that an extension can move.
   */
  private static final Duration LONGEST = Duration.ofDays(36_500);

  private static final Duration DRIFT_FLOOR = Duration.ofMillis(10);

  private final Redlock redlock;
  private final Duration ttl;
  private final String prefix;
  private final ScheduledExecutorService timers = timers();

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
   * Acquires the lock in one attempt.
   *
   * @param configuration the name and the times
   * @return the lock; empty if others hold it
   * @throws LockException if the masters could not decide, with the answer of each, or if the
   *     thread was interrupted, which stays set
   * @throws IllegalArgumentException if the name or a time does not fit the settings of the {@link
   *     Redlock}
   */
  @Override
  public Optional<SimpleLock> lock(LockConfiguration configuration) {
    long startNanos = System.nanoTime();
    AcquireResult result = tryAcquire(configuration);
    if (result instanceof AcquireResult.Acquired acquired) {
      JobHold hold = new JobHold(acquired.lease(), limits(configuration, startNanos), timers);
      return Optional.of(new JobLock(configuration, this, hold));
    }
    if (result instanceof AcquireResult.Contended) {
      return Optional.empty();
    }
    throw new LockException(
        "Lock " + configuration.getName() + " is " + result.outcome() + ": " + result.votes());
  }

  private AcquireResult tryAcquire(LockConfiguration configuration) {
    LeaseRequest request =
        LeaseRequest.of(prefix + configuration.getName(), ttlFor(configuration)).renewFor(LONGEST);
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

  /** Returns the limits of a hold that begins at this time. */
  JobHold.Limits limits(LockConfiguration configuration, long startNanos) {
    Duration atMost = configuration.getLockAtMostFor();
    Duration longest = atMost.compareTo(LONGEST) < 0 ? atMost : LONGEST;
    return new JobHold.Limits(
        startNanos + configuration.getLockAtLeastFor().toNanos(), startNanos + longest.toNanos());
  }

  /** Returns a ttl after which {@code lockAtLeastFor} is over, also by a clock that drifts. */
  Duration ttlFor(LockConfiguration configuration) {
    Duration atLeast = configuration.getLockAtLeastFor();
    Duration needed = atLeast.plus(atLeast.dividedBy(10)).plus(DRIFT_FLOOR);
    return needed.compareTo(ttl) > 0 ? needed : ttl;
  }

  /** Returns one daemon thread, which runs only while there are locks. */
  private static ScheduledExecutorService timers() {
    ScheduledThreadPoolExecutor timers =
        new ScheduledThreadPoolExecutor(
            1,
            task -> {
              Thread thread = new Thread(task, "redlock-shedlock");
              thread.setDaemon(true);
              return thread;
            });
    timers.setRemoveOnCancelPolicy(true);
    timers.setKeepAliveTime(1, TimeUnit.SECONDS);
    timers.allowCoreThreadTimeOut(true);
    return timers;
  }
}
