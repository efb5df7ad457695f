package io.redlock.readme;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.redlock.Lease;
import io.redlock.LeaseRequest;
import io.redlock.LockNotAcquiredException;
import io.redlock.Redlock;
import io.redlock.jedis.JedisRedlock;
import io.redlock.testbed.AgainIfItStoodStill;
import io.redlock.testbed.Await;
import io.redlock.testbed.RedisServer;
import io.redlock.testbed.RedisServers;
import io.redlock.testbed.Repository;
import io.redlock.testbed.RequiresRedis;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** The samples of the README, run against real masters. {@link MarkdownTest} compares the texts. */
@RequiresRedis
@AgainIfItStoodStill // the samples wait for 50 ms, and for two seconds
class ReadmeTest {

  @AutoClose private static RedisServers servers;
  private static String[] masters;

  @BeforeAll
  static void startServers() throws InterruptedException {
    servers = RedisServers.start(3);
    masters = servers.addresses();
    warmUp();
  }

  /** What the samples do in 50 ms, all classes have been loaded for. */
  private static void warmUp() throws InterruptedException {
    try (Redlock redlock = patient(masters);
        Lease lease = redlock.acquire("warm-up", Duration.ofSeconds(10), Duration.ofSeconds(10))) {
      lease.ensureValid(Duration.ofMillis(1));
    }
  }

  /** What the samples write to: takes a write only from the newest holder. */
  private static final class Orders {
    final List<String> log = new ArrayList<>();
    private long highestToken;

    void ship(int order, long fencingToken) {
      if (fencingToken < highestToken) {
        throw new IllegalStateException("order " + order + " has a newer holder");
      }
      highestToken = fencingToken;
      log.add("shipped " + order);
    }

    List<Integer> findDue() {
      return List.of(7, 8);
    }

    int shipAll(List<Integer> due, long fencingToken) {
      due.forEach(order -> ship(order, fencingToken));
      return due.size();
    }
  }

  @Test
  void leaseIsAcquiredAndUsed() throws InterruptedException {
    Orders orders = new Orders();
    // readme:start use
    Redlock redlock = JedisRedlock.connect(masters); // one per process; close it at shutdown

    LeaseRequest request =
        LeaseRequest.of("orders/42", Duration.ofSeconds(10)).waitUpTo(Duration.ofSeconds(2));
    try (Lease lease = redlock.acquire(request)) {
      orders.ship(42, lease.fencingToken());
    }
    // readme:end
    Await.until("the lease is released", () -> held("orders/42") == 0);
    redlock.close();
    assertEquals(List.of("shipped 42"), orders.log);
  }

  @Test
  void longWorkIsDoneUnderARenewedLease() throws Exception {
    Orders orders = new Orders();
    try (Redlock redlock = JedisRedlock.connect(masters)) {
      // readme:start renewed
      LeaseRequest request =
          LeaseRequest.of("orders/all", Duration.ofSeconds(10))
              .waitUpTo(Duration.ofMinutes(1))
              .renewFor(Duration.ofMinutes(30));
      int shipped =
          redlock.callLeased(
              request,
              lease -> {
                List<Integer> due = orders.findDue(); // may take minutes
                lease.ensureValid(Duration.ofSeconds(1));
                return orders.shipAll(due, lease.fencingToken());
              });
      // readme:end
      assertEquals(2, shipped);
      assertEquals(List.of("shipped 7", "shipped 8"), orders.log);
      Await.until("the lease is released", () -> held("orders/all") == 0);
    }
  }

  @Test
  void refusalReadsAsShown() throws Exception {
    try (RedisServers three = RedisServers.start(3);
        Redlock holder = patient(three.addresses());
        Redlock other = patient(three.addresses())) {
      three.get(2).kill();
      Await.until("the other is refused a connection", () -> refused(other) == 1);
      holder.acquire("orders/42", Duration.ofSeconds(10), Duration.ZERO);
      Await.until("the other two hold it", () -> held(three, "orders/42") == 2);
      Exception refusal =
          assertThrows(
              LockNotAcquiredException.class,
              () -> other.acquire("orders/42", Duration.ofSeconds(10), Duration.ZERO));
      String shown =
          Repository.read("README.md")
              .lines()
              .filter(line -> line.startsWith("not acquired: "))
              .findFirst()
              .orElse("nothing");
      assertEquals(withoutNumbers(shown), withoutNumbers(refusal.getMessage()));
    }
  }

  /** On a machine that is busy with other tests, 50 ms are not always enough. */
  private static Redlock patient(String... addresses) {
    return JedisRedlock.builder()
        .node(String.join(",", addresses))
        .holder("billing@pod-7:4211")
        .nodeTimeout(Duration.ofSeconds(4))
        .build();
  }

  /** Which ports there are and how long things take differs from run to run. */
  private static String withoutNumbers(String message) {
    return message
        .replaceAll("\\d+\\.\\d+\\.\\d+\\.\\d+:\\d+", "master")
        .replaceAll("\\d+(\\.\\d+)?(m?s) more", "time more");
  }

  private static long held(String resource) {
    return held(servers, resource);
  }

  private static long held(RedisServers all, String resource) {
    long held = 0;
    for (RedisServer server : all) {
      held += server.isAlive() ? server.keys(resource).size() : 0;
    }
    return held;
  }

  private static long refused(Redlock redlock) {
    return redlock.operations().nodes().stream()
        .filter(node -> node.reason().orElse("").contains("refused"))
        .count();
  }
}
