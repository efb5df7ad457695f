package io.redlock.lease;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.ExtendResult;
import io.redlock.Lease;
import io.redlock.LeaseEnd;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import io.redlock.jedis.JedisRedlock;
import io.redlock.testkit.Await;
import java.time.Duration;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Leases on masters that lose their past, while the restart guard is on. */
class GuardedLeaseTest {

  private static final Duration TTL = Duration.ofSeconds(1);
  private static final Duration SKEW = Duration.ofMillis(200);

  /** For how long a master that lost its past abstains, at least. */
  private static final Duration ABSTENTION = TTL.plus(SKEW.multipliedBy(2));

  @RegisterExtension static final Masters masters = new Masters();

  private final LeaseEvents events = new LeaseEvents();

  @BeforeEach
  void adoptNewMasters() {
    IntStream.range(0, Masters.NODES).forEach(node -> masters.get(node).command("FLUSHALL"));
    assertTrue(guarded(masters.settings()).adopt().isComplete(), "adopted");
  }

  private JedisRedlock.Builder guarded(JedisRedlock.Builder settings) {
    return settings.restartGuard(true).maxTtl(TTL).clockSkew(SKEW).listener(events);
  }

  @Test
  void extendEndsALeaseOfWhichAMajorityWasFlushed() throws Exception {
    Redlock redlock = masters.connect(this::guarded);
    Lease lease = redlock.acquire("flushed", TTL, Duration.ZERO);
    masters.awaitHolders(5, "flushed");
    IntStream.of(0, 1, 2).forEach(node -> masters.get(node).command("FLUSHALL"));
    assertInstanceOf(ExtendResult.Lost.class, lease.extend(TTL));
    assertFalse(lease.isValid());
    LeaseEnd end = Await.value("the end", lease.ended().toCompletableFuture());
    assertEquals(LeaseEnd.Cause.REFUSED, end.cause());
    assertEquals(2, masters.holders("flushed"), "nobody joined");
    assertInstanceOf(ExtendResult.Lost.class, lease.extend(TTL));
    lease.release();
    masters.awaitHolders(0, "flushed");
    assertEquals(List.of(LeaseEnd.Cause.REFUSED), events.causes());
  }

  @Test
  void masterThatCameBackEmptyJoinsARenewedLeaseWhenItMayVoteAgain() throws Exception {
    Redlock redlock = masters.connect(this::guarded);
    Lease lease = redlock.acquire(LeaseRequest.of("guarded", TTL).renewFor(Duration.ofMinutes(1)));
    masters.awaitHolders(5, "guarded");
    long start = System.nanoTime();
    masters.get(3).restart();
    masters.awaitHolders(5, "guarded");
    Duration took = Duration.ofNanos(System.nanoTime() - start);
    assertTrue(took.compareTo(ABSTENTION) > 0, "joined after " + took);
    assertEquals(lease.fencingToken(), masters.fence(3, "guarded"));
    assertTrue(lease.isValid());
    assertEquals(List.of(), events.causes());
  }
}
