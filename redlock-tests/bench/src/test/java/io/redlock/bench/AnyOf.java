package io.redlock.bench;

import io.redlock.Lease;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import io.redlock.jedis.JedisRedlock;
import io.redlock.testbed.RedisServer;
import io.redlock.testbed.RedisServers;
import io.redlock.testkit.GateProxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.redisson.Redisson;
import org.redisson.api.RSemaphore;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/**
 * How long a permit of several takes: with {@code anyOf}, by trying name after name, and with a
 * counting semaphore of Redisson on one master. Masters are 1 ms away, each way, so the time tells
 * the round trips: half as many as milliseconds.
 */
final class AnyOf {

  private static final Duration TTL = Duration.ofSeconds(30);
  private static final Duration HOLD = Duration.ofHours(1);
  private static final Duration AWAY = Duration.ofMillis(1);
  private static final int TURNS = 200;
  private static final int HAND_OVERS = 40;
  private static final int CROWD = 16;
  private static final List<String> HEAD =
      List.of(
          "permits, occupied",
          "`anyOf`, p50 (ms)",
          "p99",
          "name after name, p50",
          "p99",
          "`RSemaphore`, p50",
          "p99");

  private final Report report;
  private final List<GateProxy> proxies = new ArrayList<>();

  AnyOf(Report report) {
    this.report = report;
  }

  void run() throws Exception {
    try (RedisServers servers = RedisServers.start(5);
        RedisServers single = RedisServers.startBrandNew(1);
        Redlock holder = connect(servers.addresses());
        Redlock seeker = connect(away(servers))) {
      RedissonClient redisson = redisson(away(single)[0]);
      RedissonClient other = redisson(single.addresses()[0]);
      try {
        crowds(holder, servers);
        List<List<String>> rows = new ArrayList<>();
        for (int permits : List.of(2, 10, 100)) {
          for (int percent : List.of(50, 90, 100)) {
            rows.add(row(permits, permits * percent / 100, holder, seeker, redisson));
          }
          rows.add(handOvers(permits, holder, seeker, other, redisson));
        }
        report.print("One of several, masters 1 ms away", HEAD, rows);
      } finally {
        redisson.shutdown(0, 5, TimeUnit.SECONDS);
        other.shutdown(0, 5, TimeUnit.SECONDS);
        proxies.forEach(GateProxy::close);
      }
    }
  }

  private String[] away(RedisServers servers) {
    List<String> addresses = new ArrayList<>();
    for (RedisServer server : servers) {
      GateProxy proxy = GateProxy.to(server);
      proxies.add(proxy);
      proxy.requests().delay(AWAY);
      proxy.replies().delay(AWAY);
      addresses.add(proxy.address());
    }
    return addresses.toArray(String[]::new);
  }

  private static Redlock connect(String... addresses) {
    return JedisRedlock.builder()
        .node(String.join(",", addresses))
        .nodeTimeout(Uncontended.PATIENT)
        .build();
  }

  private static RedissonClient redisson(String address) {
    Config config = new Config();
    config
        .useSingleServer()
        .setAddress(address.startsWith("redis://") ? address : "redis://" + address);
    return Redisson.create(config);
  }

  /** An acquire, or a refusal, while so many of the permits are held elsewhere. */
  private List<String> row(
      int permits, int held, Redlock holder, Redlock seeker, RedissonClient redisson)
      throws Exception {
    String pool = "pool-" + permits + "-" + held + "/";
    List<String> names = IntStream.range(0, permits).mapToObj(i -> pool + i).toList();
    List<Lease> leases = new ArrayList<>();
    for (String name : names.subList(0, held)) {
      leases.add(holder.acquire(LeaseRequest.of(name, TTL).renewFor(HOLD)));
    }
    LeaseRequest any = LeaseRequest.anyOf(names, TTL);
    RSemaphore semaphore = redisson.getSemaphore(pool);
    semaphore.trySetPermits(permits - held);
    List<String> row = new ArrayList<>();
    row.add(permits + ", " + held);
    row.addAll(times(() -> seeker.tryAcquire(any).lease().orElse(null), Lease::close));
    row.addAll(times(() -> oneByOne(seeker, names), Lease::close));
    row.addAll(times(() -> semaphore.tryAcquire() ? semaphore : null, RSemaphore::release));
    for (Lease lease : leases) {
      lease.release();
    }
    return row;
  }

  private static Lease oneByOne(Redlock seeker, List<String> names) throws Exception {
    List<String> order = new ArrayList<>(names);
    Collections.shuffle(order);
    for (String name : order) {
      Lease lease = seeker.tryAcquire(name, TTL).lease().orElse(null);
      if (lease != null) {
        return lease;
      }
    }
    return null;
  }

  /** Callers that are refused all the time, on masters beside them: what a look costs these. */
  private void crowds(Redlock holder, RedisServers servers) throws Exception {
    List<Long> masters = new ArrayList<>();
    servers.forEach(server -> masters.add(server.pid()));
    List<List<String>> rows = new ArrayList<>();
    double one = 0;
    for (int permits : List.of(1, 10, 100)) {
      String pool = "crowd-" + permits + "/";
      List<String> names = IntStream.range(0, permits).mapToObj(i -> pool + i).toList();
      List<Lease> held = new ArrayList<>();
      for (String name : names) {
        held.add(holder.acquire(LeaseRequest.of(name, TTL).renewFor(HOLD)));
      }
      ClosedLoop.Run run = refusals(holder, LeaseRequest.anyOf(names, TTL), masters);
      one = permits == 1 ? run.perSecond() : one;
      rows.add(
          List.of(
              Integer.toString(permits),
              Report.number(run.perSecond()),
              Report.number(one / run.perSecond()),
              Report.number(run.used().serverNanos() / run.cycles() / masters.size() / 1e3)));
      for (Lease lease : held) {
        lease.release();
      }
    }
    report.print(
        CROWD + " callers refused all the time",
        List.of("permits", "refusals/s", "times one permit", "µs of each master"),
        rows);
  }

  private static ClosedLoop.Run refusals(Redlock redlock, LeaseRequest any, List<Long> masters)
      throws Exception {
    List<Peer.Cycle> callers =
        Collections.nCopies(
            CROWD,
            () -> {
              redlock.tryAcquire(any);
              return 1;
            });
    ClosedLoop loop = new ClosedLoop(callers, Thread::new, masters);
    loop.run(Duration.ofSeconds(2)); // a warm-up
    return loop.run(Duration.ofSeconds(4));
  }

  private interface Release<T> {
    void release(T held) throws Exception;
  }

  private static <T> List<String> times(Callable<T> acquire, Release<T> release) throws Exception {
    long[] nanos = new long[TURNS];
    for (int turn = -TURNS / 10; turn < TURNS; turn++) { // the first are a warm-up
      long start = System.nanoTime();
      T got = acquire.call();
      if (turn >= 0) {
        nanos[turn] = System.nanoTime() - start;
      }
      if (got != null) {
        release.release(got);
        Thread.sleep(5); // until the masters have the release
      }
    }
    return shown(nanos);
  }

  /** From a release by another client, while all are held, to the permit of one that waits. */
  private static List<String> handOvers(
      int permits, Redlock holder, Redlock seeker, RedissonClient other, RedissonClient redisson)
      throws Exception {
    List<String> names = IntStream.range(0, permits).mapToObj(i -> "handed/" + i).toList();
    LeaseRequest any = LeaseRequest.anyOf(names, TTL);
    List<Lease> held = new ArrayList<>();
    for (int i = 0; i < permits; i++) {
      held.add(holder.acquire(any.renewFor(HOLD)));
    }
    RSemaphore theirs = other.getSemaphore("handed-" + permits);
    theirs.trySetPermits(permits);
    theirs.acquire(permits);
    RSemaphore ours = redisson.getSemaphore("handed-" + permits);
    long[] nanos = new long[HAND_OVERS];
    long[] redissonNanos = new long[HAND_OVERS];
    for (int turn = 0; turn < HAND_OVERS; turn++) {
      CompletableFuture<Lease> next =
          seeker.acquireAsync(any.waitUpTo(HOLD)).thenApply(result -> result.lease().orElseThrow());
      Thread.sleep(100);
      long start = System.nanoTime();
      held.remove(0).release();
      next.join();
      nanos[turn] = System.nanoTime() - start;
      next.join().release();
      held.add(holder.acquire(any.renewFor(HOLD).waitUpTo(HOLD)));

      CompletableFuture<Void> waiting = ours.acquireAsync().toCompletableFuture();
      Thread.sleep(100);
      start = System.nanoTime();
      theirs.release();
      waiting.join();
      redissonNanos[turn] = System.nanoTime() - start;
      ours.release();
      theirs.acquire();
    }
    for (Lease lease : held) {
      lease.release();
    }
    List<String> row = new ArrayList<>();
    row.add(permits + ", handed over");
    row.addAll(shown(nanos));
    row.addAll(List.of("–", "–"));
    row.addAll(shown(redissonNanos));
    return row;
  }

  private static List<String> shown(long[] nanos) {
    Arrays.sort(nanos);
    return List.of(
        Report.number(nanos[nanos.length / 2] / 1e6),
        Report.number(nanos[nanos.length * 99 / 100] / 1e6));
  }
}
