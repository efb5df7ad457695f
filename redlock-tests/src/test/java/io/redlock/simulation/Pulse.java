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
  private final SimClient.Life life;
  private final SimProcess.Strand strand;
  private final String resource;

  Pulse(SimWorld world, SimClient.Life life, String resource) {
    this.world = world;
    this.life = life;
    this.resource = resource;
    strand = life.process.strand();
  }

  void begin() {
    world.after(PAUSE_NANOS, () -> strand.run(this::beat));
  }

  private void beat() {
    if (life.isOver() || world.isCalm()) {
      return;
    }
    LeaseRequest request = LeaseRequest.of(resource, life.maxTtl);
    CallChecks.Call call = world.checker.calls.beginsToAcquire(life.process, request);
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
    world.checker.holds.acquired(life.process, lease);
    world.checker.service.granted(life.process);
    lease.close();
  }
}
