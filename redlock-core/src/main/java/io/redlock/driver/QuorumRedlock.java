package io.redlock.driver;

import io.redlock.AcquireResult;
import io.redlock.Leadership;
import io.redlock.Lease;
import io.redlock.LeaseLock;
import io.redlock.LeaseReadWriteLock;
import io.redlock.LeaseRequest;
import io.redlock.LeasedCallable;
import io.redlock.LeasedRunnable;
import io.redlock.NodeStatus;
import io.redlock.Redlock;
import io.redlock.RedlockOperations;
import io.redlock.spi.BackgroundLog;
import io.redlock.spi.LibraryThread;
import io.redlock.spi.LockNode;
import io.redlock.spi.Scheduler;
import io.redlock.text.Brief;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The lock service: all methods of {@link Redlock}, over {@link AcquireCall}. */
final class QuorumRedlock implements Redlock {

  /** The time between two confirmations after a reset (E10): all at once would fill the lanes. */
  private static final long CONFIRM_PACE_NANOS = 500_000;

  final ServiceContext context;

  private final QuorumWatch quorumWatch;
  private final Operations operations;
  private final ReentrantLease.Holds holds = new ReentrantLease.Holds();

  private final List<Runnable> closing; // the steps; made early, as memory may be short at the end

  QuorumRedlock(ServiceContext context) {
    this.context = context;
    this.quorumWatch = new QuorumWatch(context.quorum, context.nodes.size());
    this.operations = new Operations(context);
    List<Runnable> steps = new ArrayList<>();
    steps.add(() -> context.ends.complete(null));
    steps.add(this::endCalls);
    steps.add(this::awaitReleases);
    steps.add(() -> context.agenda.items(Owner.class).forEach(owner -> owner.lose(Owner.CLOSED)));
    context.nodes.forEach(node -> steps.add(node::stop)); // together: each may take a node timeout
    context.nodes.forEach(node -> steps.add(node::close));
    steps.add(context.agenda::close); // ends the waits that no node has answered, and all timers
    steps.add(() -> context.listeners.closed(this));
    this.closing = List.copyOf(steps);
  }

  void start() {
    context.listeners.started(this);
    for (int node = 0; node < context.nodes.size(); node++) {
      context.nodes.get(node).start(context.ticker, context.scheduler, new NodeObserver(node));
    }
  }

  private final class NodeObserver implements LockNode.Observer {
    private final int node;
    private final Scheduler.Timer confirms = context.scheduler.timer(this::confirm);

    NodeObserver(int node) {
      this.node = node;
    }

    @Override
    public void onStateChange(NodeStatus status) {
      context.listeners.report(listener -> listener.onNodeState(status));
      String line = context.closed.get() ? null : quorumWatch.changed(node, status);
      if (line != null) {
        Log.LOG.warn(line);
      }
    }

    @Override
    public void onReset(String reason) {
      String name = context.nodes.get(node).name();
      context.listeners.reportAlways(listener -> listener.onNodeReset(name, reason)); // N6
      confirms.set(context.ticker.monotonicNanos());
    }

    private void confirm() {
      long dueNanos = context.ticker.monotonicNanos();
      for (Owner owner : context.agenda.items(Owner.class)) {
        owner.reset(node, dueNanos);
        dueNanos += CONFIRM_PACE_NANOS;
      }
    }

    @Override
    public void onWake(long waiter) {
      context.fairWaiters.woken(waiter, node);
    }

    @Override
    public void onListening() {
      context.fairWaiters.listening(node);
    }
  }

  @Override
  public Lease acquire(LeaseRequest request) throws InterruptedException {
    return tryAcquire(request).orElseThrow(request);
  }

  @Override
  public AcquireResult tryAcquire(LeaseRequest request) throws InterruptedException {
    check(request);
    Scheduler.checkInterrupt();
    return call(request).await();
  }

  private AcquireCall call(LeaseRequest request) {
    return new AcquireCall(context, request);
  }

  @Override
  public CompletableFuture<AcquireResult> acquireAsync(LeaseRequest request) {
    check(request);
    if (context.closed.get()) {
      return CompletableFuture.failedFuture(AcquireCall.closed());
    }
    AcquireCall loop = call(request);
    CompletableFuture<AcquireResult> future = context.callbacks.pass(loop.result, loop::take);
    future.whenComplete(
        (result, failure) -> {
          if (!loop.yielded(result)) {
            loop.cancel(); // cancelled, timed out, or completed by its user
          }
        });
    loop.start();
    return future;
  }

  @Override
  public <T extends @Nullable Object, E extends Exception> T callLeased(
      LeaseRequest request, LeasedCallable<T, E> body) throws E, InterruptedException {
    Objects.requireNonNull(body, "body is null: give the work to do");
    HeldLease lease = (HeldLease) acquire(request);
    T value;
    try {
      value = body.call(lease);
    } catch (Throwable e) {
      lease.loss(lease.releaseUninterruptibly()).ifPresent(e::addSuppressed);
      throw e;
    }
    lease.throwIfLost(lease.releaseUninterruptibly());
    return value;
  }

  @Override
  public <E extends Exception> void runLeased(LeaseRequest request, LeasedRunnable<E> body)
      throws E, InterruptedException {
    Objects.requireNonNull(body, "body is null: give the work to do");
    this.<Lease, E>callLeased(
        request,
        lease -> {
          body.run(lease);
          return lease;
        });
  }

  @Override
  public LeaseLock asLock(LeaseRequest request) {
    checkLock(request);
    return lock(request);
  }

  @Override
  public LeaseReadWriteLock asReadWriteLock(LeaseRequest request) {
    checkLock(request);
    if (request.isAnyOf() || request.resources().size() > 1) {
      throw new IllegalArgumentException(
          "a read and write lock is on one resource, not on "
              + (request.isAnyOf() ? "any of several" : request.resources().size())
              + ": make one with LeaseRequest.of(name, ttl)");
    }
    if (request.isShared()) {
      throw new IllegalArgumentException("its read lock is shared anyway: leave shared() out");
    }
    return new ReentrantLease.Both(lock(request.fair().shared()), lock(request.fair()));
  }

  private void checkLock(LeaseRequest request) {
    check(request);
    if (request.renewFor().isEmpty()) {
      throw new IllegalArgumentException(
          "a lock on "
              + Brief.names(request.resources())
              + " needs a longest hold: add .renewFor(...) to the request");
    }
    if (request.isUnlessHeld()) {
      throw new IllegalArgumentException("a lock waits for its holder: leave unlessHeld() out");
    }
  }

  private ReentrantLease lock(LeaseRequest request) {
    return new ReentrantLease(context, request, holds);
  }

  @Override
  public Leadership lead(String resource, Duration ttl, Leadership.Work work) {
    return lead(LeaseRequest.of(resource, ttl), work);
  }

  @Override
  public Leadership lead(String resource, Duration ttl, Duration renewFor, Leadership.Work work) {
    return lead(LeaseRequest.of(resource, ttl).renewFor(renewFor), work);
  }

  private Leadership lead(LeaseRequest request, Leadership.Work work) {
    check(request);
    Objects.requireNonNull(work, "work is null: give the work of the leader");
    if (context.closed.get()) {
      throw AcquireCall.closed();
    }
    String name = "redlock-leader-" + request.resources().iterator().next();
    LeaderCandidate candidate =
        new LeaderCandidate(context, request, work, this::call, LibraryThread.named(name));
    candidate.begin();
    return candidate;
  }

  private void check(LeaseRequest request) {
    Objects.requireNonNull(request, "request is null: make one with LeaseRequest.of(name, ttl)");
    Settings.reject("cannot acquire", context.settings.problems(request));
  }

  @Override
  public RedlockOperations operations() {
    return operations;
  }

  @Override
  public void close() {
    if (context.closed.getAndSet(true)) {
      return;
    }
    doAll(closing);
    BackgroundLog.flush(Duration.ofNanos(context.settings.nodeTimeoutNanos()));
  }

  /** Does all steps, also those after one that fails: for a defect, or because memory is short. */
  private static void doAll(List<Runnable> steps) {
    for (Runnable step : steps) {
      try {
        step.run();
      } catch (RuntimeException | Error e) {
        Log.failure("the close", e);
      }
    }
  }

  private void endCalls() {
    Stream<AcquireCall> calls = context.agenda.items(AcquireCall.class).stream();
    doAll(calls.<Runnable>map(call -> call::fail).toList());
  }

  /**
   * Has all releases handed to the nodes before these are closed, also by threads that are sending
   * grants, and again where that failed. Nothing blocks; the time limit is for a caller that is
   * such a thread, and for a node that takes none.
   */
  private void awaitReleases() {
    long leftMillis = context.settings.nodeTimeoutNanos() / 1_000_000;
    List<Owner> owners = context.agenda.items(Owner.class);
    boolean interrupted = false;
    for (int next = 0; next < owners.size(); ) {
      try {
        leftMillis = owners.get(next).awaitSent(leftMillis);
        next++;
      } catch (InterruptedException e) {
        interrupted = true; // the wait is short, and without it a lock would stay
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
