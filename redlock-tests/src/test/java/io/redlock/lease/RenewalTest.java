package io.redlock.lease;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.ExtendResult;
import io.redlock.Lease;
import io.redlock.LeaseEnd;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import io.redlock.testkit.Await;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** A renewed lease over many ttls, through failures, and to its end. */
class RenewalTest {

  private static final Duration TTL = Duration.ofMillis(600);
  private static final Duration LONG = Duration.ofHours(1);

  @RegisterExtension static final Masters masters = new Masters();

  private final LeaseEvents events = new LeaseEvents();

  @Test
  void leaseIsHeldWithoutAGapOverManyTtls() throws Exception {
    Redlock redlock =
        masters.connect(settings -> settings.nodeTimeout(Duration.ofMillis(200)).listener(events));
    Redlock contender = masters.connect();
    Lease lease = redlock.acquire(LeaseRequest.of("long", TTL).renewFor(LONG));
    long token = lease.fencingToken();
    long start = System.nanoTime();
    int refused = 0;
    while (System.nanoTime() - start < 6 * TTL.toNanos()) {
      assertTrue(lease.isValid());
      assertTrue(contender.tryAcquire("long", TTL).lease().isEmpty());
      refused++;
      assertTrue(masters.pttl(refused % 5, "long") <= TTL.toMillis());
      Thread.sleep(5);
    }
    assertTrue(refused > 100, "asked " + refused + " times");
    assertEquals(token, lease.fencingToken());
    assertTrue(events.count(ExtendResult.Extended.class) >= 17, "every third of a ttl");
    lease.release();
    masters.awaitHolders(0, "long");
    long extended = events.extended.size();
    Thread.sleep(TTL.toMillis());
    assertEquals(extended, events.extended.size(), "a released lease is not renewed");
    assertEquals(List.of(LeaseEnd.Cause.RELEASED), events.causes());
  }

  @Test
  void renewalEndsWithTheLongestHoldAndTheLeaseRunsOut() throws Exception {
    Redlock redlock =
        masters.connect(settings -> settings.nodeTimeout(Duration.ofMillis(200)).listener(events));
    Duration maxHold = Duration.ofMillis(1_000);
    long start = System.nanoTime();
    Lease lease = redlock.acquire(LeaseRequest.of("hung holder", TTL).renewFor(maxHold));
    LeaseEnd end = Await.value("the end", lease.ended().toCompletableFuture());
    long held = System.nanoTime() - start;
    assertEquals(LeaseEnd.Cause.MAX_HOLD, end.cause());
    assertTrue(held > maxHold.toNanos(), "held for " + held);
    assertTrue(held < maxHold.plus(TTL).toNanos(), "held for " + held);
    masters.awaitHolders(0, "hung holder");
    assertTrue(redlock.tryAcquire("hung holder", TTL).lease().isPresent());
  }

  @Test
  void minorityThatDiesIsNotMissedAndJoinsAgainWhenItIsBack() throws Exception {
    Redlock redlock =
        masters.connect(settings -> settings.nodeTimeout(Duration.ofMillis(200)).listener(events));
    Lease lease = redlock.acquire(LeaseRequest.of("minority", TTL).renewFor(LONG));
    masters.kill(0, 4);
    long extended = events.count(ExtendResult.Extended.class);
    Await.until(
        "three ttls of renewals on three nodes",
        () -> events.count(ExtendResult.Extended.class) >= extended + 9);
    assertEquals(3, masters.holders("minority"));
    masters.get(0).restart();
    masters.get(4).restart();
    masters.awaitHolders(5, "minority");
    assertTrue(lease.isValid());
    assertEquals(lease.fencingToken(), masters.fence(4, "minority"));
    assertEquals(List.of(), events.causes());
  }

  @Test
  void outageOfTheMajorityThatIsShorterThanTheLeaseIsSurvived() throws Exception {
    Redlock redlock =
        masters.connect(settings -> settings.nodeTimeout(Duration.ofMillis(200)).listener(events));
    Duration ttl = Duration.ofSeconds(3);
    Lease lease = redlock.acquire(LeaseRequest.of("short outage", ttl).renewFor(LONG));
    masters.pause(0, 1, 2);
    Await.until(
        "the renewal has been tried again and again",
        () -> events.count(ExtendResult.Unknown.class) >= 3);
    masters.resume(0, 1, 2);
    Await.until("the renewal succeeds", () -> events.count(ExtendResult.Extended.class) > 0);
    assertTrue(lease.isValid());
    assertTrue(lease.remaining().compareTo(Duration.ofSeconds(2)) > 0);
    assertEquals(List.of(), events.causes());
  }

  @Test
  void outageOfTheMajorityThatLastsEndsTheLeaseBeforeItsDeadline() throws Exception {
    Redlock redlock =
        masters.connect(settings -> settings.nodeTimeout(Duration.ofMillis(200)).listener(events));
    Duration ttl = Duration.ofSeconds(1);
    Lease lease = redlock.acquire(LeaseRequest.of("long outage", ttl).renewFor(LONG));
    Await.until("a renewal", () -> events.count(ExtendResult.Extended.class) > 0);
    masters.kill(2, 3, 4);
    Await.until("the loss", () -> !events.ended.isEmpty());
    assertFalse(lease.isValid());

    LeaseEvents.Extend last =
        events.extended.stream()
            .filter(extend -> extend.result() instanceof ExtendResult.Extended)
            .reduce((former, latter) -> latter)
            .orElseThrow();
    Duration remaining = ((ExtendResult.Extended) last.result()).remaining();
    long lossNanos = last.atNanos() + remaining.toNanos(); // told late rather than early
    long lateNanos = events.ended.get(0).atNanos() - lossNanos;
    assertTrue(lateNanos < Duration.ofMillis(100).toNanos(), "the margin; late by " + lateNanos);
    long calls = events.extended.size();
    Thread.sleep(500);
    assertEquals(calls, events.extended.size(), "a lost lease is not renewed");
    assertEquals(List.of(LeaseEnd.Cause.EXPIRED), events.causes());
  }
}
