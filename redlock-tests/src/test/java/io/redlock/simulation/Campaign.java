package io.redlock.simulation;

import io.redlock.simulation.Simulation.Result;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** Many seeds, one after the other, and what came of them all. */
final class Campaign {

  private static final Path TRACES = Path.of("target", "simulation");
  private static final int LINES_SHOWN = 60;
  private static final int SEEDS_PER_REPORT = 10_000;

  private final FaultCount faults = new FaultCount();
  private final long startCpuNanos = cpuNanos();
  private int seeds;
  private long steps;
  private long simulatedNanos;
  private long heldNanos;
  private long leases;
  private long unfencedLosses;

  private static long cpuNanos() {
    return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
  }

  /**
   * Runs the seeds; fails at the first violation with all that helps. The thread bears the seed's
   * name, so that a dump of a run that stands still tells it.
   */
  void run(List<Long> toRun) {
    Thread runner = Thread.currentThread();
    String usualName = runner.getName();
    try {
      runEach(toRun, runner);
    } finally {
      runner.setName(usualName);
    }
  }

  private void runEach(List<Long> toRun, Thread runner) {
    for (long seed : toRun) {
      runner.setName("simulation of seed " + seed);
      Result result = Simulation.run(SimPlan.of(seed), new Parts(), false);
      add(result);
      if (result.violation() != null) {
        throw new AssertionError(report(SimPlan.of(seed)));
      }
      if (seeds % SEEDS_PER_REPORT == 0 && seeds < toRun.size()) {
        System.out.println(summary());
      }
    }
  }

  private void add(Result result) {
    seeds++;
    steps += result.steps();
    simulatedNanos += result.simulatedNanos();
    heldNanos += result.heldNanos();
    leases += result.leases();
    unfencedLosses += result.unfencedLosses();
    faults.add(result.faults());
  }

  /** One line with the figures. Per second means per second of this thread on a processor. */
  String summary() {
    double cpuSeconds = (cpuNanos() - startCpuNanos) / 1e9;
    double simulatedSeconds = simulatedNanos / 1e9;
    return String.format(
        Locale.ROOT,
        "simulation: %d seeds, %.1f million events, %.1f simulated hours with %.2f hours of %d"
            + " leases, %.0f simulated seconds per second, %d updates lost where tokens are not"
            + " checked and none where they are, faults %s, no violation",
        seeds,
        steps / 1e6,
        simulatedSeconds / 3_600,
        heldNanos / 3.6e12,
        leases,
        simulatedSeconds / cpuSeconds,
        unfencedLosses,
        faults.byKind());
  }

  /** All that helps to understand a violation: with as few faults as will do, as a trace. */
  static String report(SimPlan plan) {
    SimPlan small = shrink(plan);
    Result result = Simulation.run(small, new Parts(), true);
    List<String> lines = result.trace().lines();
    Path file = TRACES.resolve("seed-" + plan.seed + ".txt");
    try {
      Files.createDirectories(TRACES);
      Files.write(file, lines);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    List<String> last = lines.subList(Math.max(0, lines.size() - LINES_SHOWN), lines.size());
    return result.violation()
        + "\n  "
        + small
        + "\n  replay: ./mvnw -pl redlock-tests -am test -Dsurefire.failIfNoSpecifiedTests=false"
        + " -Dtest=SimulationTest#replay -Dsimulation.seed="
        + plan.seed
        + " -Dsimulation.faults="
        + small.faultNames()
        + "\n  whole trace: redlock-tests/"
        + file
        + "\n  its end:\n"
        + String.join("\n", last);
  }

  /** Leaves out one kind of fault after the other, as long as the violation remains. */
  private static SimPlan shrink(SimPlan plan) {
    Violation violation = violationOf(plan);
    SimPlan small = plan;
    for (SimFault fault : SimFault.values()) {
      SimPlan smaller = SimPlan.of(plan.seed).only(small.faults).without(fault);
      Violation left = smaller.faults.equals(small.faults) ? null : violationOf(smaller);
      if (left != null && violation != null && left.invariant() == violation.invariant()) {
        small = smaller;
      }
    }
    return small;
  }

  private static @Nullable Violation violationOf(SimPlan plan) {
    return Simulation.run(plan, new Parts(), false).violation();
  }
}
