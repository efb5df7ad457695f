package io.redlock.simulation;

import io.redlock.Lease;
import io.redlock.LeaseRequest;

/**
 * A caller that acquires a lease that nobody else wants and releases it at once, again and again:
 * it shows whether its client is served.
 */
final class Pulse {

  /** The pause between two leases. */
  static final long PAUSE_NANOS = 100 * SimPlan.MILLI;

  private final SimWorld world;
  private final SimPlan plan;
  private final Checker checker;
  private final SimClient.Life life;
  private final SimProcess.Strand strand;
  private final String resource;

  Pulse(SimWorld world, SimPlan plan, Checker checker, SimClient.Life life, String resource) {
    this.world = world;
    this.plan = plan;
    this.checker = checker;
    this.life = life;
    this.strand = life.process.strand();
    this.resource = resource;
  }

  void begin() {
    world.after(PAUSE_NANOS, () -> strand.run(this::beat));
  }

  private void beat() {
    if (life.isOver() || world.nowNanos() >= plan.calmFromNanos()) {
      return;
    }
    LeaseRequest request = LeaseRequest.of(resource, plan.maxTtl());
    CallChecks.Call call = checker.calls.beginsToAcquire(life.process, request);
    life.redlock
        .acquireAsync(request)
        .whenComplete(
            (result, failure) -> {
              call.done();
              if (result != null) {
                result.lease().ifPresent(this::acquired);
              }
              begin();
            });
  }

  private void acquired(Lease lease) {
    checker.holds.acquired(life.process, lease);
    checker.service.granted();
    lease.close();
  }
}
