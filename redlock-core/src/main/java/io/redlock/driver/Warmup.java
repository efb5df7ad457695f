package io.redlock.driver;

import io.redlock.Lease;
import io.redlock.LeaseRequest;
import io.redlock.NodeStatus;
import io.redlock.Redlock;
import io.redlock.RedlockException;
import io.redlock.spi.LockNode;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.Scheduler;
import io.redlock.spi.StatusOfNode;
import io.redlock.spi.Ticker;
import java.time.Duration;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;

/**
 * A node in this process that says yes to every request, at once: on it the first service of a JVM
 * acquires two leases. Otherwise the first real one would load the classes of the driver during its
 * node timeout, and on a busy machine exceed it.
 */
final class Warmup implements LockNode {

  private static final Duration TTL = Duration.ofSeconds(10);

  private final AtomicBoolean begun = new AtomicBoolean();

  /**
   * Acquires the leases on the first call, and never again. An interrupt ends it early and stays
   * set.
   *
   * @param builder builds a lock service over the given node
   */
  void once(Function<List<LockNode>, Redlock> builder) {
    if (begun.getAndSet(true)) {
      return;
    }
    LeaseRequest request =
        LeaseRequest.of("warm-up", TTL).waitUpTo(Duration.ofMillis(1)).renewFor(TTL);
    try (Redlock redlock = builder.apply(List.of(this))) {
      try (Lease lease = redlock.acquire(request)) {
        lease.extend(TTL);
      }
      redlock.acquireAsync(request).get(1, TimeUnit.SECONDS).lease().ifPresent(Lease::close);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (ExecutionException | TimeoutException | RedlockException e) {
      Log.LOG.debug("The warm-up ended early", e);
    }
  }

  @Override
  public String name() {
    return "warm-up";
  }

  @Override
  public void start(Ticker ticker, Scheduler scheduler, Observer observer) {}

  @Override
  public Pending send(NodeRequest request, int slot, ReplyHandler handler) {
    handler.onReply(
        slot,
        request instanceof NodeRequest.Grant
            ? NodeReply.GRANTED
            : request instanceof NodeRequest.Extend ? NodeReply.EXTENDED : NodeReply.RELEASED);
    return () -> false;
  }

  @Override
  public OptionalLong clockOffsetMicros() {
    return OptionalLong.empty();
  }

  @Override
  public NodeStatus status() {
    return new StatusOfNode(name(), NodeStatus.State.UP, Duration.ZERO, "");
  }

  @Override
  public void close() {}
}
