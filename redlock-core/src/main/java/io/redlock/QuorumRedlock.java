package io.redlock;

import io.redlock.LeaseEnd.Cause;
import io.redlock.spi.LockNode;
import io.redlock.spi.NodeStatus;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;

/** The lock service: every face over {@link AcquireLoop}. */
final class QuorumRedlock implements Redlock, AcquireLoop.WaitingLoops {

  private final Cluster cluster;
  private final Set<AcquireLoop> loops = new LinkedHashSet<>(); // guarded by loops
  private boolean closed; // guarded by loops

  QuorumRedlock(Cluster cluster) {
    this.cluster = cluster;
  }

  void start() {
    for (LockNode node : cluster.nodes) {
      node.start(
          cluster.ticker,
          cluster.scheduler,
          status -> cluster.tell(listener -> listener.onNodeState(status)));
    }
  }

  @Override
  public Lease acquire(LeaseRequest request) throws InterruptedException {
    AcquireResult result = tryAcquire(request);
    return result.lease().orElseThrow(() -> new LockNotAcquiredException(request, result));
  }

  @Override
  public AcquireResult tryAcquire(LeaseRequest request) throws InterruptedException {
    check(request);
    if (Thread.interrupted()) {
      throw new InterruptedException();
    }
    AcquireLoop loop = new AcquireLoop(cluster, request, this);
    try {
      return Waits.await(loop.start());
    } catch (InterruptedException e) {
      loop.cancel();
      throw e;
    }
  }

  @Override
  public CompletableFuture<AcquireResult> acquireAsync(LeaseRequest request) {
    check(request);
    CompletableFuture<AcquireResult> future = new CompletableFuture<>();
    AcquireLoop loop = new AcquireLoop(cluster, request, this);
    future.whenComplete(
        (result, failure) -> {
          if (future.isCancelled()) {
            loop.cancel();
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

  private void check(LeaseRequest request) {
    Settings.reject("cannot acquire", cluster.settings.problems(request));
  }

  @Override
  public List<NodeStatus> nodes() {
    return cluster.nodes.stream().map(LockNode::status).toList();
  }

  @Override
  public boolean add(AcquireLoop loop) {
    synchronized (loops) {
      return !closed && loops.add(loop);
    }
  }

  @Override
  public void remove(AcquireLoop loop) {
    synchronized (loops) {
      loops.remove(loop);
    }
  }

  @Override
  public void close() {
    List<AcquireLoop> unfinished;
    synchronized (loops) {
      if (closed) {
        return;
      }
      closed = true;
      unfinished = new ArrayList<>(loops);
    }
    unfinished.forEach(AcquireLoop::fail);
    cluster
        .liveLeases
        .snapshot()
        .forEach(lease -> lease.abandon(new LeaseEnd(Cause.CLOSED, "its Redlock was closed")));
    cluster.nodes.forEach(LockNode::close);
    cluster.scheduler.close();
  }
}
