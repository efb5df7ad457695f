package io.redlock.jedis.cli;

import io.redlock.Lease;
import io.redlock.LeaseEnd;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** A process that must not run for longer than its lease lasts. */
final class LeasedProcess {

  private static final long LONGEST_LOOK_NANOS = TimeUnit.SECONDS.toNanos(1);
  private static final long SHORT_LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

  private final Process process;
  private final Lease lease;
  private final CompletableFuture<LeaseEnd> leaseEnd;
  private final Set<ProcessHandle> terminated = new LinkedHashSet<>(); // guarded by this

  /** The time at which the lease is lost unless renewed, by both clocks: one of them may stop. */
  private long lossNanos = System.nanoTime();

  private long lossMillis = System.currentTimeMillis();

  LeasedProcess(Process process, Lease lease) {
    this.process = process;
    this.lease = lease;
    this.leaseEnd = lease.ended().toCompletableFuture();
    noteLoss();
  }

  /**
   * Waits for the end of the process, and of those that {@link #terminate} asked to end, or for the
   * end of the lease. If the lease ends, sends the process and its descendants TERM at once, and
   * KILL after the grace if they still run, and waits until they are gone.
   *
   * @return true if the lease ended first
   */
  boolean outlivesLease(Duration grace) throws InterruptedException {
    CompletableFuture<Object> either = CompletableFuture.anyOf(process.onExit(), leaseEnd);
    while (lease.isValid() && !either.isDone()) {
      noteLoss();
      isDone(either, Math.min(lease.remaining().toNanos(), LONGEST_LOOK_NANOS));
    }
    while (lease.isValid() && terminated().stream().anyMatch(LeasedProcess::isRunning)) {
      noteLoss();
      isDone(leaseEnd, SHORT_LOOK_NANOS);
    }
    if (lease.isValid()) {
      return false;
    }
    end(grace);
    return true;
  }

  /** Returns false also for a process that has ended and that its parent does not reap. */
  static boolean isRunning(ProcessHandle member) {
    if (!member.isAlive()) {
      return false;
    }
    try {
      String stat = Files.readString(Path.of("/proc/" + member.pid() + "/stat"));
      return !stat.substring(stat.lastIndexOf(')')).startsWith(") Z");
    } catch (IOException e) { // it has ended, or this is not Linux
      return member.isAlive();
    }
  }

  int exitCode() {
    return process.exitValue();
  }

  /** Asks the process and its descendants to end. */
  void terminate() {
    Set<ProcessHandle> family = family();
    synchronized (this) {
      terminated.addAll(family);
    }
    family.forEach(ProcessHandle::destroy);
  }

  private synchronized Set<ProcessHandle> terminated() {
    return Set.copyOf(terminated);
  }

  private void end(Duration grace) throws InterruptedException {
    long killNanos = Math.min(System.nanoTime(), lossNanos) + grace.toNanos();
    long killMillis = Math.min(System.currentTimeMillis(), lossMillis) + grace.toMillis();
    Set<ProcessHandle> family = family();
    family.addAll(terminated());
    family.forEach(ProcessHandle::destroy);
    for (ProcessHandle member : Set.copyOf(family)) {
      long leftNanos =
          Math.min(
              killNanos - System.nanoTime(),
              TimeUnit.MILLISECONDS.toNanos(killMillis - System.currentTimeMillis()));
      isDone(member.onExit(), leftNanos);
    }
    family.addAll(family()); // those started meanwhile
    family.forEach(ProcessHandle::destroyForcibly);
    while (!isDone(process.onExit(), LONGEST_LOOK_NANOS)) {
      process.destroyForcibly();
    }
    // Bounded: a dead process is never seen to exit if its parent does not reap it, for example if
    // this program is the first process of a container.
    long startNanos = System.nanoTime();
    for (ProcessHandle member : family) {
      isDone(member.onExit(), LONGEST_LOOK_NANOS - (System.nanoTime() - startNanos));
    }
  }

  /** Returns the process and its descendants, except those whose parent has ended. */
  private Set<ProcessHandle> family() {
    Set<ProcessHandle> family = new LinkedHashSet<>();
    family.add(process.toHandle());
    process.descendants().forEach(family::add);
    return family;
  }

  private void noteLoss() {
    long leftNanos = lease.remaining().toNanos();
    if (leftNanos > 0) {
      lossNanos = System.nanoTime() + leftNanos;
      lossMillis = System.currentTimeMillis() + TimeUnit.NANOSECONDS.toMillis(leftNanos);
    }
  }

  private static boolean isDone(CompletableFuture<?> future, long waitNanos)
      throws InterruptedException {
    try {
      future.get(Math.max(0, waitNanos), TimeUnit.NANOSECONDS);
    } catch (TimeoutException e) {
      return false;
    } catch (ExecutionException e) {
      throw new IllegalStateException("neither future fails", e);
    }
    return true;
  }
}
