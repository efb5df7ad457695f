package io.redlock.bench;

import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.redlock.Lease;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import io.redlock.bench.Peer.Cycle;
import io.redlock.micrometer.RedlockMetrics;
import io.redlock.testbed.RedisServers;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.IntFunction;
import java.util.stream.IntStream;
import org.redisson.api.RedissonClient;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.integration.redis.util.RedisLockRegistry;
import redis.clients.jedis.HostAndPort;

/**
 * Threads of one JVM that all want the same resource: a lease that is passed on, beside one that is
 * released and granted for each turn, since no two callers ask for the same ttl, and beside locks
 * of other libraries.
 */
record HotResource(Report report) {

  private static final Duration TTL = Duration.ofSeconds(20);
  private static final Duration WAIT = Duration.ofMinutes(1);
  private static final Duration WORK = Duration.ofNanos(20_000);
  private static final Duration AWAY = Duration.ofMillis(1);
  private static final Rounds ROUNDS = Rounds.ofMillis(5, 2_000, 3_000);

  private static final String PASSED = RedlockPeer.NAME;
  private static final String GRANTED = RedlockPeer.GRANTED;
  private static final String COUNTED = PASSED + ", with Micrometer";
  private static final String LOCAL = "new ReentrantLock(true)";

  /** What one round gave: turns, and the scripts that a master executed for each. */
  record Turns(double perSecond, double scripts) {

    static final List<Column<Turns>> COLUMNS =
        List.of(
            Column.median("turns/s", Turns::perSecond),
            Column.median("scripts a turn", Turns::scripts));
  }

  void run(Path docs) throws Exception {
    Plot plot = new Plot("One resource that threads of a process want", "turns per second");
    Map<String, List<Double>> lines = new LinkedHashMap<>();
    List<Integer> threads = List.of(2, 4, 64);
    try (RedisServers servers = RedisServers.start(5)) {
      for (int count : threads) {
        Map<String, List<Turns>> near = measure(count, Duration.ZERO, servers, servers.addresses());
        show(count + " threads want", near);
        near.forEach(
            (name, turns) ->
                lines
                    .computeIfAbsent(name, line -> new ArrayList<>())
                    .add(Ratio.median(turns, Turns::perSecond)));
        if (count == 2) {
          report.atLeast(
              3, "2 threads want one", "at least 3 x a grant a turn", ratio(near, GRANTED));
        } else {
          report.atLeast(
              0.25,
              count + " threads want one",
              "at least 0.25 x a local fair lock",
              ratio(near, LOCAL));
        }
      }
      show("64 threads want for 20 us", measure(64, WORK, servers, servers.addresses()));
      try (Distance far = Distance.of(AWAY)) {
        Map<String, List<Turns>> away = measure(64, Duration.ZERO, servers, far.addresses(servers));
        show("64 threads want, masters 1 ms away", away);
        double[] turns = away.get(PASSED).stream().mapToDouble(Turns::perSecond).toArray();
        report.atLeast(
            30_000,
            "64 threads want one, masters away",
            "at least 30,000 turns/s",
            Ratio.of(turns));
      }
    }
    List<String> places = threads.stream().map(count -> count + " threads").toList();
    lines.forEach((name, values) -> plot.line(name, places, values));
    plot.write(docs.resolve("hot.svg"));
  }

  private static Ratio ratio(Map<String, List<Turns>> results, String other) {
    return Ratio.of(results.get(PASSED), results.get(other), Turns::perSecond);
  }

  private void show(String who, Map<String, List<Turns>> results) {
    report.table(
        "One resource that " + who,
        "All are in one JVM. Scripts are those that one master executes.",
        results,
        Turns.COLUMNS);
  }

  private static Map<String, List<Turns>> measure(
      int threads, Duration work, RedisServers servers, String... addresses) throws Exception {
    RedissonPeer redlock = new RedissonPeer(addresses);
    RedissonClient single = RedissonPeer.client(addresses[0]);
    HostAndPort first = HostAndPort.from(addresses[0].replaceFirst(".*//", ""));
    LettuceConnectionFactory lettuce =
        new LettuceConnectionFactory(first.getHost(), first.getPort());
    lettuce.afterPropertiesSet();
    lettuce.start();
    Redlock service = RedlockPeer.settings(addresses).build();
    Redlock counted =
        RedlockPeer.settings(addresses)
            .listener(RedlockMetrics.of(new SimpleMeterRegistry()))
            .build();
    try {
      Lock local = new ReentrantLock(true);
      RedisLockRegistry registry = new RedisLockRegistry(lettuce, "hot", TTL.toMillis());
      Map<String, IntFunction<Cycle>> cycles = new LinkedHashMap<>();
      cycles.put(PASSED, caller -> cycle(service, TTL, work));
      cycles.put(GRANTED, caller -> cycle(service, TTL.plusMillis(1 + caller), work));
      cycles.put(COUNTED, caller -> cycle(counted, TTL, work));
      cycles.put(LOCAL, caller -> cycle(local, work));
      cycles.put("Redisson RLock, one master", caller -> cycle(single.getLock("hot/one"), work));
      cycles.put("Spring Integration, one master", caller -> cycle(registry.obtain("hot"), work));
      if (work.isZero()) {
        cycles.put(RedissonPeer.NAME, caller -> redlock.cycle("hot", WAIT));
      }
      Map<String, Rounds.Measured<Turns>> peers = new LinkedHashMap<>();
      cycles.forEach((name, cycle) -> peers.put(name, turns(threads, cycle, servers)));
      return ROUNDS.run(peers);
    } finally {
      service.close();
      counted.close();
      redlock.close();
      lettuce.destroy();
      RedissonPeer.close(single);
    }
  }

  /** Lets so many callers take turns, each with a cycle of its own. */
  static Rounds.Measured<Turns> turns(
      int callers, IntFunction<Cycle> cycles, RedisServers servers) {
    ClosedLoop loop =
        new ClosedLoop(
            IntStream.range(0, callers).mapToObj(cycles).toList(), Thread::new, List.of());
    return time -> {
      long before = servers.get(0).calls("evalsha");
      ClosedLoop.Run run = loop.run(time);
      double scripts = servers.get(0).calls("evalsha") - before;
      return new Turns(run.perSecond(), scripts / Math.max(1, run.cycles()));
    };
  }

  private static Cycle cycle(Redlock redlock, Duration ttl, Duration work) {
    LeaseRequest request = LeaseRequest.of("hot", ttl).waitUpTo(WAIT);
    return () -> {
      Lease lease = redlock.acquire(request);
      work(work);
      lease.close();
      return 1;
    };
  }

  private static Cycle cycle(Lock lock, Duration work) {
    return () -> {
      lock.lock();
      work(work);
      lock.unlock();
      return 1;
    };
  }

  private static void work(Duration work) {
    long startNanos = System.nanoTime();
    while (System.nanoTime() - startNanos < work.toNanos()) {
      Thread.onSpinWait();
    }
  }
}
