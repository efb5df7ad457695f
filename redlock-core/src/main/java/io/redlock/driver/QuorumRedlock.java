package io.redlock.driver;

import io.redlock.AcquireResult;
import io.redlock.Lease;
import io.redlock.LeaseEnd;
import io.redlock.LeaseEnd.Cause;
import io.redlock.LeaseLock;
import io.redlock.LeaseRequest;
import io.redlock.LeasedCallable;
import io.redlock.LeasedRunnable;
import io.redlock.LockNotAcquiredException;
import io.redlock.NodeStatus;
import io.redlock.Redlock;
import io.redlock.spi.LockNode;
import io.redlock.text.Brief;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/** The lock service: every face over {@link AcquireLoop}. */
final class QuorumRedlock implements Redlock, AcquireLoop.OpenCalls {

  private final ServiceContext cluster;

  /**
   * The calls that are not over, and their numbers. Not under a monitor: a lane that wants it would
   * wait for the virtual thread that is to have it next, which waits for thousands of others to be
   * run.
   */
  private final Map<AcquireLoop, Long> calls = new ConcurrentHashMap<>();

  private final AtomicLong numbers = new AtomicLong();
  private final AtomicBoolean closed = new AtomicBoolean();
  private final Pauses pauses;

  QuorumRedlock(ServiceContext cluster) {
    this.cluster = cluster;
    this.pauses = new Pauses(cluster.retryStrategy, cluster.random);
  }

  void start() {
    for (int node = 0; node < cluster.nodes.size(); node++) {
      cluster.nodes.get(node).start(cluster.ticker, cluster.scheduler, new NodeObserver(node));
    }
  }

  private final class NodeObserver implements LockNode.Observer {
    private final int node;

    NodeObserver(int node) {
      this.node = node;
    }

    @Override
    public void onStateChange(NodeStatus status) {
      FlightEvents.nodeState(status);
      cluster.tell(listener -> listener.onNodeState(status));
    }

    @Override
    public void onReset(String reason) {
      String name = cluster.nodes.get(node).name();
      FlightEvents.nodeReset(name, reason);
      cluster.tell(listener -> listener.onNodeReset(name, reason));
      cluster.scheduler.schedule(
          () -> cluster.liveLeases.forEach(lease -> lease.reaffirm(node)), 0);
    }

    @Override
    public void onWake(long waiter) {
      cluster.fairWaiters.woken(waiter, node);
    }

    @Override
    public void onListening() {
      cluster.fairWaiters.listening(node);
    }
  }

  @Override
  public Lease acquire(LeaseRequest request) throws InterruptedException {
    AcquireResult result = tryAcquire(request);
    return result.optionalLease().orElseThrow(() -> new LockNotAcquiredException(request, result));
  }

  @Override
  public AcquireResult tryAcquire(LeaseRequest request) throws InterruptedException {
    check(request);
    Blocking.checkInterrupt();
    return call(request).await();
  }

  private AcquireLoop call(LeaseRequest request) {
    return new AcquireLoop(cluster, request, pauses, this);
  }

  @Override
  public CompletableFuture<AcquireResult> acquireAsync(LeaseRequest request) {
    check(request);
    CompletableFuture<AcquireResult> future = new CompletableFuture<>();
    AcquireLoop loop = call(request);
    future.whenComplete(
        (result, failure) -> {
          if (!loop.yielded(result)) {
            loop.cancel(); // cancelled, timed out, or completed by its user with something else
          }
        });
    loop.start()
        .whenComplete(
            (result, failure) ->
                cluster.callBack(
                    () -> {
                      boolean wanted =
                          failure == null
                              ? future.complete(result)
                              : future.completeExceptionally(failure);
                      if (!wanted) {
                        loop.releaseUnwanted();
                      }
                    }));
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
    check(request);
    if (request.maxHold().isEmpty()) {
      throw new IllegalArgumentException(
          "a lock on "
              + Brief.names(request.resources())
              + " needs a longest time to be held: add .renewFor(maxHold) to the request");
    }
    return new ReentrantLease(request, this::call);
  }

  private void check(LeaseRequest request) {
    Objects.requireNonNull(request, "request is null: make one with LeaseRequest.of(name, ttl)");
    Settings.reject("cannot acquire", cluster.settings.problems(request));
  }

  @Override
  public List<NodeStatus> nodes() {
    return cluster.nodes.stream().map(LockNode::status).toList();
  }

  @Override
  public boolean add(AcquireLoop call) {
    calls.put(call, numbers.incrementAndGet());
    return !closed.get(); // else the call fails itself; close() may find it as well
  }

  @Override
  public void remove(AcquireLoop call) {
    calls.remove(call);
  }

  @Override
  public boolean isClosed() {
    return closed.get();
  }

  @Override
  public void close() {
    if (closed.getAndSet(true)) {
      return;
    }
    List<AcquireLoop> unfinished =
        calls.entrySet().stream()
            .sorted(Map.Entry.comparingByValue())
            .map(Map.Entry::getKey)
            .toList();
    awaitReleases(unfinished.stream().map(AcquireLoop::fail).flatMap(Optional::stream).toList());
    LeaseEnd closing = new LeaseEnd(Cause.CLOSED, "its Redlock was closed");
    cluster.liveLeases.forEach(lease -> lease.abandon(closing));
    cluster.nodes.forEach(LockNode::stop); // all at once: each may take a node timeout
    cluster.nodes.forEach(LockNode::close);
    cluster.timeouts.close(); // what a node still owes an answer to
    cluster.scheduler.close();
    cluster.callbacks.close();
  }

  /**
   * Lets threads that are just handing grants to nodes hand over the releases too, before the nodes
   * are closed. They never block; the bound is for who closes from within such a thread.
   */
  private void awaitReleases(List<Claim> claims) {
    CountDownLatch sent = new CountDownLatch(claims.size());
    claims.forEach(claim -> claim.whenReleaseSent(sent::countDown));
    try {
      sent.await(cluster.settings.nodeTimeoutNanos(), TimeUnit.NANOSECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
