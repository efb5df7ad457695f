package io.redlock.recipes;

import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.common.Attributes;
import io.opentelemetry.api.metrics.DoubleHistogram;
import io.opentelemetry.api.metrics.LongCounter;
import io.opentelemetry.api.metrics.LongUpDownCounter;
import io.opentelemetry.api.metrics.Meter;
import io.opentelemetry.api.metrics.ObservableLongMeasurement;
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

/** The same as instruments of OpenTelemetry. */
final class OpenTelemetryListener implements RedlockListener {

  private static final AttributeKey<String> OUTCOME = AttributeKey.stringKey("outcome");
  private static final AttributeKey<String> CAUSE = AttributeKey.stringKey("cause");
  private static final AttributeKey<String> NODE = AttributeKey.stringKey("node");
  private static final AttributeKey<String> STATE = AttributeKey.stringKey("state");
  private static final AttributeKey<String> SHARED = AttributeKey.stringKey("shared");

  private final Meter meter;
  private final DoubleHistogram acquire;
  private final DoubleHistogram extend;
  private final DoubleHistogram lease;
  private final LongUpDownCounter leases;
  private final LongCounter changes;
  private final LongCounter resets;

  OpenTelemetryListener(Meter meter) {
    this.meter = meter;
    acquire = meter.histogramBuilder("redlock.acquire").setUnit("s").build();
    extend = meter.histogramBuilder("redlock.extend").setUnit("s").build();
    lease = meter.histogramBuilder("redlock.lease").setUnit("s").build();
    leases = meter.upDownCounterBuilder("redlock.leases").build();
    changes = meter.counterBuilder("redlock.node.changes").build();
    resets = meter.counterBuilder("redlock.node.resets").build();
  }

  /** One gauge per node: 1 while it votes. Close what it returns before the lock service. */
  AutoCloseable watch(Redlock redlock) {
    ObservableLongMeasurement votes =
        meter.gaugeBuilder("redlock.node.votes").ofLongs().buildObserver();
    ObservableLongMeasurement lost = meter.counterBuilder("redlock.events.lost").buildObserver();
    return meter.batchCallback(
        () -> {
          lost.record(redlock.operations().lostEvents());
          for (NodeStatus node : redlock.operations().nodes()) {
            votes.record(node.state() == State.UP ? 1 : 0, Attributes.of(NODE, node.name()));
          }
        },
        votes,
        lost);
  }

  @Override
  public void onAcquire(LeaseRequest request, AcquireResult result, Duration took) {
    acquire.record(
        seconds(took),
        Attributes.of(OUTCOME, word(result.outcome()), SHARED, String.valueOf(request.isShared())));
    if (result.outcome() == AcquireResult.Outcome.ACQUIRED) {
      leases.add(1);
    }
  }

  @Override
  public void onExtend(Lease lease, ExtendResult result, Duration took) {
    extend.record(
        seconds(took),
        Attributes.of(OUTCOME, word(result.outcome()), SHARED, String.valueOf(lease.isShared())));
  }

  @Override
  public void onEnd(Lease ended, LeaseEnd end, Duration held) {
    lease.record(
        seconds(held),
        Attributes.of(CAUSE, word(end.cause()), SHARED, String.valueOf(ended.isShared())));
    leases.add(-1);
  }

  @Override
  public void onNodeState(NodeStatus status) {
    changes.add(1, Attributes.of(NODE, status.name(), STATE, word(status.state())));
  }

  @Override
  public void onNodeReset(String node, String reason) {
    resets.add(1, Attributes.of(NODE, node));
  }

  private static double seconds(Duration duration) {
    return duration.toNanos() / 1e9;
  }

  private static String word(Enum<?> outcome) {
    return outcome.name().toLowerCase(Locale.ROOT);
  }
}
