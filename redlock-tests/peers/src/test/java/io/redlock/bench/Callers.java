package io.redlock.bench;

import io.redlock.bench.ClosedLoop.Run;
import io.redlock.testbed.RedisServers;
import io.redlock.testbed.Text;
import io.redlock.testkit.JavaProgram;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Scanner;
import java.util.concurrent.ThreadFactory;
import java.util.stream.Stream;

/**
 * Throughput against the number of callers: platform threads, and virtual ones where those would be
 * too many. In a JVM of its own, on the JDK that JAVA25_HOME names; without it the virtual threads
 * are left out.
 */
final class Callers {

  private static final int MOST_OF_CONNECTIONS = 64;
  private static final int MOST_OF_THREADS = 256;
  private static final int FEW = 64;
  private static final int MANY = 10_000;
  private static final List<Integer> PLATFORM = List.of(1, 2, 4, 8, 16, 32, 64, 128, 256);
  private static final List<Integer> VIRTUAL = List.of(1_000, MANY);

  private static final String FEW_THREADS = FEW + " platform threads";
  private static final String END = "end";
  private static final Duration PATIENT = Duration.ofSeconds(14);
  private static final Rounds ROUNDS = Rounds.ofMillis(3, 500, 500);
  private static final Rounds LONG_ROUNDS = Rounds.ofMillis(5, 3_000, 6_000);

  /** Cycles a second of each round, by the number of callers and by peer. */
  private final Map<Integer, Map<String, List<Double>>> perSecond = new LinkedHashMap<>();

  private final Report report;

  Callers(Report report) {
    this.report = report;
  }

  void run(Path docs) throws Exception {
    String home = System.getenv("JAVA25_HOME");
    try (RedisServers servers = RedisServers.start(5);
        JavaProgram.Running child =
            Jvms.start(home == null ? Jvms.THIS : home, Callers.class, servers.addresses())) {
      child.ask(home == null ? "platform" : "all");
      for (String line = child.answer(); !line.equals(END); line = child.answer()) {
        String[] fields = line.split("\\|");
        perSecond
            .computeIfAbsent(Integer.valueOf(fields[0]), callers -> new LinkedHashMap<>())
            .put(fields[1], Stream.of(fields[2].split(" ")).map(Double::valueOf).toList());
      }
    }
    table();
    plot(docs);
    judge();
  }

  private void judge() {
    String workload = "10,000 virtual callers, Java 25";
    String target = "no fewer cycles/s than 64 platform threads";
    Map<String, List<Double>> many = perSecond.get(MANY);
    if (many == null) {
      report.notMeasured(workload, target, "JAVA25_HOME is not set");
      return;
    }
    Ratio ratio = Ratio.of(many.get(RedlockPeer.NAME), many.get(FEW_THREADS), n -> n);
    report.atLeast(1, workload, target, ratio);
    judgeGrowth();
  }

  /** Compares each number of callers with the best of fewer. */
  private void judgeGrowth() {
    double best = 0;
    double least = 1;
    for (Map<String, List<Double>> rounds : perSecond.values()) {
      double mine = median(rounds.get(RedlockPeer.NAME));
      best = Math.max(best, mine);
      least = Math.min(least, mine / best);
    }
    report.target(
        "1 to 10,000 callers, Java 25",
        "never less than 0.9 x the best cycles/s of fewer callers",
        Text.of("%.2f", least),
        least >= 0.9);
  }

  private List<String> peers() {
    return List.copyOf(perSecond.get(1).keySet());
  }

  private void table() {
    List<List<String>> rows = new ArrayList<>();
    perSecond.forEach(
        (callers, rounds) -> {
          List<String> row = new ArrayList<>(List.of(number(callers)));
          for (String peer : peers()) {
            row.add(rounds.containsKey(peer) ? Report.number(median(rounds.get(peer))) : "");
          }
          rows.add(row);
        });
    List<String> head = new ArrayList<>(List.of("callers"));
    head.addAll(peers());
    report.table(
        "Number of callers",
        Text.of(
            """
        Cycles a second on Java %d, medians of the rounds: up to %d callers in platform threads, \
        more in virtual ones; node timeout 14 s. Peers that need connections for each caller are \
        measured with fewer callers.""",
            perSecond.containsKey(MANY) ? 25 : Runtime.version().feature(), MOST_OF_THREADS),
        head,
        rows);
  }

  private void plot(Path docs) throws Exception {
    Plot plot = new Plot("Cycles per second, by callers", "cycles/s");
    List<String> places = perSecond.keySet().stream().map(Callers::number).toList();
    for (String peer : peers()) {
      List<Double> values = new ArrayList<>();
      for (Map<String, List<Double>> rounds : perSecond.values()) {
        if (rounds.containsKey(peer)) {
          values.add(median(rounds.get(peer)));
        }
      }
      plot.line(peer, places, values);
    }
    plot.write(docs.resolve("throughput.svg"));
  }

  private static String number(int callers) {
    return Text.of("%,d", callers);
  }

  private static double median(List<Double> values) {
    return Ratio.median(values, value -> value);
  }

  /**
   * Reads whether to use virtual threads, and prints a line for every number of callers and every
   * peer: the cycles a second of each round.
   *
   * @param args the masters' addresses
   */
  public static void main(String[] args) throws Exception {
    boolean virtual = new Scanner(System.in, "UTF-8").nextLine().equals("all");
    measure(8, Thread::new, Rounds.ofMillis(1, 2_000, 2_000), args);
    for (int callers : PLATFORM) {
      print(callers, measure(callers, Thread::new, ROUNDS, args));
    }
    if (virtual) {
      for (int callers : VIRTUAL) {
        Rounds rounds = callers == MANY ? LONG_ROUNDS : ROUNDS;
        print(callers, measure(callers, virtualThreads(), rounds, args));
      }
    }
    System.out.println(END);
    System.exit(0); // whatever threads the peers left behind
  }

  private static void print(int callers, Map<String, List<Run>> runs) {
    runs.forEach(
        (peer, rounds) -> {
          List<String> figures =
              rounds.stream().map(run -> Double.toString(run.perSecond())).toList();
          System.out.println(callers + "|" + peer + "|" + String.join(" ", figures));
        });
  }

  private static Map<String, List<Run>> measure(
      int callers, ThreadFactory threads, Rounds rounds, String... addresses) throws Exception {
    try (Comparison all = new Comparison()) {
      Peer redlock = new RedlockPeer(PATIENT, addresses);
      all.add(redlock, callers, threads);
      if (callers <= MOST_OF_CONNECTIONS) {
        all.add(new RedissonPeer(addresses), callers, List.of());
        all.add(new PoolsPeer(callers, addresses), callers, List.of());
      }
      if (callers <= MOST_OF_THREADS) {
        all.add(FloorPeer.perCaller(callers, addresses), callers, List.of());
      }
      all.add(FloorPeer.batched(callers, addresses), callers, List.of());
      if (callers == MANY) {
        all.add(FEW_THREADS, new ClosedLoop(redlock.cycles(FEW), Thread::new, List.of()));
      }
      return all.run(rounds);
    }
  }

  /** This class is compiled for Java 17, which has no virtual threads. */
  private static ThreadFactory virtualThreads() throws ReflectiveOperationException {
    Object builder = Thread.class.getMethod("ofVirtual").invoke(null);
    return (ThreadFactory)
        Class.forName("java.lang.Thread$Builder").getMethod("factory").invoke(builder);
  }
}
