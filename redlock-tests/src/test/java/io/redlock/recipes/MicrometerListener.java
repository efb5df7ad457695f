package io.redlock.recipes;

// readme:start micrometer
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.redlock.AcquireResult;
import io.redlock.ExtendResult;
import io.redlock.Lease;
import io.redlock.LeaseEnd;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import io.redlock.RedlockListener;
import io.redlock.spi.NodeStatus;
import io.redlock.spi.NodeStatus.State;
import java.time.Duration;
import java.util.Locale;
import java.util.concurrent.atomic.AtomicLong;

/** Meters of a lock service. Add a resource tag only if there are few resources. */
final class MicrometerListener implements RedlockListener {

  private final MeterRegistry meters;
  private final AtomicLong held;

  MicrometerListener(MeterRegistry meters) {
    this.meters = meters;
    held = meters.gauge("redlock.leases", new AtomicLong());
  }

  /** One gauge per node: 1 while it votes. */
  void watch(Redlock redlock) {
    for (int i = 0; i < redlock.nodes().size(); i++) {
      int node = i;
      Gauge.builder(
              "redlock.node.votes", redlock, it -> it.nodes().get(node).state() == State.UP ? 1 : 0)
          .tag("node", redlock.nodes().get(node).name())
          .register(meters);
    }
  }

  @Override
  public void onAcquire(LeaseRequest request, AcquireResult result, Duration took) {
    meters.timer("redlock.acquire", "outcome", word(result.getClass())).record(took);
    if (result instanceof AcquireResult.Acquired) {
      held.incrementAndGet();
    }
  }

  @Override
  public void onExtend(Lease lease, ExtendResult result, Duration took) {
    meters.timer("redlock.extend", "outcome", word(result.getClass())).record(took);
  }

  @Override
  public void onEnd(Lease lease, LeaseEnd end, Duration heldFor) {
    String cause = end.cause().name().toLowerCase(Locale.ROOT);
    meters.timer("redlock.lease", "cause", cause).record(heldFor);
    held.decrementAndGet();
  }

  @Override
  public void onNodeState(NodeStatus status) {
    String state = status.state().name().toLowerCase(Locale.ROOT);
    meters.counter("redlock.node.changes", "node", status.name(), "state", state).increment();
  }

  @Override
  public void onPastLost(String node, String reason) {
    meters.counter("redlock.node.past.lost", "node", node).increment();
  }

  private static String word(Class<?> result) {
    return result.getSimpleName().toLowerCase(Locale.ROOT);
  }
}
// readme:end
