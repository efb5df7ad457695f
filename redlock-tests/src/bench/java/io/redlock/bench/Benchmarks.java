package io.redlock.bench;

import io.redlock.testkit.RedisServer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDate;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;

/**
 * Runs every benchmark, on masters of its own, and writes {@code docs/benchmarks.md} and its plots:
 *
 * <pre>
 * ./mvnw -q -Pbench process-test-classes
 * </pre>
 *
 * <p>{@code -Dbench.only=contention} runs, and prints, one part and writes nothing but its plots;
 * {@code -Dbench.scale=0.1} takes a tenth of the time, and is good for nothing but trying it out;
 * {@code -Dbench.leases.minutes=5} watches renewed leases for so long.
 */
public final class Benchmarks {

  private interface Part {
    void run() throws Exception;
  }

  private Benchmarks() {}

  /**
   * @param args the folder of the documentation
   */
  public static void main(String[] args) throws Exception {
    Path docs = Path.of(args[0]);
    Report report = new Report();
    Map<String, Part> parts = new LinkedHashMap<>();
    parts.put("uncontended", () -> new Uncontended(report).run(docs));
    parts.put("callers", () -> new Callers(report).run(docs));
    parts.put("guard", new GuardCost(report)::run);
    parts.put("failed-nodes", new FailedNodes(report)::run);
    parts.put("growth", new Growth(report)::run);
    parts.put("contention", new Contention(report)::run);
    parts.put("waiting", new WaitingTurns(report)::run);
    parts.put("renewed-leases", new RenewedLeases(report)::run);
    String only = System.getProperty("bench.only", "");
    for (Map.Entry<String, Part> part : parts.entrySet()) {
      if (only.isEmpty() || only.equals(part.getKey())) {
        part.getValue().run();
      }
    }
    report.print();
    if (only.isEmpty()) {
      report.write(docs.resolve("benchmarks.md"), introduction());
    }
    System.exit(0); // whatever threads the peers left behind
  }

  private static String introduction() throws Exception {
    return String.format(
        Locale.ROOT,
        """
        # Benchmarks

        Written by `./mvnw -q -Pbench process-test-classes`; do not edit. Absolute figures move with \
        the machine, so the targets are ratios of what was measured in turn, in the same minutes, \
        on the same machine: the median of the rounds, and in brackets the least and the greatest.

        | | |
        |---|---|
        | date | %s |
        | processor | %s, %d in use |
        | system | %s %s |
        | Java | %s |
        | masters | %s, on loopback, without persistence, on the processors of the clients |
        | Redisson | %s |
        | load before | %s |

        A *cycle* locks a resource that nobody else wants on five masters, and unlocks it. Callers \
        do so without a pause (a closed loop), in one JVM, all peers warmed up, one after the other \
        for a second or so, five times round. *floor A* is a thread that writes this library's own \
        scripts to five sockets, one after the other, and then reads five answers; *floor B* is one \
        such thread that does so for a batch as large as the number of callers. *JedisPool per node* \
        is what people write by hand: `SET NX PX` and a compare-and-delete, a task per master on a \
        thread pool. Redisson and the pools give no fencing token, and do not check what became of \
        a master's data; this library does, with its default settings, apart from a node timeout \
        of a second, because the machine may be busy. Client CPU is that of Java threads, without \
        the compiler's and the collector's. Switches are voluntary context switches of the \
        client's threads: a `futex`, `poll` or `epoll_wait` that sleeps is one. Calls are `read` and \
        `write` as `/proc/*/io` counts them; calls that wait are not in it, for counting those slows \
        down what is counted (`strace -c -f`).
        """,
        LocalDate.now(),
        processor(),
        Runtime.getRuntime().availableProcessors(),
        System.getProperty("os.name"),
        System.getProperty("os.version"),
        Runtime.version(),
        masters(),
        org.redisson.Redisson.class.getPackage().getImplementationVersion(),
        LOAD);
  }

  private static final String LOAD = load();

  private static String load() {
    try {
      return Files.readString(Path.of("/proc/loadavg")).split(" ")[0];
    } catch (IOException e) {
      return "unknown";
    }
  }

  private static String masters() {
    try (RedisServer server = RedisServer.start()) {
      return String.valueOf(server.command("INFO", "server"))
          .lines()
          .filter(line -> line.contains("_version:"))
          .map(line -> line.replace("_version:", " "))
          .findFirst()
          .orElse("unknown");
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
