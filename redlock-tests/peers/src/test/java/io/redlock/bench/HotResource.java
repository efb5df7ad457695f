package io.redlock.bench;

import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import io.redlock.bench.Peer.Cycle;
import io.redlock.testbed.RedisServers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.IntFunction;
import java.util.stream.IntStream;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;

/**
 * Threads of one JVM that all want the same resource, and hold it for no time: a lease that is
 * passed on, beside one that is released and granted for each turn, since no two callers ask for
 * the same ttl, and beside locks of other libraries.
 */
record HotResource(Report report) {

  private static final Duration TTL = Duration.ofSeconds(20);
  private static final Duration WAIT = Duration.ofMinutes(1);
  private static final Duration AWAY = Duration.ofMillis(1);
  private static final Rounds ROUNDS = Rounds.ofMillis(5, 2_000, 3_000);

  private static final String PASSED = "Redlock for Java";
  private static final String GRANTED = PASSED + ", a grant a turn";
  private static final String LOCAL = "new ReentrantLock(true)";

  /** What one round gave: turns, and the scripts that a master executed for each. */
  record Turns(double perSecond, double scripts) {

    static final List<Column<Turns>> COLUMNS =
        List.of(
            Column.median("turns/s", Turns::perSecond),
            Column.median("scripts a turn", Turns::scripts));
  }

  void run() throws Exception {
    try (RedisServers servers = RedisServers.start(5)) {
      for (int threads : new int[] {64, 4, 2}) {
        Map<String, List<Turns>> near = measure(threads, servers, servers.addresses());
        show(threads + " threads", near);
        Ratio beside = ratio(near, LOCAL);
        if (threads == 2) {
          report.atLeast(
              3, "2 threads want one", "at least 3 x a grant a turn", ratio(near, GRANTED));
        } else {
          report.atLeast(
              0.25, threads + " threads want one", "at least 0.25 x a local fair lock", beside);
        }
      }
      try (Distance far = Distance.of(AWAY)) {
        Map<String, List<Turns>> away = measure(64, servers, far.addresses(servers));
        show("64 threads, masters 1 ms away", away);
        double[] turns = away.get(PASSED).stream().mapToDouble(Turns::perSecond).toArray();
        report.atLeast(
            30_000,
            "64 threads want one, masters away",
            "at least 30,000 turns/s",
            Ratio.of(turns));
      }
    }
  }

  private static Ratio ratio(Map<String, List<Turns>> results, String other) {
    return Ratio.of(results.get(PASSED), results.get(other), Turns::perSecond);
  }

  private void show(String who, Map<String, List<Turns>> results) {
    report.table(
        "One resource that " + who + " want",
        "All are in one JVM, and release it at once. Scripts are those that one master executes.",
        results,
        Turns.COLUMNS);
  }

  private static Map<String, List<Turns>> measure(
      int threads, RedisServers servers, String... addresses) throws Exception {
    RedissonPeer redlock = new RedissonPeer(addresses);
    RedissonClient single = RedissonPeer.client(addresses[0]);
    Redlock service = RedlockPeer.settings(addresses).build();
    try {
      Map<String, IntFunction<Cycle>> peers = new LinkedHashMap<>();
      Lock local = new ReentrantLock(true);
      peers.put(PASSED, caller -> cycle(service, TTL));
      peers.put(GRANTED, caller -> cycle(service, TTL.plusMillis(1 + caller)));
      peers.put(LOCAL, caller -> cycle(local));
      peers.put("Redisson RLock, one master", caller -> cycle(single.getLock("hot/one")));
      peers.put(RedissonPeer.NAME, caller -> redlock.cycle("hot", WAIT));
      Map<String, List<Turns>> results = new LinkedHashMap<>();
      for (int round = -1; round < ROUNDS.count(); round++) { // the first is a warm-up
        for (Map.Entry<String, IntFunction<Cycle>> peer : peers.entrySet()) {
          List<Cycle> cycles = IntStream.range(0, threads).mapToObj(peer.getValue()).toList();
          Duration time = round < 0 ? ROUNDS.warmUp() : ROUNDS.each();
          Turns turns = turns(new ClosedLoop(cycles, Thread::new, List.of()), time, servers);
          if (round >= 0) {
            results.computeIfAbsent(peer.getKey(), name -> new ArrayList<>()).add(turns);
          }
        }
      }
      return results;
    } finally {
      service.close();
      redlock.close();
      RedissonPeer.close(single);
    }
  }

  private static Turns turns(ClosedLoop loop, Duration time, RedisServers servers)
      throws Exception {
    long before = WaitingTurns.scripts(servers.get(0));
    ClosedLoop.Run run = loop.run(time);
    double scripts = WaitingTurns.scripts(servers.get(0)) - before;
    return new Turns(run.perSecond(), scripts / Math.max(1, run.cycles()));
  }

  private static Cycle cycle(Redlock redlock, Duration ttl) {
    LeaseRequest request = LeaseRequest.of("hot", ttl).waitUpTo(WAIT);
    return () -> {
      redlock.acquire(request).close();
      return 1;
    };
  }

  private static Cycle cycle(Lock lock) {
    return () -> {
      lock.lock();
      lock.unlock();
      return 1;
    };
  }

  private static Cycle cycle(RLock lock) {
    return () -> {
      lock.lock(TTL.toSeconds(), TimeUnit.SECONDS);
      lock.unlock();
      return 1;
    };
  }
}
