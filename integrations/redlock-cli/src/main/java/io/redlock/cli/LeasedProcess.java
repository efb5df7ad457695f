package io.redlock.cli;

import io.redlock.Lease;
import io.redlock.LeaseEnd;
import io.redlock.spi.Ticker;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/** A command that must not run for longer than its lease lasts, nor what it started. */
final class LeasedProcess {

  private static final long LONGEST_LOOK_NANOS = TimeUnit.SECONDS.toNanos(1);
  private static final long SHORT_LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

  /** The longest time for which killed processes are awaited: the system may hold them back. */
  private static final long LONGEST_END_NANOS = TimeUnit.SECONDS.toNanos(5);

  private final Family family;
  private final Lease lease;
  private final Ticker ticker;
  private final CompletableFuture<LeaseEnd> leaseEnd;
  private final Map<Long, Long> terminated = new HashMap<>(); // guarded by this

  /** The time at which the lease is lost unless renewed, by both clocks: one of them may stop. */
  private long lossNanos;

  private long lossMicros;

  LeasedProcess(Family family, Lease lease, Ticker ticker) {
    this.family = family;
    this.lease = lease;
    this.ticker = ticker;
    this.lossNanos = ticker.monotonicNanos();
    this.lossMicros = ticker.wallMicros();
    this.leaseEnd = lease.ended().toCompletableFuture();
    noteLoss();
  }

  /**
   * Waits for the end of the command and of all processes that it started, or for the end of the
   * lease. If the lease ends, or this cannot go on, sends them TERM at once, and KILL after the
   * grace to those that run then, and waits until they are gone.
   *
   * @param leavesDescendants true to wait for the command alone, and for those that {@link
   *     #terminate} asked to end
   * @return true if the lease ended first
   */
  boolean outlivesLease(Duration grace, boolean leavesDescendants) throws InterruptedException {
    boolean isOver = true;
    try {
      await(leavesDescendants);
      isOver = !lease.isValid();
      return isOver;
    } finally {
      if (isOver) {
        end(grace);
      }
    }
  }

  private void await(boolean leavesDescendants) throws InterruptedException {
    Process root = family.root();
    CompletableFuture<?> either =
        root == null ? leaseEnd : CompletableFuture.anyOf(root.onExit(), leaseEnd);
    // Java completes onExit in the common pool, where it may have to wait.
    while (lease.isValid() && !either.isDone() && family.hasCommand()) {
      noteLoss();
      family.follow();
      isDone(either, Math.min(lease.remaining().toNanos(), LONGEST_LOOK_NANOS));
    }
    long lookNanos = SHORT_LOOK_NANOS;
    while (lease.isValid() && (leavesDescendants ? isAskedToEnd() : family.isRunning())) {
      noteLoss();
      isDone(leaseEnd, lookNanos);
      lookNanos = Math.min(2 * lookNanos, LONGEST_LOOK_NANOS / 4);
    }
  }

  /** Returns the exit code of the command; null if Java lost it. */
  @Nullable Integer exitCode() {
    Process root = family.root();
    return root == null ? null : root.exitValue();
  }

  /** Returns the numbers of the processes that could not be ended. */
  Set<Long> running() {
    return family.running().keySet();
  }

  /** Asks the command and all processes that it started to end. */
  synchronized void terminate() {
    terminated.putAll(family.terminate());
  }

  private synchronized boolean isAskedToEnd() {
    return terminated.entrySet().stream().anyMatch(Family::isRunning);
  }

  private void end(Duration grace) throws InterruptedException {
    long killNanos = Math.min(ticker.monotonicNanos(), lossNanos) + grace.toNanos();
    long killMicros = Math.min(ticker.wallMicros(), lossMicros) + micros(grace.toNanos());
    family.terminate();
    while (killNanos - ticker.monotonicNanos() > 0
        && killMicros - ticker.wallMicros() > 0
        && family.isRunning()) {
      TimeUnit.NANOSECONDS.sleep(Math.min(SHORT_LOOK_NANOS, killNanos - ticker.monotonicNanos()));
    }
    long startNanos = System.nanoTime();
    while (!family.kill() && System.nanoTime() - startNanos < LONGEST_END_NANOS) {
      TimeUnit.NANOSECONDS.sleep(SHORT_LOOK_NANOS);
    }
  }

  private void noteLoss() {
    long leftNanos = lease.remaining().toNanos();
    if (leftNanos > 0) {
      lossNanos = ticker.monotonicNanos() + leftNanos;
      lossMicros = ticker.wallMicros() + micros(leftNanos);
    }
  }

  private static long micros(long nanos) {
    return TimeUnit.NANOSECONDS.toMicros(nanos);
  }

  /** Waits for one of these futures, which do not fail; returns false if it is not done by then. */
  static boolean isDone(CompletableFuture<?> future, long waitNanos) throws InterruptedException {
    try {
      future.get(Math.max(0, waitNanos), TimeUnit.NANOSECONDS);
    } catch (TimeoutException e) {
      return false;
    } catch (ExecutionException e) {
      throw new IllegalStateException("it does not fail", e);
    }
    return true;
  }
}
