package io.redlock.bench;

import io.redlock.AcquireResult;
import io.redlock.Lease;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import io.redlock.testbed.RedisServers;
import io.redlock.testbed.Text;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.HdrHistogram.Histogram;

/**
 * What a turn costs: from the release of one client to the acquire of the next, beside an acquire
 * that nobody contends for.
 */
record WaitingTurns(Report report) {

  private static final Duration TTL = Duration.ofSeconds(20);
  private static final Duration AWAY = Duration.ofMillis(1);

  /** Whoever has rested pays for woken processors and cold caches, in an acquire as in a turn. */
  private static final long PAUSE_MILLIS = 5;

  void run() throws Exception {
    try (RedisServers servers = RedisServers.start(5)) {
      List<Redlock> clients = new ArrayList<>();
      try (Distance far = Distance.of(AWAY)) {
        for (String[] way : List.of(servers.addresses(), far.addresses(servers))) {
          clients.add(RedlockPeer.settings(way).build());
          clients.add(RedlockPeer.settings(way).build());
        }
        Turns near = Turns.take(clients.subList(0, 2), 5, 300);
        show(near, Turns.take(clients.subList(2, 4), 3, 100));
        clients.subList(2, 4).forEach(Redlock::close); // before the proxies
      } finally {
        clients.forEach(Redlock::close);
      }
    }
  }

  private void show(Turns near, Turns far) {
    report.table(
        "Waiting in turn",
        Text.of(
            """
        Two fair clients in one JVM pass a resource back and forth; medians of the last round. On \
        loopback the processors are the limit. With masters %d ms away, each way, the network is \
        the limit: a turn takes two round trips, an acquire one.""",
            AWAY.toMillis()),
        List.of("", "on loopback", "masters away"),
        List.of(
            row("uncontended acquire, right after another cycle", near.alone, far.alone),
            row(
                "uncontended acquire, after " + PAUSE_MILLIS + " ms of rest",
                near.rested,
                far.rested),
            row(
                "release, after the same rest, to the next holder's acquire",
                near.handed,
                far.handed),
            List.of(
                "the same, over an acquire right after another cycle",
                near.overAlone().toString(),
                far.overAlone().toString()),
            List.of(
                "the same, over an acquire after the rest",
                near.overRested().toString(),
                far.overRested().toString())));
    target("", "after the same rest", near.overRested());
    target(", masters away", "right after another cycle", far.overAlone());
  }

  private void target(String where, String when, Ratio ratio) {
    report.atMost(
        3,
        "fair mode, from a release to the next acquire" + where,
        "median at most 3 x an uncontended acquire " + when,
        ratio);
  }

  private static List<String> row(String what, List<Long> near, List<Long> far) {
    return List.of(what, micros(near), micros(far));
  }

  private static String micros(List<Long> medianNanos) {
    return medianNanos.get(medianNanos.size() - 1) / 1_000 + " µs";
  }

  /** The medians of each round, in nanoseconds. */
  private record Turns(List<Long> alone, List<Long> rested, List<Long> handed) {

    static Turns take(List<Redlock> clients, int rounds, int turns) throws Exception {
      Turns taken = new Turns(new ArrayList<>(), new ArrayList<>(), new ArrayList<>());
      for (int round = -1; round < rounds; round++) { // the first is a warm-up
        Histogram alone = new Histogram(3);
        Histogram rested = new Histogram(3);
        Histogram handed = new Histogram(3);
        for (int turn = 0; turn < turns; turn++) {
          int number = 2 * (round * turns + turn);
          alone.recordValue(acquireAlone(clients.get(0), number));
          Thread.sleep(PAUSE_MILLIS);
          rested.recordValue(acquireAlone(clients.get(0), number + 1));
          handed.recordValue(handOver(clients.get(turn % 2), clients.get(1 - turn % 2)));
        }
        if (round >= 0) {
          taken.alone.add(alone.getValueAtPercentile(50));
          taken.rested.add(rested.getValueAtPercentile(50));
          taken.handed.add(handed.getValueAtPercentile(50));
        }
      }
      return taken;
    }

    Ratio overAlone() {
      return Ratio.of(handed, alone, Long::doubleValue);
    }

    Ratio overRested() {
      return Ratio.of(handed, rested, Long::doubleValue);
    }
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
    LeaseRequest fair = LeaseRequest.of("waiting", TTL).waitUpTo(TTL).fair();
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
}
