package io.redlock.chaos;

import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** What many runs did, taken together. Thread-safe. */
final class Totals {

  private final long startNanos = System.nanoTime();
  private final Map<ChaosFault, Long> faults = new EnumMap<>(ChaosFault.class); // guarded by this
  private final List<String> failures = new ArrayList<>(); // guarded by this
  private long runs;
  private long operations;
  private long leases;
  private long unfencedLosses;
  private long violations;

  synchronized void add(ChaosRun.Report report) {
    runs++;
    operations += report.verdict().operations();
    leases += report.verdict().leases();
    unfencedLosses += report.verdict().unfencedLosses();
    violations += report.verdict().findings().size();
    report.faults().forEach((fault, count) -> faults.merge(fault, count, Long::sum));
    if (!report.verdict().findings().isEmpty()) {
      failures.add(report.failure());
    }
  }

  synchronized List<String> failures() {
    return List.copyOf(failures);
  }

  @Override
  public synchronized String toString() {
    long struck = faults.values().stream().mapToLong(Long::longValue).sum();
    return String.format(
        Locale.ROOT,
        "chaos total: %d runs in %d min, %,d operations, %,d leases, %,d faults %s, "
            + "%d updates lost unfenced, %d violations in %d runs",
        runs,
        Duration.ofNanos(System.nanoTime() - startNanos).toMinutes(),
        operations,
        leases,
        struck,
        faults,
        unfencedLosses,
        violations,
        failures.size());
  }
}
