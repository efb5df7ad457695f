package io.redlock.bench;

import io.redlock.AcquireResult;
import io.redlock.Lease;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import io.redlock.jedis.JedisRedlock;
import io.redlock.testkit.RedisServer;
import io.redlock.testkit.RedisServers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * What a turn costs: from the release of one client to the acquire of the next, beside an acquire
 * that nobody contends for, and how many scripts the masters execute for it.
 */
final class Waiting {

  private static final Duration TTL = Duration.ofSeconds(20);
  private static final int TURNS = 300;

  /** Whoever has rested pays for woken processors and cold caches, in an acquire as in a turn. */
  private static final long PAUSE_MILLIS = 5;

  private static final int CONTENDED_TURNS = 2_000;

  private final Report report;

  Waiting(Report report) {
    this.report = report;
  }

  void run() throws Exception {
    try (RedisServers servers = RedisServers.start(5)) {
      List<Redlock> clients = new ArrayList<>();
      try {
        for (int i = 0; i < 16; i++) {
          clients.add(
              JedisRedlock.builder()
                  .node(String.join(",", servers.addresses()))
                  .nodeTimeout(Uncontended.PATIENT)
                  .build());
        }
        handOver(clients);
        count(clients, servers);
      } finally {
        clients.forEach(Redlock::close);
      }
    }
  }

  private void handOver(List<Redlock> clients) throws Exception {
    long[] alone = new long[TURNS];
    long[] rested = new long[TURNS];
    long[] handed = new long[TURNS];
    double[] ratios = new double[5];
    for (int round = -1; round < ratios.length; round++) { // the first is a warm-up
      for (int turn = 0; turn < TURNS; turn++) {
        int number = 2 * (round * TURNS + turn);
        alone[turn] = acquireAlone(clients.get(0), number);
        Thread.sleep(PAUSE_MILLIS);
        rested[turn] = acquireAlone(clients.get(0), number + 1);
        handed[turn] = handOver(clients.get(turn % 2), clients.get(1 - turn % 2));
      }
      if (round >= 0) {
        ratios[round] = (double) median(handed) / median(rested);
      }
    }
    report.table(
        "Waiting in turn",
        "Two fair clients in one JVM hand a resource to and fro; median of the last "
            + TURNS
            + " turns.",
        List.of("", "median"),
        List.of(
            List.of("uncontended acquire, right after another cycle", micros(alone)),
            List.of("uncontended acquire, after " + PAUSE_MILLIS + " ms of rest", micros(rested)),
            List.of("release, after the same rest, to the next holder's acquire", micros(handed))));
    Ratio ratio = Ratio.of(ratios);
    report.target(
        "fair mode, from a release to the next acquire",
        "median at most 3 x an uncontended acquire after the same rest",
        ratio,
        ratio.median() <= 3);
  }

  private static long acquireAlone(Redlock client, int number) throws Exception {
    LeaseRequest request = LeaseRequest.of("waiting/" + number, TTL);
    long start = System.nanoTime();
    Lease lease = client.acquire(request);
    long nanos = System.nanoTime() - start;
    lease.release();
    return nanos;
  }

  private static long handOver(Redlock from, Redlock to) throws Exception {
    LeaseRequest fair = LeaseRequest.of("waiting", TTL).waitUpTo(TTL).fairly();
    Lease held = from.acquire(fair);
    CompletableFuture<Long> acquired = new CompletableFuture<>();
    CompletableFuture<AcquireResult> waiting = to.acquireAsync(fair);
    waiting.thenAccept(result -> acquired.complete(System.nanoTime()));
    Thread.sleep(PAUSE_MILLIS); // it waits, and listens
    long start = System.nanoTime();
    held.close();
    long nanos = acquired.join() - start;
    waiting.join().lease().orElseThrow().release();
    return nanos;
  }

  private static String micros(long[] nanos) {
    return median(nanos) / 1_000 + " µs";
  }

  private static long median(long[] nanos) {
    long[] sorted = nanos.clone();
    Arrays.sort(sorted);
    return sorted[sorted.length / 2];
  }

  private void count(List<Redlock> clients, RedisServers servers) throws Exception {
    List<List<String>> rows = new ArrayList<>();
    for (int waiters : new int[] {2, 4, 8, 16}) {
      for (boolean fair : new boolean[] {true, false}) {
        rows.add(contend(clients.subList(0, waiters), fair, servers));
      }
    }
    report.table(
        "Scripts per turn",
        "So many clients in one JVM want the same resource and hold it for no time; scripts that"
            + " one master executes per turn.",
        List.of("clients", "mode", "turns/s", "scripts per turn"),
        rows);
  }

  private static List<String> contend(List<Redlock> clients, boolean fair, RedisServers servers)
      throws Exception {
    LeaseRequest plain = LeaseRequest.of("contended", TTL).waitUpTo(Duration.ofMinutes(2));
    LeaseRequest request = fair ? plain.fairly() : plain;
    long before = scripts(servers.get(0));
    long start = System.nanoTime();
    List<Thread> threads = new ArrayList<>();
    for (Redlock client : clients) {
      Thread thread =
          new Thread(
              () -> {
                for (int turn = 0; turn < CONTENDED_TURNS / clients.size(); turn++) {
                  client
                      .acquireAsync(request)
                      .thenCompose(result -> result.lease().orElseThrow().releaseAsync())
                      .join();
                }
              });
      thread.start();
      threads.add(thread);
    }
    for (Thread thread : threads) {
      thread.join();
    }
    double seconds = (System.nanoTime() - start) / 1e9;
    double scripts = scripts(servers.get(0)) - before;
    return List.of(
        Integer.toString(clients.size()),
        fair ? "fair" : "backoff",
        Report.number(CONTENDED_TURNS / seconds),
        String.format(java.util.Locale.ROOT, "%.1f", scripts / CONTENDED_TURNS));
  }

  private static long scripts(RedisServer server) {
    return String.valueOf(server.command("INFO", "commandstats"))
        .lines()
        .filter(line -> line.startsWith("cmdstat_evalsha:"))
        .mapToLong(line -> Long.parseLong(line.replaceAll("cmdstat_evalsha:calls=(\\d+),.*", "$1")))
        .sum();
  }
}
