package io.redlock.recipes;

// readme:start micrometer
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import io.redlock.AcquireResult;
import io.redlock.ExtendResult;
import io.redlock.Lease;
import io.redlock.LeaseEnd;
import io.redlock.LeaseRequest;
import io.redlock.NodeStatus;
import io.redlock.NodeStatus.State;
import io.redlock.Redlock;
import io.redlock.RedlockListener;
import java.time.Duration;
import java.util.Locale;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;

/** Meters of a lock service. Add a resource tag only if there are few resources. */
final class MicrometerListener implements RedlockListener {

  private final MeterRegistry meters;
  private final AtomicLong held;

  MicrometerListener(MeterRegistry meters) {
    this.meters = meters;
    held = meters.gauge("redlock.leases", new AtomicLong());
    // From zero on: where a series begins with its first loss, Prometheus sees no increase.
    Stream.of(AcquireResult.class.getPermittedSubclasses()).forEach(this::acquire);
    Stream.of(ExtendResult.class.getPermittedSubclasses()).forEach(this::extend);
    Stream.of(LeaseEnd.Cause.values()).forEach(this::lease);
  }

  /** One gauge per node: 1 while it votes. */
  void watch(Redlock redlock) {
    for (int i = 0; i < redlock.nodes().size(); i++) {
      int node = i;
      String name = redlock.nodes().get(node).name();
      Gauge.builder(
              "redlock.node.votes", redlock, it -> it.nodes().get(node).state() == State.UP ? 1 : 0)
          .tag("node", name)
          .register(meters);
      resets(name);
    }
  }

  @Override
  public void onAcquire(LeaseRequest request, AcquireResult result, Duration took) {
    acquire(result.getClass()).record(took);
    if (result instanceof AcquireResult.Acquired) {
      held.incrementAndGet();
    }
  }

  @Override
  public void onExtend(Lease lease, ExtendResult result, Duration took) {
    extend(result.getClass()).record(took);
  }

  @Override
  public void onEnd(Lease lease, LeaseEnd end, Duration heldFor) {
    lease(end.cause()).record(heldFor);
    held.decrementAndGet();
  }

  @Override
  public void onNodeState(NodeStatus status) {
    String state = word(status.state().name());
    meters.counter("redlock.node.changes", "node", status.name(), "state", state).increment();
  }

  @Override
  public void onNodeReset(String node, String reason) {
    resets(node).increment();
  }

  private Timer acquire(Class<?> result) {
    return meters.timer("redlock.acquire", "outcome", word(result.getSimpleName()));
  }

  private Timer extend(Class<?> result) {
    return meters.timer("redlock.extend", "outcome", word(result.getSimpleName()));
  }

  private Timer lease(LeaseEnd.Cause cause) {
    return meters.timer("redlock.lease", "cause", word(cause.name()));
  }

  private Counter resets(String node) {
    return meters.counter("redlock.node.resets", "node", node);
  }

  private static String word(String name) {
    return name.toLowerCase(Locale.ROOT);
  }
}
// readme:end
