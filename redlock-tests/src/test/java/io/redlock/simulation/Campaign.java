package io.redlock.simulation;

import io.redlock.testbed.Text;
import io.redlock.testbed.Unchecked;
import io.redlock.testkit.Budget;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongFunction;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;

/** Many seeds, one after the other, and what came of them all. */
final class Campaign {

  private static final Path TRACES = Path.of("target", "simulation");
  private static final int LINES_SHOWN = 60;
  private static final int SEEDS_PER_REPORT = 10_000;

  private final String what;
  private final LongFunction<SimPlan> plans;
  private final Map<SimFault, Long> faults = new EnumMap<>(SimFault.class);
  private final long startCpuNanos = cpuNanos();
  private int seeds;
  private long steps;
  private long simulatedNanos;
  private long heldNanos;
  private long unfencedLosses;
  private long served;
  long leases;
  long reads; // leases to read
  long queued; // callers that had to wait in turn
  long passed; // leases that another caller of the process passed on
  long longestFreeNanos; // of a name while somebody waited for any one of several

  private Campaign(String what, LongFunction<SimPlan> plans) {
    this.what = what;
    this.plans = plans;
  }

  /** Runs the seeds, and prints the figures; fails at the first violation with all that helps. */
  static Campaign run(String what, List<Long> seeds, LongFunction<SimPlan> plans) {
    Campaign campaign = new Campaign(what, plans);
    Thread runner = Thread.currentThread();
    String usualName = runner.getName();
    try {
      for (long seed : seeds) {
        runner.setName("simulation of seed " + seed); // in a dump of a run that stands still
        campaign.run(seed);
      }
    } finally {
      runner.setName(usualName);
    }
    System.out.println(campaign.summary());
    return campaign;
  }

  private void run(long seed) {
    SimWorld world = Simulation.run(plans.apply(seed));
    if (world.violation() != null) {
      throw new AssertionError(report(what, plans, seed));
    }
    world.faults.forEach((fault, times) -> faults.merge(fault, times, Long::sum));
    steps += world.steps();
    simulatedNanos += world.nowNanos();
    Checker checker = world.checker;
    heldNanos += checker.holds.all.stream().mapToLong(SimHold::heldNanos).sum();
    unfencedLosses += checker.unfencedLosses();
    leases += checker.holds.all.size();
    reads += checker.waits.reads();
    served += checker.fair.served();
    queued += checker.fair.queued();
    passed += checker.holds.passed();
    longestFreeNanos = Math.max(longestFreeNanos, checker.waits.longestFreeNanos());
    if (++seeds % SEEDS_PER_REPORT == 0) {
      System.out.println(summary());
    }
  }

  /**
   * Returns the first seeds for {@code verify}, the others for CI, unless {@code
   * simulation.firstSeed} or {@code simulation.seeds}, which is their number, says otherwise.
   */
  static List<Long> seeds(int brief, int all) {
    List<Long> part = Budget.part(LongStream.rangeClosed(1, all).boxed().toList(), brief);
    return from(part.get(0), part.size());
  }

  /** Returns so many seeds, unless the properties say otherwise. */
  static List<Long> seeds(int count) {
    return from(1, count);
  }

  private static List<Long> from(long usualFirst, long usualCount) {
    long first = Long.getLong("simulation.firstSeed", usualFirst);
    long count = Long.getLong("simulation.seeds", usualCount);
    return LongStream.range(first, first + count).boxed().toList();
  }

  private static long cpuNanos() {
    return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
  }

  /** One line with the figures. Per second means per second of this thread on a processor. */
  private String summary() {
    double cpuSeconds = (cpuNanos() - startCpuNanos) / 1e9;
    double simulatedSeconds = simulatedNanos / 1e9;
    return Text.of(
        "simulation, %s: %d seeds, %.1f million events, %.1f simulated hours with %.2f hours of %d"
            + " leases, %d of them to read, %d passed on"
            + " and %d in turn, %d waited in turn, %.0f simulated"
            + " seconds per second, %d updates lost where tokens are not checked and none where"
            + " they are, faults %s, no violation",
        what,
        seeds,
        steps / 1e6,
        simulatedSeconds / 3_600,
        heldNanos / 3.6e12,
        leases,
        reads,
        passed,
        served,
        queued,
        simulatedSeconds / cpuSeconds,
        unfencedLosses,
        faults);
  }

  /** All that helps to understand a violation: with as few faults as will do, as a trace. */
  static String report(String what, LongFunction<SimPlan> plans, long seed) {
    SimPlan small = shrink(plans, seed);
    SimWorld world = Simulation.run(small, new Parts(), true);
    List<String> lines = world.trace.lines();
    Path file = TRACES.resolve(what.replace(' ', '-') + "-" + seed + ".txt");
    Unchecked.call(() -> Files.createDirectories(TRACES));
    Unchecked.call(() -> Files.write(file, lines));
    List<String> last = lines.subList(Math.max(0, lines.size() - LINES_SHOWN), lines.size());
    return Text.of(
        """
    %s, %s: %s
      %s, %s
      faults: %s
      replay, if the test has not changed the plan of the seed: ./mvnw -pl redlock-tests -am test \
    -Dsurefire.failIfNoSpecifiedTests=false -Dtest=SimulationTest#replay \
    -Dsimulation.seed=%d -Dsimulation.faults=%s
      whole trace: redlock-tests/%s
      its end:
    %s\
    """,
        what,
        seed,
        world.violation(),
        small,
        small.change,
        small.faults.stream().map(fault -> fault.meaning).toList(),
        seed,
        small.faultNames(),
        file,
        String.join("\n", last));
  }

  /** Leaves out one kind of fault after the other, as long as the violation remains. */
  private static SimPlan shrink(LongFunction<SimPlan> plans, long seed) {
    SimPlan small = plans.apply(seed);
    Violation violation = violationOf(small);
    for (SimFault fault : SimFault.values()) {
      SimPlan smaller = plans.apply(seed).only(small.faults).without(fault);
      Violation left = smaller.faults.equals(small.faults) ? null : violationOf(smaller);
      if (left != null && violation != null && left.invariant() == violation.invariant()) {
        small = smaller;
      }
    }
    return small;
  }

  private static @Nullable Violation violationOf(SimPlan plan) {
    return Simulation.run(plan).violation();
  }
}
