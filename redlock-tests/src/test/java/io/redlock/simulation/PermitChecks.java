package io.redlock.simulation;

import io.redlock.testkit.NodeModel.Cell;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * I24: a caller that waits for any one of several names does not wait on while one is free.
 *
 * <p>The first waiter of a process pauses for as long as the retry strategy says at most, and an
 * attempt takes three node timeouts at most. A name that becomes free just after an attempt has
 * looked at it is found by the next: a pause and two attempts later. That one may fail, because two
 * processes that ask at the same time split the nodes; the one after it follows within another
 * pause and attempt.
 */
final class PermitChecks {

  /** The longest pause of the default strategy while names are taken. */
  private static final long PAUSE_NANOS = 200 * SimPlan.MILLI;

  private final SimWorld world;
  private final SimPlan plan;
  private final WellClients well;
  private final Map<SimProcess, Integer> waiting = new HashMap<>();
  private final Map<String, Long> freeNanos = new HashMap<>(); // since when
  private final Map<SimProcess, Long> waitsNanos = new HashMap<>(); // and has been well, since when
  private long longestFreeNanos;

  PermitChecks(SimWorld world, WellClients well) {
    this.world = world;
    this.well = well;
    plan = world.plan;
  }

  /** So long a name may be free while somebody waits for it. */
  static long longestNanos(SimPlan plan) {
    return 2 * PAUSE_NANOS + 9 * plan.nodeTimeoutNanos + Checker.LOOK_NANOS;
  }

  /** The longest time for which a name was free while somebody waited for it. */
  long longestFreeNanos() {
    return longestFreeNanos;
  }

  /** A caller of this process begins to wait for any one of the names. */
  void waits(SimProcess process) {
    waiting.merge(process, 1, Integer::sum);
  }

  void waitsNoLonger(SimProcess process) {
    waiting.computeIfPresent(process, (key, callers) -> callers == 1 ? null : callers - 1);
  }

  /** Somebody acquired these names, perhaps between two looks. */
  void acquired(List<String> names) {
    names.forEach(freeNanos::remove);
  }

  void judge() {
    long lastLookNanos = world.nowNanos() - Checker.LOOK_NANOS;
    waitsNanos.keySet().retainAll(well.processes());
    waitsNanos.keySet().retainAll(waiting.keySet());
    well.processes().stream()
        .filter(waiting::containsKey)
        .forEach(process -> waitsNanos.putIfAbsent(process, lastLookNanos));
    for (String name : plan.names()) {
      if (well.majorityHas(name, Cell::isFree)) {
        freeNanos.putIfAbsent(name, world.nowNanos());
        waitsNanos.values().stream().min(Long::compare).ifPresent(since -> judge(name, since));
      } else {
        freeNanos.remove(name);
      }
    }
  }

  private void judge(String name, long sinceNanos) {
    long nanos = world.nowNanos() - Math.max(sinceNanos, freeNanos.get(name));
    longestFreeNanos = Math.max(longestFreeNanos, nanos);
    if (nanos > longestNanos(plan)) {
      world.violated(
          SimInvariant.I24,
          () -> "somebody waits, and " + name + " is free for " + nanos / SimPlan.MILLI + " ms");
    }
  }
}
