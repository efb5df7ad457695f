package io.redlock.simulation;

import java.util.Map;
import java.util.TreeMap;

/** Everything that is checked in a run, by whom it is about. */
final class Checker {

  /** Between two looks at who is served. */
  static final long LOOK_NANOS = 10 * SimPlan.MILLI;

  final NodeChecks nodes;
  final FairChecks fair;
  final HoldChecks holds;
  final CallChecks calls;
  final LaneChecks lanes;
  final WorkChecks work;
  final ServiceChecks service;
  final WaitChecks waits;
  private final SimWorld world;
  private final WellClients well;
  private final Map<String, ProtectedResource> resources = new TreeMap<>();

  Checker(SimWorld world) {
    this.world = world;
    well = new WellClients(world);
    nodes = new NodeChecks(world);
    fair = new FairChecks(world);
    holds = new HoldChecks(world, nodes, fair);
    calls = new CallChecks(world);
    lanes = new LaneChecks(world);
    work = new WorkChecks(world);
    service = new ServiceChecks(world, well);
    waits = new WaitChecks(world, well);
  }

  /** Looks at intervals, until it is calm, whether those are served who should be. */
  void watch() {
    if (world.isCalm()) {
      return;
    }
    well.look();
    if (world.plan.hasPulse()) {
      service.judge();
    }
    waits.judge();
    world.after(LOOK_NANOS, this::watch);
  }

  /** What the lock of that name protects. */
  ProtectedResource resource(String name) {
    return resources.computeIfAbsent(name, known -> new ProtectedResource(world, known));
  }

  /** Updates lost where tokens are not checked. */
  long unfencedLosses() {
    return resources.values().stream().mapToLong(ProtectedResource::unfencedLosses).sum();
  }
}
