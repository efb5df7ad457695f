package io.redlock.bench;

import io.redlock.testbed.RedisServer;
import io.redlock.testbed.Text;
import io.redlock.testkit.Template;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDate;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Runs every benchmark, on masters of its own, and writes {@code docs/measured/benchmarks.md}, its
 * plot, and {@code benchmarks.tsv} with all tables:
 *
 * <pre>
 * ./mvnw -q -Pbench process-test-classes
 * </pre>
 *
 * <p>{@code -Dbench.only=elsewhere} writes the same for {@code docs/measured/elsewhere.md}, and
 * runs nothing else. {@code -Dbench.only=contention} runs one part, and writes its tables to {@code
 * contention.tsv}, and its plots; {@code -Dbench.scale=0.1} takes a tenth of the time, and is good
 * for nothing but trying it out; {@code -Dbench.leases.minutes=5} watches renewed leases for so
 * long.
 */
public final class Benchmarks {

  private interface Part {
    void run() throws Exception;
  }

  private Benchmarks() {}

  /**
   * @param args the folder for pages and plots
   */
  public static void main(String[] args) {
    try {
      run(Path.of(args[0]));
    } catch (Throwable failure) {
      failure.printStackTrace();
      System.exit(1);
    }
    System.exit(0); // whatever threads the peers left behind
  }

  private static void run(Path docs) throws Exception {
    Report report = new Report();
    Map<String, Part> parts = new LinkedHashMap<>();
    parts.put("uncontended", new Uncontended(report)::run);
    parts.put("callers", () -> new Callers(report).run(docs));
    parts.put("guard", new SettingCosts(report)::guard);
    parts.put("label", new SettingCosts(report)::label);
    parts.put("failed-nodes", new FailedNodes(report)::run);
    parts.put("growth", () -> Growth.run(report));
    parts.put("contention", new Contention(report)::run);
    parts.put("hot", () -> new HotResource(report).run(docs));
    parts.put("waiting", new WaitingTurns(report)::run);
    parts.put("leader", new LeaderGaps(report)::run);
    parts.put("readers", new Readers(report)::run);
    parts.put("restart-under-leases", () -> RestartUnderLeases.run(report, docs));
    parts.put("renewed-leases", new RenewedLeases(report)::run);
    String only = System.getProperty("bench.only", "");
    if (only.equals("elsewhere")) {
      new Elsewhere().run(docs);
      return;
    }
    for (Map.Entry<String, Part> part : parts.entrySet()) {
      if (only.isEmpty() || only.equals(part.getKey())) {
        part.getValue().run();
      }
    }
    System.out.println("\n" + report.targets());
    if (!only.isEmpty()) {
      report.writeTables(docs, only, conditions());
    } else {
      Map<String, String> gaps =
          Map.of("conditions", conditions(), "targets", report.targets().strip());
      report.write(docs, "benchmarks", Template.fill(Benchmarks.class, "benchmarks.txt", gaps));
    }
  }

  /** Returns when, where and with which versions the run was made. */
  static String conditions() {
    return Text.of(
        """
        Measured on %s, on %s with %d processors in use, %s %s, Java %s; the load was %s before. \
        Masters are %s on loopback, without persistence; Redisson is %s.""",
        LocalDate.now(),
        processor(),
        Runtime.getRuntime().availableProcessors(),
        System.getProperty("os.name"),
        System.getProperty("os.version"),
        Runtime.version(),
        LOAD,
        masters(),
        org.redisson.Redisson.class.getPackage().getImplementationVersion());
  }

  private static final String LOAD = load();

  private static String load() {
    try {
      return Files.readString(Path.of("/proc/loadavg")).split(" ")[0];
    } catch (IOException e) {
      return "unknown";
    }
  }

  /** Returns a warning if others used the processors when the run began, else nothing. */
  static String warning() {
    int processors = Runtime.getRuntime().availableProcessors();
    if (LOAD.equals("unknown") || Double.parseDouble(LOAD) < processors) {
      return "";
    }
    return Text.of(
        """
        **The machine was busy**: a load of %s on %d processors before the run. Read no more than \
        the order of magnitude from it, and repeat it on a quiet machine. Peers with more threads \
        and processes suffer most.
        """,
        LOAD, processors);
  }

  private static String masters() {
    try (RedisServer server = RedisServer.start()) {
      return server.nameAndVersion();
    }
  }

  private static String processor() {
    try {
      return Files.readString(Path.of("/proc/cpuinfo"))
          .lines()
          .filter(line -> line.startsWith("model name"))
          .map(line -> line.substring(line.indexOf(':') + 1).strip())
          .findFirst()
          .orElse("unknown");
    } catch (IOException e) {
      return "unknown";
    }
  }
}
