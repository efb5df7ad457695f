package io.redlock.interoperation;

import static io.redlock.testbed.Results.assertContended;
import static io.redlock.testbed.Results.assertExtended;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.redlock.Lease;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import io.redlock.ReleaseResult;
import io.redlock.testbed.Await;
import io.redlock.testbed.RedisServer;
import io.redlock.testbed.RedisServers;
import io.redlock.testbed.RequiresRedis;
import java.time.Duration;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.ValueSource;

/** Clients in JavaScript and this library keep each other out of a resource they share. */
@RequiresRedis
@ParameterizedClass
@ValueSource(strings = {"redlock", "@sesamecare-oss/redlock"})
@Tag("servers")
@Tag("interoperation")
class InteroperationTest {

  private static final Duration TTL = Duration.ofSeconds(10);

  private static final LeaseRequest READ = LeaseRequest.of("shared", TTL).shared();

  @AutoClose private final RedisServers masters = RedisServers.start(3);
  @AutoClose private final Redlock redlock = masters.patientClient().build();
  @AutoClose private final NodePeer peer;

  InteroperationTest(String packageName) {
    peer = NodePeer.start(packageName, masters);
  }

  @BeforeAll
  static void havePackages() {
    assumeTrue(NodePeer.isGiven(), NodePeer.ADVICE);
  }

  @Test
  void leaseKeepsThePeerOutUntilItIsReleased() throws InterruptedException {
    Lease lease = redlock.acquire("shared", TTL, Duration.ZERO);
    assertTrue(peer.tell("acquire shared 10000").startsWith("refused: "));
    assertExtended(lease.extend(TTL));
    assertTrue(peer.tell("acquire shared 10000").startsWith("refused: "));
    assertEquals(ReleaseResult.RELEASED, lease.release());
    assertEquals("done", peer.tell("acquire shared 10000"));
  }

  @Test
  void lockOfThePeerKeepsALeaseOutUntilItIsReleased() throws InterruptedException {
    assertEquals("done", peer.tell("acquire shared 10000"));
    assertContended(redlock.tryAcquire("shared", TTL));
    assertEquals("done", peer.tell("extend 15000"));
    assertContended(redlock.tryAcquire("shared", TTL));
    assertEquals("done", peer.tell("release"));
    assertTrue(redlock.acquire("shared", TTL, TTL).isValid());
  }

  @Test
  void readersKeepThePeerOutUntilTheLastIsReleased() throws InterruptedException {
    Lease first = redlock.acquire(READ);
    Lease second = redlock.acquire(READ);
    awaitReaders(2);
    assertTrue(peer.tell("acquire shared 10000").startsWith("refused: "));
    assertExtended(first.extend(TTL));
    assertEquals(ReleaseResult.RELEASED, first.release());
    awaitReaders(1); // what the peer released where it was refused was nothing
    assertTrue(peer.tell("acquire shared 10000").startsWith("refused: "));
    assertExtended(second.extend(TTL));
    assertEquals(ReleaseResult.RELEASED, second.release());
    assertEquals("done", peer.tell("acquire shared 10000"));
  }

  @Test
  void lockOfThePeerKeepsReadersOutAndItsLateReleaseEndsNone() throws InterruptedException {
    assertEquals("done", peer.tell("acquire shared 1000"));
    Lease reader = redlock.acquire(READ.waitUpTo(Duration.ofMinutes(1)));
    peer.tell("release"); // of a lock that has run out, on one master perhaps a moment later
    assertTrue(readOn(1) >= 2, "a majority");
    assertExtended(reader.extend(TTL));
    assertEquals(ReleaseResult.RELEASED, reader.release());
    assertEquals("done", peer.tell("acquire shared 10000"));
    assertContended(redlock.tryAcquire(READ));
    assertEquals("done", peer.tell("release"));
    assertTrue(redlock.acquire(READ.waitUpTo(TTL)).isValid());
  }

  private void awaitReaders(int count) {
    Await.until(count + " read on each master", () -> readOn(count) == 3);
  }

  /** Returns on how many masters so many read. */
  private long readOn(long count) {
    long on = 0;
    for (RedisServer master : masters) {
      boolean isShared = "shared/".equals(master.command("GET", "shared"));
      Object entries = master.command("ZCOUNT", "redlock:readers:shared", "(0", "+inf");
      on += isShared && entries.equals(count) ? 1 : 0;
    }
    return on;
  }

  @Test
  void countersThatBothIncreaseUnderTheLockLoseNothing() throws InterruptedException {
    RedisServer counter = masters.get(0);
    counter.command("SET", "count", "0");
    peer.begin("count shared 50");
    int own = 0;
    while (!peer.hasAnswered()) {
      long written;
      try (Lease lease = redlock.acquire("shared", TTL, Duration.ofSeconds(30))) {
        written = count(counter) + 1;
        counter.command("SET", "count", Long.toString(written));
        assertTrue(lease.isValid());
      }
      own++;
      Await.until(
          "the peer has had its turn", () -> count(counter) > written || peer.hasAnswered());
    }
    assertEquals("done", peer.end());
    assertEquals(Integer.toString(50 + own), counter.command("GET", "count"));
  }

  private static long count(RedisServer counter) {
    return Long.parseLong(String.valueOf(counter.command("GET", "count")));
  }
}
