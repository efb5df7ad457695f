package io.redlock.simulation;

import io.redlock.spi.NodeRequest.Ticket;
import io.redlock.testkit.NodeModel.Cell;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.Locale;
import java.util.Map;
import java.util.Set;

/**
 * I24 for readers: no call waits to read while nobody holds the name exclusively and no writer is
 * queued. The bound is that of {@link PermitChecks}, and the second after which a fair call asks
 * without a wake: others may be behind it in the queue of their process.
 */
final class ReadChecks {

  private static final long UNWOKEN_NANOS = 1_000 * SimPlan.MILLI;

  private final SimWorld world;
  private final SimPlan plan;
  private final WellClients well;
  private final Map<SimProcess, Long> wellNanos = new HashMap<>(); // since when
  private final Set<Call> waiting = new LinkedHashSet<>();
  private final Map<String, Long> openNanos = new HashMap<>(); // since when, by name
  private long reads;

  /** A call that waits to read. */
  final class Call {
    private final SimProcess process;
    private final String name;
    private final long sinceNanos = world.nowNanos();

    private Call(SimProcess process, String name) {
      this.process = process;
      this.name = name;
    }

    void done(boolean reads) {
      waiting.remove(this);
      ReadChecks.this.reads += reads ? 1 : 0;
    }
  }

  ReadChecks(SimWorld world, WellClients well) {
    this.world = world;
    this.well = well;
    plan = world.plan;
  }

  /** How many calls have read. */
  long reads() {
    return reads;
  }

  /** A call begins to wait. */
  Call waits(SimProcess process, String name) {
    Call call = new Call(process, name);
    waiting.add(call);
    return call;
  }

  /** Somebody acquired a name exclusively, perhaps between two looks. */
  void written(String name) {
    openNanos.remove(name);
  }

  void judge() {
    wellNanos.keySet().retainAll(well.processes());
    well.processes().forEach(process -> wellNanos.putIfAbsent(process, world.nowNanos()));
    for (String name : plan.names()) {
      if (well.majorityHas(name, ReadChecks::isOpen)) {
        openNanos.putIfAbsent(name, world.nowNanos());
      } else {
        openNanos.remove(name);
      }
    }
    waiting.removeIf(call -> call.process.isDead());
    waiting.forEach(this::judge);
  }

  private static boolean isOpen(Cell cell) {
    boolean isQueued = cell.queue().stream().anyMatch(place -> !Ticket.reads(place.waiter()));
    return (cell.isFree() || cell.isShared()) && !isQueued;
  }

  private void judge(Call call) {
    Long open = openNanos.get(call.name);
    Long wellSince = wellNanos.get(call.process);
    if (open == null || wellSince == null) {
      return;
    }
    long nanos = world.nowNanos() - Math.max(call.sinceNanos, Math.max(open, wellSince));
    if (nanos > PermitChecks.longestNanos(plan) + UNWOKEN_NANOS) {
      world.violated(
          SimInvariant.I24,
          () ->
              String.format(
                  Locale.ROOT,
                  "%s waits to read %s for %d ms, and nobody writes",
                  call.process,
                  call.name,
                  nanos / SimPlan.MILLI));
    }
  }
}
