package io.redlock.lease;

import static io.redlock.testbed.Results.assertLost;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.Lease;
import io.redlock.LeaseEnd;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import io.redlock.jedis.JedisRedlock;
import io.redlock.testbed.Await;
import java.time.Duration;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Leases on masters that lose their past, while the restart guard is on. */
@Tag("servers")
class GuardedLeaseTest {

  private static final Duration SKEW = Duration.ofMillis(200);

  @RegisterExtension static final LeaseMasters masters = new LeaseMasters();

  private final LeaseEvents events = new LeaseEvents();

  /** A client of new masters that have been adopted. */
  private Redlock connect(Duration maxTtl) {
    IntStream.range(0, LeaseMasters.NODES).forEach(node -> masters.get(node).restart());
    assertTrue(guarded(masters.settings(), maxTtl).adoptNew().isComplete(), "adopted");
    return masters.connect(settings -> guarded(settings, maxTtl));
  }

  private JedisRedlock.Builder guarded(JedisRedlock.Builder settings, Duration maxTtl) {
    return settings.restartGuard(true).maxTtl(maxTtl).clockSkew(SKEW).listener(events);
  }

  @Test
  void extendEndsALeaseOfWhichAMajorityWasFlushed() throws Exception {
    Duration ttl = Duration.ofSeconds(20); // no key goes by itself meanwhile
    Redlock redlock = connect(ttl);
    Lease lease = redlock.acquire("flushed", ttl, ttl);
    masters.awaitHolders(5, "flushed");
    IntStream.of(0, 1, 2).forEach(node -> masters.get(node).command("FLUSHALL"));
    assertLost(lease.extend(ttl));
    assertFalse(lease.isValid());
    LeaseEnd end = Await.value("the end", lease.ended().toCompletableFuture());
    assertEquals(LeaseEnd.Cause.REFUSED, end.cause());
    assertEquals(2, masters.holders("flushed"), "nobody joined");
    assertLost(lease.extend(ttl));
    lease.release();
    masters.awaitHolders(0, "flushed");
    Await.until("the end is told", () -> !events.ended.isEmpty());
    assertEquals(List.of(LeaseEnd.Cause.REFUSED), events.causes());
  }

  @Test
  void masterThatCameBackEmptyJoinsARenewedLeaseWhenItMayVoteAgain() throws Exception {
    Duration ttl = Duration.ofSeconds(9); // so long that a busy machine renews in time
    Duration abstention = ttl.plus(SKEW.multipliedBy(2)); // at least
    Redlock redlock = connect(ttl);
    Lease lease = redlock.acquire(LeaseRequest.of("guarded", ttl).renewFor(Duration.ofMinutes(1)));
    masters.awaitHolders(5, "guarded");
    long start = System.nanoTime();
    masters.get(3).restart();
    masters.awaitHolders(5, "guarded");
    Duration took = Duration.ofNanos(System.nanoTime() - start);
    assertTrue(took.compareTo(abstention) > 0, "joined after " + took);
    assertEquals(lease.fencingToken(), masters.fence(3, "guarded"));
    assertTrue(lease.isValid());
    assertEquals(List.of(), events.causes());
  }
}
