package io.redlock.lease;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.ExtendResult;
import io.redlock.Lease;
import io.redlock.LeaseEnd;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import io.redlock.testbed.Await;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** A renewed lease beyond its ttl, through failures, and to its end. */
@Tag("servers")
@Execution(ExecutionMode.CONCURRENT)
class LeaseRenewalTest {

  /** So long that a busy machine renews in time. */
  private static final Duration TTL = Duration.ofSeconds(9);

  private static final Duration NODE_TIMEOUT = Duration.ofMillis(700);
  private static final Duration LONG = Duration.ofHours(1);

  /** For a busy machine: nobody else wants these resources. */
  private static final Duration WAIT = Duration.ofMinutes(1);

  @RegisterExtension final LeaseMasters masters = new LeaseMasters();

  private final LeaseEvents events = new LeaseEvents();

  private Redlock connect() {
    return masters.connect(settings -> settings.nodeTimeout(NODE_TIMEOUT).listener(events));
  }

  private static LeaseRequest request(String resource) {
    return LeaseRequest.of(resource, TTL).waitUpTo(WAIT);
  }

  /** One that was under way may be told late. */
  private void assertNoMoreExtends(Duration span, String why) throws InterruptedException {
    long told = events.extended.size();
    Thread.sleep(span.toMillis());
    assertTrue(events.extended.size() <= told + 1, why);
  }

  @Test
  void minorityThatDiesIsNotMissedAndJoinsAgainWhenItIsBack() throws Exception {
    Redlock redlock = connect();
    Lease lease = redlock.acquire(request("minority").renewFor(LONG));
    masters.kill(0, 4);
    long extended = events.count(ExtendResult.Outcome.EXTENDED);
    Await.until(
        "renewals on three nodes, for more than a ttl",
        () -> events.count(ExtendResult.Outcome.EXTENDED) >= extended + 4);
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
    Redlock redlock = connect();
    Duration ttl = Duration.ofSeconds(20);
    Lease lease =
        redlock.acquire(LeaseRequest.of("short outage", ttl).waitUpTo(WAIT).renewFor(LONG));
    masters.pause(0, 1, 2);
    Await.until("a renewal has failed", () -> events.count(ExtendResult.Outcome.UNKNOWN) > 0);
    assertEquals(0, events.count(ExtendResult.Outcome.EXTENDED));
    masters.resume(0, 1, 2);
    Await.until("the renewal succeeds", () -> events.count(ExtendResult.Outcome.EXTENDED) > 0);
    assertTrue(lease.isValid());
    assertTrue(lease.remaining().compareTo(ttl.dividedBy(2)) > 0);
    assertEquals(List.of(), events.causes());
  }

  @Test
  void outageOfTheMajorityThatLastsEndsTheLeaseBeforeItsDeadline() throws Exception {
    Duration ttl = Duration.ofSeconds(15);
    Duration margin = Duration.ofSeconds(6);
    Redlock redlock =
        masters.connect(
            settings -> settings.nodeTimeout(NODE_TIMEOUT).lossMargin(margin).listener(events));
    Lease lease =
        redlock.acquire(LeaseRequest.of("long outage", ttl).waitUpTo(WAIT).renewFor(LONG));
    Await.until("a renewal", () -> events.count(ExtendResult.Outcome.EXTENDED) > 0);
    masters.kill(2, 3, 4);
    Await.until("the loss", () -> !events.ended.isEmpty());
    assertFalse(lease.isValid());

    LeaseEvents.Extend last =
        events.extended.stream()
            .filter(extend -> extend.result().outcome() == ExtendResult.Outcome.EXTENDED)
            .reduce((former, latter) -> latter)
            .orElseThrow();
    Duration remaining = last.result().remaining().orElseThrow();
    long lossNanos = last.atNanos() + remaining.toNanos(); // told late rather than early
    long lateNanos = events.ended.get(0).atNanos() - lossNanos;
    assertTrue(lateNanos < margin.toNanos(), "the margin; late by " + lateNanos);
    assertNoMoreExtends(Duration.ofSeconds(2), "a lost lease is not renewed");
    assertEquals(List.of(LeaseEnd.Cause.EXPIRED), events.causes());
  }
}
