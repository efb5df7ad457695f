package io.redlock.simulation;

import io.redlock.spi.NodeRequest.Ticket;
import io.redlock.testbed.Text;
import io.redlock.testkit.NodeModel.Cell;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;

/**
 * I24: a caller that waits for any one of several names does not wait on while one is free, and no
 * call waits to read while nobody holds the name exclusively and no writer is queued.
 *
 * <p>The first waiter of a process pauses for as long as the retry strategy says at most, and an
 * attempt takes three node timeouts at most. A name that becomes free just after an attempt has
 * looked at it is found by the next: a pause and two attempts later. That one may fail, because two
 * processes that ask at the same time split the nodes; the one after it follows within another
 * pause and attempt. A reader may be behind others in the queue of its process, and a fair call
 * asks without a wake after a second.
 */
final class WaitChecks {

  /** The longest pause of the default strategy while names are taken. */
  private static final long PAUSE_NANOS = 200 * SimPlan.MILLI;

  private static final long UNWOKEN_NANOS = 1_000 * SimPlan.MILLI;

  private final SimWorld world;
  private final SimPlan plan;
  private final WellClients well;
  private final Map<SimProcess, Integer> waiting = new HashMap<>(); // callers, for any one name
  private final Map<SimProcess, Long> waitsNanos = new HashMap<>(); // and has been well, since when
  private final Map<String, Long> freeNanos = new HashMap<>(); // since when, by name
  private long longestFreeNanos;
  private final Map<SimProcess, Long> wellNanos = new HashMap<>(); // since when
  private final Set<Reader> readers = new LinkedHashSet<>();
  private final Map<String, Long> openNanos = new HashMap<>(); // to readers, since when, by name
  private long reads;

  /** A call that waits to read. */
  final class Reader {
    private final SimProcess process;
    private final String name;
    private final long sinceNanos = world.nowNanos();

    private Reader(SimProcess process, String name) {
      this.process = process;
      this.name = name;
    }

    void done(boolean hasRead) {
      readers.remove(this);
      reads += hasRead ? 1 : 0;
    }
  }

  WaitChecks(SimWorld world, WellClients well) {
    this.world = world;
    this.well = well;
    plan = world.plan;
  }

  /** The longest time for which a name was free while somebody waited for it. */
  long longestFreeNanos() {
    return longestFreeNanos;
  }

  /** How many calls have read. */
  long reads() {
    return reads;
  }

  /** A caller of this process begins to wait for any one of the names. */
  void waits(SimProcess process) {
    waiting.merge(process, 1, Integer::sum);
  }

  void waitsNoLonger(SimProcess process) {
    waiting.computeIfPresent(process, (key, callers) -> callers == 1 ? null : callers - 1);
  }

  /** A call begins to wait to read. */
  Reader waitsToRead(SimProcess process, String name) {
    Reader reader = new Reader(process, name);
    readers.add(reader);
    return reader;
  }

  /** Somebody acquired these names, perhaps between two looks. */
  void acquired(List<String> names, boolean isShared) {
    names.forEach(freeNanos::remove);
    if (!isShared) {
      names.forEach(openNanos::remove);
    }
  }

  void judge() {
    if (plan.permits) {
      judgeCallers();
    }
    if (plan.sharedPercent > 0) {
      judgeReaders();
    }
  }

  /** So long a name may be free while somebody waits for it. */
  private long longestNanos() {
    return 2 * PAUSE_NANOS + 9 * plan.nodeTimeoutNanos + Checker.LOOK_NANOS;
  }

  /** Notes since when names are in that state on a majority that is well. */
  private void note(Map<String, Long> sinceNanos, Predicate<Cell> state) {
    for (String name : plan.names()) {
      if (well.majorityHas(name, state)) {
        sinceNanos.putIfAbsent(name, world.nowNanos());
      } else {
        sinceNanos.remove(name);
      }
    }
  }

  private void judgeCallers() {
    long lastLookNanos = world.nowNanos() - Checker.LOOK_NANOS;
    waitsNanos.keySet().retainAll(well.processes());
    waitsNanos.keySet().retainAll(waiting.keySet());
    well.processes().stream()
        .filter(waiting::containsKey)
        .forEach(process -> waitsNanos.putIfAbsent(process, lastLookNanos));
    note(freeNanos, Cell::isFree);
    waitsNanos.values().stream()
        .min(Long::compare)
        .ifPresent(since -> freeNanos.forEach((name, free) -> judge(name, Math.max(since, free))));
  }

  private void judge(String name, long sinceNanos) {
    long nanos = world.nowNanos() - sinceNanos;
    longestFreeNanos = Math.max(longestFreeNanos, nanos);
    if (nanos > longestNanos()) {
      world.violated(
          SimInvariant.I24,
          () -> "somebody waits, and " + name + " is free for " + nanos / SimPlan.MILLI + " ms");
    }
  }

  private void judgeReaders() {
    wellNanos.keySet().retainAll(well.processes());
    well.processes().forEach(process -> wellNanos.putIfAbsent(process, world.nowNanos()));
    note(openNanos, WaitChecks::isOpen);
    readers.removeIf(reader -> reader.process.isDead());
    readers.forEach(this::judge);
  }

  private static boolean isOpen(Cell cell) {
    boolean isQueued = cell.queue().stream().anyMatch(place -> !Ticket.reads(place.waiter()));
    return (cell.isFree() || cell.isShared()) && !isQueued;
  }

  private void judge(Reader reader) {
    Long open = openNanos.get(reader.name);
    Long wellSince = wellNanos.get(reader.process);
    if (open == null || wellSince == null) {
      return;
    }
    long nanos = world.nowNanos() - Math.max(reader.sinceNanos, Math.max(open, wellSince));
    if (nanos > longestNanos() + UNWOKEN_NANOS) {
      world.violated(
          SimInvariant.I24,
          () ->
              Text.of(
                  "%s waits to read %s for %d ms, and nobody writes",
                  reader.process, reader.name, nanos / SimPlan.MILLI));
    }
  }
}
