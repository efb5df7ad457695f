package io.redlock.bench;

import io.redlock.Lease;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import io.redlock.bench.ClosedLoop.Run;
import io.redlock.testbed.RedisServer;
import io.redlock.testbed.RedisServers;
import io.redlock.testbed.Text;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.IntFunction;
import java.util.stream.IntStream;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;

/**
 * Shared leases beside exclusive ones, and beside the read-write lock of Redisson on one master;
 * what readers leave on a master, and how long they keep a writer out.
 */
record Readers(Report report) {

  private static final Duration TTL = Duration.ofSeconds(30);
  private static final Duration WAIT = Duration.ofMinutes(1);
  private static final Duration PATIENCE = Duration.ofSeconds(3);
  private static final Duration RENEWED = Duration.ofSeconds(3); // every second
  private static final Rounds ROUNDS = Rounds.ofMillis(5, 1_000, 2_000);
  private static final List<Integer> CALLERS = List.of(1, 8, 64);
  private static final int CROWD = 64;
  private static final int MANY = 1_000;
  private static final int TURNS = 10;
  private static final long HOLD_MILLIS = 2_000;

  private static final String EXCLUSIVE = "exclusive leases";
  private static final String SHARED = "shared leases";
  private static final String SHARED_NAME = "shared leases, one name for all";

  /** Tries to lock for so long at most; returns what unlocks it, or nothing. */
  private interface Locking {
    Optional<AutoCloseable> tryLock(String name, Duration wait) throws Exception;
  }

  void run() throws Exception {
    try (RedisServers one = RedisServers.start(1);
        RedisServers five = RedisServers.start(5);
        Redlock onOne = RedlockPeer.settings(one.addresses()).build();
        Redlock other = RedlockPeer.settings(one.addresses()).build();
        Redlock onFive = RedlockPeer.settings(five.addresses()).build()) {
      RedissonClient redisson = RedissonPeer.client(one.get(0).address());
      try {
        for (int callers : CALLERS) {
          cycles(callers, one, onOne, redisson, five, onFive);
        }
        memory(onOne, one.get(0));
        waits(onOne, other, redisson);
      } finally {
        RedissonPeer.close(redisson);
      }
    }
  }

  private static Locking leases(Redlock redlock, boolean shared, boolean fair) {
    return (name, wait) -> {
      LeaseRequest request = LeaseRequest.of(name, TTL).waitUpTo(wait);
      request = shared ? request.shared() : request;
      return redlock
          .tryAcquire(fair ? request.fair() : request)
          .lease()
          .map(lease -> lease::release);
    };
  }

  private static Locking locks(RedissonClient redisson, boolean reads) {
    return (name, wait) -> {
      RLock lock =
          reads
              ? redisson.getReadWriteLock("redisson/" + name).readLock()
              : redisson.getReadWriteLock("redisson/" + name).writeLock();
      return lock.tryLock(wait.toMillis(), TTL.toMillis(), TimeUnit.MILLISECONDS)
          ? Optional.of(lock::unlock)
          : Optional.empty();
    };
  }

  // Cycles.

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
    Locking reader = leases(onOne, true, false);
    Map<String, ClosedLoop> loops = new LinkedHashMap<>();
    loops.put(EXCLUSIVE, loop(callers, own, leases(onOne, false, false), one));
    loops.put(SHARED, loop(callers, own, reader, one));
    loops.put(SHARED_NAME, loop(callers, same, reader, one));
    loops.put("Redisson, write locks", loop(callers, own, locks(redisson, false), one));
    loops.put("Redisson, read locks", loop(callers, own, locks(redisson, true), one));
    loops.put("Redisson, read locks, one name", loop(callers, same, locks(redisson, true), one));
    loops.put(
        "exclusive leases, 5 masters", loop(callers, own, leases(onFive, false, false), five));
    loops.put("shared leases, 5 masters", loop(callers, own, leases(onFive, true, false), five));
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
      locking.tryLock(name, Duration.ZERO).orElseThrow().close();
      return 1;
    };
  }

  // Memory.

  private void memory(Redlock redlock, RedisServer master) throws Exception {
    String name = "bench/memory";
    List<Lease> leases = new ArrayList<>();
    for (int i = 0; i < MANY; i++) {
      leases.add(redlock.acquire(LeaseRequest.of(name, TTL).shared()));
    }
    long held = bytes(master, name);
    for (Lease lease : leases) {
      lease.release();
    }
    report.table(
        "Memory of readers",
        Text.of("Of one name with %,d readers on a master, as it counts them.", MANY),
        List.of("", "bytes", "bytes per reader"),
        List.of(
            memory("while they read", held), memory("when they have ended", bytes(master, name))));
  }

  private static List<String> memory(String when, long bytes) {
    return List.of(when, Report.number(bytes), Report.number(bytes / (double) MANY));
  }

  private static long bytes(RedisServer master, String name) {
    long bytes = 0;
    for (String key :
        List.of(
            name, "redlock:fence:" + name, "redlock:readers:" + name, "redlock:floor:" + name)) {
      Object usage = master.command("MEMORY", "USAGE", key, "SAMPLES", "0");
      bytes += usage == null ? 0 : (Long) usage;
    }
    return bytes;
  }

  // A writer's wait.

  private void waits(Redlock readers, Redlock writer, RedissonClient redisson) throws Exception {
    Locking reads = renewing(readers);
    List<List<String>> rows = new ArrayList<>();
    rows.add(waits("exclusive leases, `fair()`", reads, leases(writer, false, true), WAIT));
    rows.add(waits(EXCLUSIVE, reads, leases(writer, false, false), PATIENCE));
    rows.add(
        waits("Redisson, write lock", locks(redisson, true), locks(redisson, false), PATIENCE));
    report.table(
        "A writer behind " + CROWD + " readers",
        Text.of(
            """
        Each reader holds for up to %d ms, and asks again at once. Writers that are not fair give \
        up after %d s. Leases of readers are renewed.""",
            HOLD_MILLIS, PATIENCE.toSeconds()),
        List.of("", "of " + TURNS + " turns", "median wait (ms)", "longest (ms)"),
        rows);
  }

  private static Locking renewing(Redlock redlock) {
    return (name, wait) ->
        redlock
            .tryAcquire(LeaseRequest.of(name, RENEWED).shared().waitUpTo(wait).renewFor(WAIT))
            .lease()
            .map(lease -> lease::release);
  }

  private static List<String> waits(String what, Locking reads, Locking writes, Duration patience)
      throws Exception {
    String name = "bench/waits/" + what;
    AtomicBoolean over = new AtomicBoolean();
    List<CompletableFuture<Void>> crowd =
        IntStream.range(0, CROWD)
            .mapToObj(
                i ->
                    CompletableFuture.runAsync(
                        () -> read(reads, name, over), task -> new Thread(task).start()))
            .toList();
    Thread.sleep(2 * HOLD_MILLIS);
    Times waits = new Times();
    for (int turn = 0; turn < TURNS; turn++) {
      long startNanos = System.nanoTime();
      Optional<AutoCloseable> held = writes.tryLock(name, patience);
      if (held.isPresent()) {
        waits.addSince(startNanos);
        held.get().close();
      }
      Thread.sleep(2 * HOLD_MILLIS); // they read again
    }
    over.set(true);
    crowd.forEach(CompletableFuture::join);
    return List.of(what, "" + waits.count(), waits.millis(50), waits.millis(100));
  }

  private static void read(Locking reads, String name, AtomicBoolean over) {
    try {
      while (!over.get()) {
        Optional<AutoCloseable> held = reads.tryLock(name, WAIT);
        if (held.isPresent()) {
          Thread.sleep(ThreadLocalRandom.current().nextLong(HOLD_MILLIS));
          held.get().close();
        }
      }
    } catch (Exception e) {
      throw new IllegalStateException("a reader failed", e);
    }
  }
}
