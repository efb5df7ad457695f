package io.redlock.bench;

import io.redlock.Lease;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import io.redlock.testbed.RedisServers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.stream.IntStream;
import org.redisson.api.RSemaphore;
import org.redisson.api.RedissonClient;

/**
 * How long a permit of several takes: with {@code anyOf}, by trying name after name, and with a
 * counting semaphore of Redisson on one master. Masters are 1 ms away, each way, so the time tells
 * the round trips: half as many as milliseconds.
 */
record AnyOf(Report report) {

  private static final Duration TTL = Duration.ofSeconds(30);
  private static final Duration HOLD = Duration.ofHours(1);
  private static final Duration AWAY = Duration.ofMillis(1);
  private static final int TURNS = 200;
  private static final List<String> HEAD =
      List.of(
          "permits, occupied",
          "`anyOf`, p50 (ms)",
          "p99",
          "name after name, p50",
          "p99",
          "`RSemaphore`, p50",
          "p99");

  void run() throws Exception {
    try (RedisServers servers = RedisServers.start(5);
        RedisServers single = RedisServers.startBrandNew(1);
        Distance far = Distance.of(AWAY);
        Redlock holder = RedlockPeer.settings(servers.addresses()).build();
        Redlock seeker = RedlockPeer.settings(far.addresses(servers)).build()) {
      RedissonClient redisson = RedissonPeer.client(far.addresses(single)[0]);
      try {
        List<List<String>> rows = new ArrayList<>();
        for (int permits : List.of(2, 10, 100)) {
          for (int percent : List.of(50, 90, 100)) {
            rows.add(row(permits, permits * percent / 100, holder, seeker, redisson));
          }
        }
        report.table("One of several, masters 1 ms away", "", HEAD, rows);
      } finally {
        RedissonPeer.close(redisson);
      }
    }
  }

  /** An acquire, or a refusal, while so many of the permits are held elsewhere. */
  private List<String> row(
      int permits, int held, Redlock holder, Redlock seeker, RedissonClient redisson)
      throws Exception {
    String pool = "pool-" + permits + "-" + held + "/";
    List<String> names = IntStream.range(0, permits).mapToObj(i -> pool + i).toList();
    List<Lease> leases = hold(holder, names.subList(0, held));
    LeaseRequest any = LeaseRequest.anyOf(names, TTL);
    RSemaphore semaphore = redisson.getSemaphore(pool);
    semaphore.trySetPermits(permits - held);
    List<String> row = new ArrayList<>();
    row.add(permits + ", " + held);
    row.addAll(times(() -> seeker.tryAcquire(any).lease().orElse(null), Lease::close));
    row.addAll(times(() -> oneByOne(seeker, names), Lease::close));
    row.addAll(times(() -> semaphore.tryAcquire() ? semaphore : null, RSemaphore::release));
    leases.forEach(Lease::close);
    return row;
  }

  private static List<Lease> hold(Redlock holder, List<String> names) throws Exception {
    List<Lease> leases = new ArrayList<>();
    for (String name : names) {
      leases.add(holder.acquire(LeaseRequest.of(name, TTL).renewFor(HOLD)));
    }
    return leases;
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

  private interface Release<T> {
    void release(T held) throws Exception;
  }

  private static <T> List<String> times(Callable<T> acquire, Release<T> release) throws Exception {
    Times times = new Times();
    for (int turn = -TURNS / 10; turn < TURNS; turn++) { // the first are a warm-up
      long startNanos = System.nanoTime();
      T got = acquire.call();
      if (turn >= 0) {
        times.addSince(startNanos);
      }
      if (got != null) {
        release.release(got);
        Thread.sleep(5); // until the masters have the release
      }
    }
    return List.of(times.millis(50), times.millis(99));
  }
}
