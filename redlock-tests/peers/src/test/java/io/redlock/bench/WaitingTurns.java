package io.redlock.bench;

import io.redlock.AcquireResult;
import io.redlock.Lease;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import io.redlock.bench.Peer.Cycle;
import io.redlock.testbed.RedisServers;
import io.redlock.testbed.Text;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * What a turn costs: from the release of one client to the acquire of the next, beside an acquire
 * that nobody contends for, and how many scripts the masters execute for it.
 */
record WaitingTurns(Report report) {

  private static final Duration TTL = Duration.ofSeconds(20);
  private static final Duration AWAY = Duration.ofMillis(1);

  /** Whoever has rested pays for woken processors and cold caches, in an acquire as in a turn. */
  private static final long PAUSE_MILLIS = 5;

  private static final Rounds CONTENDED = Rounds.ofMillis(1, 2_000, 0);

  void run() throws Exception {
    try (RedisServers servers = RedisServers.start(5)) {
      List<Redlock> clients = new ArrayList<>();
      try (Distance far = Distance.of(AWAY)) {
        for (int i = 0; i < 16; i++) {
          clients.add(RedlockPeer.settings(servers.addresses()).build());
        }
        Turns near = Turns.take(clients.subList(0, 2), 5, 300);
        count(clients, servers);
        String[] away = far.addresses(servers);
        for (int i = 0; i < 2; i++) {
          clients.add(RedlockPeer.settings(away).build());
        }
        show(near, Turns.take(clients.subList(16, 18), 3, 100));
        clients.subList(16, 18).forEach(Redlock::close); // before the proxies
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
        Times alone = new Times();
        Times rested = new Times();
        Times handed = new Times();
        for (int turn = 0; turn < turns; turn++) {
          int number = 2 * (round * turns + turn);
          alone.add(acquireAlone(clients.get(0), number));
          Thread.sleep(PAUSE_MILLIS);
          rested.add(acquireAlone(clients.get(0), number + 1));
          handed.add(handOver(clients.get(turn % 2), clients.get(1 - turn % 2)));
        }
        if (round >= 0) {
          taken.alone.add(alone.medianNanos());
          taken.rested.add(rested.medianNanos());
          taken.handed.add(handed.medianNanos());
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

  private void count(List<Redlock> clients, RedisServers servers) throws Exception {
    List<List<String>> rows = new ArrayList<>();
    for (int waiters : new int[] {2, 4, 8, 16}) {
      for (boolean fair : new boolean[] {true, false}) {
        rows.add(contend(clients.subList(0, waiters), fair, servers));
      }
    }
    report.table(
        "Scripts per turn",
        "Clients in one JVM contend for one resource and release it at once. Scripts are those that"
            + " one master executes per turn.",
        List.of("clients", "mode", "turns/s", "scripts per turn"),
        rows);
  }

  private static List<String> contend(List<Redlock> clients, boolean fair, RedisServers servers)
      throws Exception {
    LeaseRequest plain = LeaseRequest.of("contended", TTL).waitUpTo(Duration.ofMinutes(2));
    LeaseRequest request = fair ? plain.fair() : plain;
    HotResource.Turns turns =
        HotResource.turns(clients.size(), i -> cycle(clients.get(i), request), servers)
            .run(CONTENDED.each());
    return List.of(
        Integer.toString(clients.size()),
        fair ? "fair" : "backoff",
        Report.number(turns.perSecond()),
        Text.of("%.1f", turns.scripts()));
  }

  private static Cycle cycle(Redlock client, LeaseRequest request) {
    return () -> {
      client
          .acquireAsync(request)
          .thenCompose(result -> result.lease().orElseThrow().releaseAsync())
          .join();
      return 1;
    };
  }
}
