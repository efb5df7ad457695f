package io.redlock.simulation;

import java.util.Map;
import java.util.TreeMap;

/** Everything that is checked in a run, by whom it is about. */
final class Checker {

  final NodeChecks nodes;
  final FairChecks fair;
  final HoldChecks holds;
  final CallChecks calls;
  final LaneChecks lanes;
  final WorkChecks work;
  final ServiceChecks service;
  final PermitChecks permits;
  final ReadChecks readers;
  private final SimWorld world;
  private final Map<String, ProtectedResource> resources = new TreeMap<>();

  Checker(SimWorld world, SimPlan plan) {
    this.world = world;
    nodes = new NodeChecks(world, plan);
    fair = new FairChecks(world, plan);
    holds = new HoldChecks(world, plan, nodes, fair);
    calls = new CallChecks(world, plan);
    lanes = new LaneChecks(world, plan);
    work = new WorkChecks(world, plan);
    service = new ServiceChecks(world, plan);
    permits = new PermitChecks(world, plan);
    readers = new ReadChecks(world, plan);
    world.afterEach(holds::checkOverlaps);
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
