package io.redlock.bench;

import io.redlock.Lease;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import io.redlock.bench.ClosedLoop.Run;
import io.redlock.testbed.RedisServers;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.IntFunction;
import java.util.stream.IntStream;
import org.redisson.api.RLock;
import org.redisson.api.RReadWriteLock;
import org.redisson.api.RedissonClient;

/** Shared leases beside exclusive ones, and beside the read-write lock of Redisson. */
record Readers(Report report) {

  private static final Duration TTL = Duration.ofSeconds(30);
  private static final Rounds ROUNDS = Rounds.ofMillis(5, 1_000, 2_000);
  private static final List<Integer> CALLERS = List.of(1, 8, 64);

  private static final String EXCLUSIVE = "exclusive leases";
  private static final String SHARED = "shared leases";
  private static final String SHARED_NAME = "shared leases, one name for all";

  /** Locks, and returns what unlocks. */
  private interface Locking {
    AutoCloseable lock(String name) throws Exception;
  }

  void run() throws Exception {
    try (RedisServers one = RedisServers.start(1);
        RedisServers five = RedisServers.start(5);
        Redlock onOne = RedlockPeer.settings(one.addresses()).build();
        Redlock onFive = RedlockPeer.settings(five.addresses()).build()) {
      RedissonClient redisson = RedissonPeer.client(one.get(0).address());
      try {
        for (int callers : CALLERS) {
          cycles(callers, one, onOne, redisson, five, onFive);
        }
      } finally {
        RedissonPeer.close(redisson);
      }
    }
  }

  private static Locking leases(Redlock redlock, boolean shared) {
    return name -> {
      LeaseRequest request = LeaseRequest.of(name, TTL);
      Lease lease = redlock.acquire(shared ? request.shared() : request);
      return lease::release;
    };
  }

  private static Locking locks(RedissonClient redisson, boolean reads) {
    return name -> {
      RReadWriteLock both = redisson.getReadWriteLock("redisson/" + name);
      RLock lock = reads ? both.readLock() : both.writeLock();
      if (!lock.tryLock(0, TTL.toMillis(), TimeUnit.MILLISECONDS)) {
        throw new IllegalStateException("not locked, though nobody else wants it");
      }
      return lock::unlock;
    };
  }

  private void cycles(
      int callers,
      RedisServers one,
      Redlock onOne,
      RedissonClient redisson,
      RedisServers five,
      Redlock onFive)
      throws Exception {
    IntFunction<String> own = caller -> "bench/own/" + caller;
    IntFunction<String> same = caller -> "bench/same";
    Locking reader = leases(onOne, true);
    Map<String, ClosedLoop> loops = new LinkedHashMap<>();
    loops.put(EXCLUSIVE, loop(callers, own, leases(onOne, false), one));
    loops.put(SHARED, loop(callers, own, reader, one));
    loops.put(SHARED_NAME, loop(callers, same, reader, one));
    loops.put("Redisson, write locks", loop(callers, own, locks(redisson, false), one));
    loops.put("Redisson, read locks", loop(callers, own, locks(redisson, true), one));
    loops.put("Redisson, read locks, one name", loop(callers, same, locks(redisson, true), one));
    loops.put("exclusive leases, 5 masters", loop(callers, own, leases(onFive, false), five));
    loops.put("shared leases, 5 masters", loop(callers, own, leases(onFive, true), five));
    Map<String, List<Run>> runs = ROUNDS.run(loops);
    report.table(
        "Readers, " + Report.callers(callers),
        "Cycles on one master, if nothing else is said; each caller has a name of its own. With"
            + " Redisson an `RReadWriteLock`.",
        runs,
        List.of(
            Column.PER_SECOND,
            Column.over("over exclusive leases", runs.get(EXCLUSIVE), Run::perSecond),
            Column.P50,
            Column.P99,
            Column.CLIENT,
            Column.SERVERS));
  }

  private static ClosedLoop loop(
      int callers, IntFunction<String> names, Locking locking, RedisServers servers) {
    List<Peer.Cycle> cycles =
        IntStream.range(0, callers).mapToObj(i -> cycle(locking, names.apply(i))).toList();
    return new ClosedLoop(cycles, Thread::new, Comparison.pids(servers));
  }

  private static Peer.Cycle cycle(Locking locking, String name) {
    return () -> {
      locking.lock(name).close();
      return 1;
    };
  }
}
