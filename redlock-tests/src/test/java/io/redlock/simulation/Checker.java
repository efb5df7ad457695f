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

  Checker(SimWorld world) {
    this.world = world;
    nodes = new NodeChecks(world);
    fair = new FairChecks(world);
    holds = new HoldChecks(world, nodes, fair);
    calls = new CallChecks(world);
    lanes = new LaneChecks(world);
    work = new WorkChecks(world);
    service = new ServiceChecks(world);
    permits = new PermitChecks(world);
    readers = new ReadChecks(world);
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
