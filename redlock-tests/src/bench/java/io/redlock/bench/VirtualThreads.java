package io.redlock.bench;

import io.redlock.bench.ClosedLoop.Run;
import io.redlock.testkit.RedisServers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Scanner;
import java.util.concurrent.ThreadFactory;

/**
 * 10,000 callers in virtual threads beside 64 in platform threads, on the JDK that JAVA25_HOME
 * names, in a JVM of their own.
 */
final class VirtualThreads {

  private static final String PLATFORM = "64 platform threads";
  private static final String VIRTUAL = "10,000 virtual threads";
  private static final Duration NODE_TIMEOUT = Duration.ofSeconds(14);
  private static final Rounds ROUNDS = Rounds.ofMillis(5, 3_000, 6_000);

  private final Report report;

  VirtualThreads(Report report) {
    this.report = report;
  }

  void run() throws Exception {
    String workload = "10,000 virtual callers, Java 25";
    String target = "no fewer cycles/s than 64 platform threads";
    String home = System.getenv("JAVA25_HOME");
    if (home == null) {
      report.notMeasured(workload, target, "JAVA25_HOME is not set");
      return;
    }
    List<double[]> rounds = new ArrayList<>();
    try (RedisServers servers = RedisServers.start(5);
        ChildJvm child = new ChildJvm(home, VirtualThreads.class, servers.addresses())) {
      child.ask("go");
      for (int round = 0; round < ROUNDS.count(); round++) {
        String[] figures = child.answer().split(" ");
        rounds.add(new double[] {Double.parseDouble(figures[0]), Double.parseDouble(figures[1])});
      }
    }
    Ratio ratio = Ratio.of(rounds.stream().mapToDouble(r -> r[1] / r[0]).toArray());
    report.table(
        "Virtual threads",
        "Java 25, one resource per caller, node timeout 14 s.",
        List.of("", "cycles/s"),
        List.of(
            List.of(PLATFORM, Report.number(Ratio.median(rounds, r -> r[0]))),
            List.of(VIRTUAL, Report.number(Ratio.median(rounds, r -> r[1])))));
    report.target(workload, target, ratio, ratio.median() >= 1);
  }

  /**
   * Waits for a line, and prints one per round: cycles a second in platform and in virtual threads.
   *
   * @param args the masters' addresses
   */
  public static void main(String[] args) throws Exception {
    new Scanner(System.in, "UTF-8").nextLine();
    try (Peer peer = new RedlockPeer(NODE_TIMEOUT, args)) {
      Map<String, ClosedLoop> loops = new LinkedHashMap<>();
      loops.put(PLATFORM, new ClosedLoop(peer.cycles(64), Thread::new, List.of()));
      loops.put(VIRTUAL, new ClosedLoop(peer.cycles(10_000), virtualThreads(), List.of()));
      Map<String, List<Run>> runs = ROUNDS.run(loops);
      for (int round = 0; round < ROUNDS.count(); round++) {
        System.out.println(
            runs.get(PLATFORM).get(round).perSecond()
                + " "
                + runs.get(VIRTUAL).get(round).perSecond());
      }
    }
    System.exit(0);
  }

  /** This class is compiled for Java 17, which has no virtual threads. */
  private static ThreadFactory virtualThreads() throws ReflectiveOperationException {
    Object builder = Thread.class.getMethod("ofVirtual").invoke(null);
    return (ThreadFactory)
        Class.forName("java.lang.Thread$Builder").getMethod("factory").invoke(builder);
  }
}
