package io.redlock.recipes;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.AcquireResult;
import io.redlock.FreeResult;
import io.redlock.Inspection;
import io.redlock.Leadership;
import io.redlock.Lease;
import io.redlock.LeaseLostException;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import io.redlock.jedis.JedisRedlock;
import io.redlock.testbed.Await;
import io.redlock.testbed.RedisServer;
import io.redlock.testbed.RedisServers;
import io.redlock.testbed.RequiresRedis;
import io.redlock.testing.InMemoryMasters;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What other locks become, and what happens while both are in use. */
@RequiresRedis
class MigrationTest {

  private static final Duration TTL = Duration.ofSeconds(10);

  private static RedisServers servers;

  private Redlock redlock;
  private final List<String> done = new ArrayList<>();

  @BeforeAll
  static void startTheOneServerThatTheOldLockUses() {
    servers = RedisServers.start(1);
  }

  @AfterAll
  static void stopServer() {
    servers.close();
  }

  @BeforeEach
  void connect() {
    redlock = connect(settings());
  }

  @AfterEach
  void disconnect() {
    redlock.close();
  }

  private static JedisRedlock.Builder settings() {
    return JedisRedlock.builder().node(servers.get(0).address()).nodeTimeout(Duration.ofSeconds(4));
  }

  private static Redlock connect(JedisRedlock.Builder settings) {
    return settings.build();
  }

  @Test
  void lockOfTheStandardLibraryStaysOne() {
    // readme:start migrated-lock
    Lock lock =
        redlock.asLock(
            LeaseRequest.of("orders/42", Duration.ofSeconds(30)).renewFor(Duration.ofMinutes(10)));
    lock.lock();
    try {
      ship(42);
    } finally {
      lock.unlock();
    }
    // readme:end
    assertEquals(List.of("shipped 42"), done);
  }

  /** The rows of the table for Redisson, as far as they differ from {@link Lock}. */
  @Test
  void methodsOfAnRLockHaveTheCounterpartsOfTheTable() throws InterruptedException {
    LeaseRequest request = LeaseRequest.of("orders/42", TTL).renewFor(Duration.ofSeconds(20));
    try (InMemoryMasters masters = InMemoryMasters.inVirtualTime(3)) {
      Redlock redlock = masters.connect();
      redlock.asLock(request).lock();
      redlock.asLock(request).lock(); // as getLock(name) does
      assertEquals(Inspection.Held.YES, redlock.operations().inspect("orders/42").held());
      assertTrue(redlock.asLock(request).lease().fencingToken() > 0);
      redlock.asLock(request).unlock();
      masters.advance(Duration.ofMinutes(1)); // beyond renewFor
      assertThrows(LeaseLostException.class, () -> redlock.asLock(request).tryLock());
      assertThrows(LeaseLostException.class, () -> redlock.asLock(request).unlock());
      assertThrows(IllegalMonitorStateException.class, () -> redlock.asLock(request).lease());
      assertTrue(redlock.asLock(request).tryLock());
      assertEquals(FreeResult.Outcome.FREED, redlock.operations().free("orders/42").outcome());
      masters.stop(2);
      assertFalse(redlock.asLock(LeaseRequest.of("b", TTL).renewFor(TTL)).tryLock());
      assertInstanceOf(AcquireResult.Unavailable.class, redlock.tryAcquire("b", TTL));
    }
  }

  /** The rows of the table for Curator. */
  @Test
  void classesOfCuratorHaveTheCounterpartsOfTheTable() throws InterruptedException {
    LeaseRequest request = LeaseRequest.of("mutex", TTL).renewFor(Duration.ofSeconds(20));
    try (InMemoryMasters masters = InMemoryMasters.inVirtualTime(3)) {
      Redlock redlock = masters.connect();
      Redlock other = masters.connect();
      Lock mutex = redlock.asLock(request);
      mutex.lock();
      assertTrue(mutex.tryLock(), "reentrant");
      mutex.unlock();
      assertFalse(other.asLock(request).tryLock());
      mutex.unlock();
      assertTrue(other.asLock(request).tryLock(1, TimeUnit.SECONDS));
      Lease semaphoreMutex = redlock.acquire("semaphore mutex", TTL, Duration.ZERO);
      Thread another = new Thread(semaphoreMutex::close);
      another.start();
      another.join();
      assertEquals(Inspection.Held.NO, redlock.operations().inspect("semaphore mutex").held());
      redlock.acquire(LeaseRequest.ofAll(List.of("a", "b"), TTL));
      assertInstanceOf(AcquireResult.Contended.class, other.tryAcquire("b", TTL));
      LeaseRequest permits = LeaseRequest.anyOf(List.of("permit 1", "permit 2"), TTL);
      redlock.acquire(permits);
      other.acquire(permits);
      assertInstanceOf(AcquireResult.Contended.class, redlock.tryAcquire(permits));
    }
  }

  @Test
  void leaderThatLeadsOnceClosesItsOwnLeadership() {
    List<Long> terms = new CopyOnWriteArrayList<>();
    Leadership once =
        redlock.lead(
            "once",
            TTL,
            (term, leadership) -> {
              terms.add(term.fencingToken());
              leadership.close();
            });
    Await.until("it led", () -> terms.size() == 1);
    once.close(); // waits for the end
    assertFalse(once.isLeader());
  }

  @Test
  void handWrittenLockKeepsALeaseOutAndNothingTouchesIt() throws InterruptedException {
    RedisServer server = servers.get(0);
    assertEquals("OK", server.command("SET", "orders/7", "me", "NX", "PX", "10000"));
    assertInstanceOf(AcquireResult.Contended.class, redlock.tryAcquire("orders/7", TTL));
    assertEquals("me", server.command("GET", "orders/7"));
    server.command("DEL", "orders/7");
    assertTrue(redlock.tryAcquire("orders/7", TTL).optionalLease().isPresent());
  }

  @Test
  void leaseKeepsAHandWrittenLockOutUntilItIsReleased() throws InterruptedException {
    RedisServer server = servers.get(0);
    Lease lease = redlock.acquire("orders/8", TTL, Duration.ZERO);
    assertNull(server.command("SET", "orders/8", "me", "NX", "PX", "10000"));
    lease.release();
    assertEquals("OK", server.command("SET", "orders/8", "me", "NX", "PX", "10000"));
  }

  @Test
  void prefixLetsALeaseUseTheKeyOfTheOldLock() throws InterruptedException {
    RedisServer server = servers.get(0);
    server.command("SET", "job-lock:default:report", "ADDED:2026-01-01@host", "NX", "PX", "10000");
    JedisRedlock.Builder settings = settings().keyPrefix("job-lock:default:");
    try (Redlock prefixed = connect(settings)) {
      assertInstanceOf(AcquireResult.Contended.class, prefixed.tryAcquire("report", TTL));
      server.command("DEL", "job-lock:default:report");
      Await.until("the old one is gone", () -> server.keys("job-lock:*").isEmpty());
      prefixed.acquire("report", TTL, Duration.ZERO);
      assertEquals(List.of("job-lock:default:report"), server.keys("job-lock:*"));
    }
  }

  @Test
  void lockThatIsAHashIsReportedAsForeign() throws InterruptedException {
    RedisServer server = servers.get(0);
    server.command("HSET", "orders/9", "a13acce4:1", "1"); // what Redisson stores
    AcquireResult result = redlock.tryAcquire("orders/9", TTL);
    assertInstanceOf(AcquireResult.Unavailable.class, result);
    assertTrue(result.votes().toString().contains("a key of another application"));
    assertEquals("1", server.command("HGET", "orders/9", "a13acce4:1"));
  }

  private void ship(int order) {
    done.add("shipped " + order);
  }
}
