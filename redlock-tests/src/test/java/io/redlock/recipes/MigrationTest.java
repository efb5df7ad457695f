package io.redlock.recipes;

import static io.redlock.testbed.Results.assertContended;
import static io.redlock.testbed.Results.assertUnavailable;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
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
import io.redlock.testbed.Await;
import io.redlock.testbed.RedisServer;
import io.redlock.testbed.RedisServers;
import io.redlock.testbed.Repository;
import io.redlock.testbed.RequiresRedis;
import io.redlock.testing.InMemoryMasters;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** What other locks become, and what happens while both are in use. */
@RequiresRedis
class MigrationTest {

  private static final Duration TTL = Duration.ofSeconds(10);

  @AutoClose private static final RedisServers servers = RedisServers.start(1);

  @AutoClose private final Redlock redlock = servers.patientClient().build();
  private final List<String> done = new ArrayList<>();

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

  /** The rows of a table of the page; each must be played, as it is written. */
  private static final class Rows {
    private final Map<String, String> left = new LinkedHashMap<>();

    Rows(String heading) throws IOException {
      String page = Repository.read("docs/migration.md");
      String section = page.substring(page.indexOf("\n## " + heading + "\n") + 1);
      Pattern.compile("(?m)^\\| (.+?) \\| (.+) \\|$")
          .matcher(section.substring(0, section.indexOf("\n## ")))
          .results()
          .skip(1) // the head
          .forEach(row -> left.put(row.group(1), row.group(2)));
    }

    void play(String theirs, String ours) {
      assertEquals(ours, left.remove(theirs), () -> theirs + " of " + left.keySet());
    }

    void end() {
      assertEquals(Map.of(), left, "rows that nobody plays");
    }
  }

  @Test
  void methodsOfAnRLockHaveTheCounterpartsOfTheTable() throws Exception {
    Rows rows = new Rows("Redisson");
    LeaseRequest request = LeaseRequest.of("orders/42", TTL).renewFor(Duration.ofSeconds(20));
    try (InMemoryMasters masters = InMemoryMasters.inVirtualTime(3)) {
      Redlock redlock = masters.connect();
      Redlock other = masters.connect();
      rows.play(
          "`lock()`, `lockInterruptibly()`",
          "the same, renewed for **at most** `renewFor`; without a majority it waits");
      redlock.asLock(request).lock();
      redlock.asLock(request).lockInterruptibly(); // the same lock, as of getLock(name)
      masters.advance(Duration.ofSeconds(11));
      rows.play(
          "`isLocked()`, `remainTimeToLive()`",
          "`operations().inspect(name).held()`, `.remaining()`; of one's own"
              + " `lease().remaining()`");
      Inspection held = redlock.operations().inspect("orders/42");
      assertEquals(Inspection.Held.YES, held.held());
      assertTrue(held.remaining().orElseThrow().compareTo(TTL.dividedBy(2)) > 0);
      assertTrue(redlock.asLock(request).lease().remaining().compareTo(TTL.dividedBy(2)) > 0);
      rows.play("`RFencedLock.getToken()`", "`lease().fencingToken()`");
      assertTrue(redlock.asLock(request).lease().fencingToken() > 0);
      rows.play(
          "`unlock()`",
          "the same; after a loss it [throws](leases.md#as-a-lock) `LeaseLostException`");
      redlock.asLock(request).unlock();
      masters.advance(Duration.ofMinutes(1)); // beyond renewFor
      assertThrows(LeaseLostException.class, () -> redlock.asLock(request).tryLock());
      assertThrows(LeaseLostException.class, () -> redlock.asLock(request).unlock());
      rows.play(
          "`isHeldByCurrentThread()`", "`lease()` throws `IllegalMonitorStateException` if not");
      assertThrows(IllegalMonitorStateException.class, () -> redlock.asLock(request).lease());
      rows.play(
          "`forceUnlock()`",
          "`operations().free(name)`: nobody is granted it before the holder's last deadline");
      assertTrue(redlock.asLock(request).tryLock());
      assertEquals(FreeResult.Outcome.FREED, redlock.operations().free("orders/42").outcome());
      assertContended(other.tryAcquire("orders/42", TTL));
      masters.advance(TTL.plusSeconds(1));
      other.acquire("orders/42", TTL, Duration.ZERO).release();
      rows.play(
          "`lock(leaseTime, unit)`",
          "no counterpart: `acquire(name, ttl, waitUpTo)`, without renewal");
      Lease brief = redlock.acquire("brief", TTL, Duration.ZERO);
      masters.advance(TTL);
      assertFalse(brief.isValid());
      rows.play("`tryLock(wait, leaseTime, unit)`", "`tryAcquire(name, ttl, waitUpTo)`");
      assertTrue(redlock.tryAcquire("brief", TTL, TTL).lease().isPresent());
      rows.play(
          "`getFairLock(name)`, `getMultiLock(…)`",
          "`asLock(request.fair())`, `LeaseRequest.ofAll`");
      LeaseRequest both = LeaseRequest.ofAll(List.of("a", "b"), TTL).renewFor(TTL);
      assertTrue(redlock.asLock(LeaseRequest.of("fair", TTL).renewFor(TTL).fair()).tryLock());
      assertTrue(redlock.asLock(both).tryLock());
      rows.play(
          "`RSemaphore`, `RPermitExpirableSemaphore`",
          "[`anyOf`](semaphore.md) with a name per permit. `acquire(n)` has no counterpart");
      assertTwoPermits(redlock, other);
      rows.play(
          "`tryLock()`, `tryLock(wait, unit)`",
          "the same; false also without a majority, where Redisson throws. `tryAcquire` says why");
      masters.stop(2);
      assertFalse(redlock.asLock(LeaseRequest.of("c", TTL).renewFor(TTL)).tryLock());
      assertUnavailable(redlock.tryAcquire("c", TTL));
    }
    rows.play(
        "`getReadWriteLock(name)`",
        "[`asReadWriteLock(…)`](readers-and-a-writer.md), fair; if a thread that reads locks for"
            + " writing, `lock()` throws, where Redisson waits without end; `tryLock` is false in"
            + " both");
    assertReadersAndAWriter();
    rows.end();
  }

  private static void assertTwoPermits(Redlock redlock, Redlock other) throws InterruptedException {
    LeaseRequest permits = LeaseRequest.anyOf(List.of("permit 1", "permit 2"), TTL);
    redlock.acquire(permits);
    other.acquire(permits);
    assertContended(redlock.tryAcquire(permits));
  }

  private static void assertReadersAndAWriter() {
    LeaseRequest request = LeaseRequest.of("catalog", TTL).renewFor(Duration.ofMinutes(1));
    try (InMemoryMasters masters = InMemoryMasters.inVirtualTime(3)) {
      ReadWriteLock ours = masters.connect().asReadWriteLock(request);
      ReadWriteLock theirs = masters.connect().asReadWriteLock(request);
      assertTrue(ours.readLock().tryLock());
      assertTrue(theirs.readLock().tryLock());
      assertThrows(IllegalStateException.class, () -> ours.writeLock().lock());
      ours.readLock().unlock();
      assertFalse(ours.writeLock().tryLock());
      theirs.readLock().unlock();
      assertTrue(ours.writeLock().tryLock());
      assertFalse(theirs.readLock().tryLock());
      assertTrue(ours.readLock().tryLock(), "a writer may read");
      ours.writeLock().unlock();
      ours.readLock().unlock();
      assertTrue(theirs.writeLock().tryLock());
    }
  }

  @Test
  void classesOfCuratorHaveTheCounterpartsOfTheTable() throws Exception {
    Rows rows = new Rows("Curator");
    LeaseRequest request = LeaseRequest.of("mutex", TTL).renewFor(Duration.ofSeconds(20));
    try (InMemoryMasters masters = InMemoryMasters.inVirtualTime(3)) {
      Redlock redlock = masters.connect();
      Redlock other = masters.connect();
      rows.play(
          "`InterProcessMutex`",
          "`asLock(…)`: reentrant too; `tryLock(time, unit)` is false also without a majority,"
              + " where Curator throws; `unlock()` throws `LeaseLostException` after a loss");
      Lock mutex = redlock.asLock(request);
      mutex.lock();
      assertTrue(mutex.tryLock(), "reentrant");
      mutex.unlock();
      assertFalse(other.asLock(request).tryLock());
      mutex.unlock();
      assertTrue(other.asLock(request).tryLock(1, TimeUnit.SECONDS));
      rows.play(
          "`InterProcessSemaphoreMutex`, `InterProcessMultiLock`, `InterProcessSemaphoreV2`",
          "`acquire` (any thread may release), `LeaseRequest.ofAll`, [`anyOf`](semaphore.md)");
      Lease semaphoreMutex = redlock.acquire("semaphore mutex", TTL, Duration.ZERO);
      Thread another = new Thread(semaphoreMutex::close);
      another.start();
      another.join();
      assertEquals(Inspection.Held.NO, redlock.operations().inspect("semaphore mutex").held());
      redlock.acquire(LeaseRequest.ofAll(List.of("a", "b"), TTL));
      assertContended(other.tryAcquire("b", TTL));
      assertTwoPermits(redlock, other);
      masters.stop(2);
      assertFalse(redlock.asLock(request).tryLock(1, TimeUnit.SECONDS), "no majority");
      masters.advance(Duration.ofMinutes(1));
      assertThrows(LeaseLostException.class, () -> other.asLock(request).unlock());
    }
    rows.play(
        "`InterProcessReadWriteLock`",
        "[`asReadWriteLock(…)`](readers-and-a-writer.md), fair too; if a thread that reads locks"
            + " for writing, `lock()` throws, where Curator waits without end; `tryLock` is false in"
            + " both");
    assertReadersAndAWriter();
    rows.play(
        "`LeaderLatch`",
        "[`Redlock.lead`](leader.md): the work is interrupted when its term ends; the session"
            + " timeout is the ttl");
    assertTermEndsByAnInterrupt();
    rows.play(
        "`LeaderSelector`",
        "the same. Without `autoRequeue` it leads once; `lead` campaigns again, so work that leads"
            + " once closes the `Leadership` that it receives");
    assertLeadsOnce();
    rows.end();
  }

  private void assertTermEndsByAnInterrupt() throws InterruptedException {
    CountDownLatch begun = new CountDownLatch(1);
    CountDownLatch interrupted = new CountDownLatch(1);
    Leadership latch =
        redlock.lead(
            "latch",
            TTL,
            (term, self) -> {
              begun.countDown();
              try {
                new CountDownLatch(1).await();
              } catch (InterruptedException e) {
                interrupted.countDown();
              }
            });
    begun.await();
    latch.close(); // waits for the end
    assertEquals(0, interrupted.getCount());
  }

  private void assertLeadsOnce() {
    List<Long> terms = new CopyOnWriteArrayList<>();
    Leadership once =
        redlock.lead(
            "once",
            TTL,
            (term, self) -> {
              terms.add(term.fencingToken());
              self.close();
            });
    Await.until("it led", () -> terms.size() == 1);
    once.close(); // waits for the end
    assertFalse(once.isLeader());
  }

  @Test
  void handWrittenLockKeepsALeaseOutAndNothingTouchesIt() throws InterruptedException {
    RedisServer server = servers.get(0);
    assertEquals("OK", server.command("SET", "orders/7", "me", "NX", "PX", "10000"));
    assertContended(redlock.tryAcquire("orders/7", TTL));
    assertEquals("me", server.command("GET", "orders/7"));
    server.command("DEL", "orders/7");
    assertTrue(redlock.tryAcquire("orders/7", TTL).lease().isPresent());
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
    try (Redlock prefixed = servers.patientClient().keyPrefix("job-lock:default:").build()) {
      assertContended(prefixed.tryAcquire("report", TTL));
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
    assertUnavailable(result);
    assertTrue(result.votes().toString().contains("a key of another application"));
    assertEquals("1", server.command("HGET", "orders/9", "a13acce4:1"));
  }

  private void ship(int order) {
    done.add("shipped " + order);
  }
}
