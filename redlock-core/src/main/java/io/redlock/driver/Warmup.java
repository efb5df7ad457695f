package io.redlock.driver;

import io.redlock.Lease;
import io.redlock.LeaseRequest;
import io.redlock.NodeStatus;
import io.redlock.Redlock;
import io.redlock.spi.LockNode;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.Scheduler;
import io.redlock.spi.StatusOfNode;
import io.redlock.spi.Ticker;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;

/**
 * Acquires a few leases over nodes in this process. Otherwise the first real lease would load the
 * classes of the driver during its node timeout, and on a busy machine exceed it.
 */
final class Warmup {

  private static final int CYCLES = 20;
  private static final long LONGEST_NANOS = TimeUnit.MILLISECONDS.toNanos(50);
  private static final Duration TTL = Duration.ofSeconds(10);
  private static final Duration WAIT = Duration.ofMillis(1);

  private final Ticker ticker;
  private final AtomicBoolean begun = new AtomicBoolean();

  /**
   * @param ticker tells when the warm-up has taken long enough
   */
  Warmup(Ticker ticker) {
    this.ticker = ticker;
  }

  /**
   * Runs the warm-up on the first call, and never again. An interrupt ends it early and stays set.
   *
   * @param builder builds a lock service over the given nodes
   */
  void once(Function<List<? extends LockNode>, Redlock> builder) {
    if (!begun.getAndSet(true)) {
      cycles(builder);
    }
  }

  private void cycles(Function<List<? extends LockNode>, Redlock> builder) {
    long startNanos = ticker.monotonicNanos();
    List<Agreeing> nodes = List.of(new Agreeing("1"), new Agreeing("2"), new Agreeing("3"));
    try (Redlock redlock = builder.apply(nodes)) {
      int cycles = 0;
      do {
        cycle(redlock);
        cycles++;
      } while (cycles < CYCLES && ticker.monotonicNanos() - startNanos < LONGEST_NANOS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (IllegalStateException e) {
      Log.LOG.debug("The warm-up ended early", e);
    }
  }

  private static void cycle(Redlock redlock) throws InterruptedException {
    LeaseRequest request = LeaseRequest.of("warm-up", TTL).waitUpTo(WAIT).renewFor(TTL);
    Optional<Lease> lease = redlock.tryAcquire(request).lease();
    if (lease.isPresent()) {
      lease.get().extend(TTL);
      lease.get().release();
    }
    try {
      redlock.acquireAsync(request).get(1, TimeUnit.SECONDS).lease().ifPresent(Lease::close);
    } catch (ExecutionException | TimeoutException e) {
      throw new IllegalStateException("the nodes of the warm-up did not answer", e);
    }
  }

  /** A node that says yes to every request, at once. */
  private record Agreeing(String name) implements LockNode {

    @Override
    public void start(Ticker ticker, Scheduler scheduler, Observer observer) {
      // Nothing to start.
    }

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
      return new StatusOfNode(name, NodeStatus.State.UP, Duration.ZERO, "");
    }

    @Override
    public void close() {
      // Nothing to close.
    }
  }
}
