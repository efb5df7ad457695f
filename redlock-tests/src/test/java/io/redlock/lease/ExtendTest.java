package io.redlock.lease;

import static io.redlock.testbed.Results.assertContended;
import static io.redlock.testbed.Results.assertExtended;
import static io.redlock.testbed.Results.assertLost;
import static io.redlock.testbed.Results.assertUnknown;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.ExtendResult;
import io.redlock.Lease;
import io.redlock.LeaseEnd;
import io.redlock.Redlock;
import io.redlock.Votes;
import io.redlock.testbed.Await;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** What an extend heals, what it refuses to, and what it must not believe. */
@Execution(ExecutionMode.CONCURRENT)
class ExtendTest {

  private static final Duration TTL = Duration.ofSeconds(20);

  /** What is left is the less of what two clocks say, one of them in microseconds and adjusted. */
  private static final long SLACK_NANOS = 100_000_000;

  @RegisterExtension final LeaseMasters masters = new LeaseMasters();

  @Test
  void nodesThatWereDownAtTheAcquireJoinLater() throws Exception {
    masters.kill(1, 2);
    Redlock redlock = masters.connect();
    Lease lease = redlock.acquire("late", TTL, TTL);
    assertEquals(3, masters.holders("late"));
    masters.get(1).restart();
    masters.get(2).restart();

    extendUntilHeldBy(5, lease, "late");
    assertEquals(lease.fencingToken(), masters.fence(1, "late"));
    masters.kill(3, 4); // two of the three that granted it: the lease rests on those that joined
    assertExtended(lease.extend(TTL));
    lease.release();
    masters.awaitHolders(0, "late");
  }

  @Test
  void nodeThatAContenderHasTouchedIsLeftToIt() throws Exception {
    masters.kill(4);
    Redlock redlock = masters.connect();
    Lease lease = redlock.acquire("touched", TTL, TTL);
    masters.awaitHolders(4, "touched");
    masters.get(4).restart();
    Redlock contender = masters.connect();
    assertContended(contender.tryAcquire("touched", TTL));
    Await.until(
        "the contender has taken its grant back, and left its token",
        () ->
            masters.owner(4, "touched").isEmpty()
                && masters.fence(4, "touched") > lease.fencingToken());
    long tombstone = masters.fence(4, "touched");

    masters.awaitUp(redlock);
    assertExtended(lease.extend(TTL));
    redlock.acquire("after the extend", TTL, TTL); // in every node's line
    masters.awaitHolders(5, "after the extend");
    assertEquals("", masters.owner(4, "touched"));
    assertEquals(tombstone, masters.fence(4, "touched"));
    assertEquals(4, masters.holders("touched"));
  }

  @Test
  void majorityThatRefusesEndsTheLeaseAtOnceAndForGood() throws Exception {
    LeaseEvents events = new LeaseEvents();
    Redlock redlock = masters.connect(settings -> settings.listener(events));
    Lease lease = redlock.acquire("deleted", TTL, TTL);
    masters.awaitHolders(5, "deleted");
    String losersOwner = masters.owner(0, "deleted");
    IntStream.of(0, 1, 2).forEach(node -> masters.get(node).command("DEL", "deleted"));
    Redlock other = masters.connect();
    Lease winner = other.acquire("deleted", TTL, TTL);
    assertTrue(winner.fencingToken() > lease.fencingToken());
    String winnersOwner = masters.owner(0, "deleted");

    ExtendResult lost = assertLost(lease.extend(TTL));
    assertEquals(3, lost.votes().count(Votes.Vote.UNABLE), lost.votes().toString());
    assertFalse(lease.isValid());
    assertEquals(Duration.ZERO, lease.remaining());
    LeaseEnd end = Await.value("the lease ends", lease.ended().toCompletableFuture());
    assertEquals(LeaseEnd.Cause.REFUSED, end.cause());

    assertExtended(winner.extend(TTL));
    lease.release();
    Await.until(
        "the loser's keys are gone",
        () ->
            IntStream.range(0, 5).noneMatch(n -> masters.owner(n, "deleted").equals(losersOwner)));
    assertEquals(winnersOwner, masters.owner(0, "deleted"));
    winner.release();
    masters.awaitHolders(0, "deleted");

    assertLost(lease.extend(TTL));
    assertFalse(lease.isValid());
    Await.until("the end is told", () -> !events.ended.isEmpty());
    assertEquals(List.of(LeaseEnd.Cause.REFUSED), events.causes());
    assertEquals(0, masters.holders("deleted"));
  }

  @Test
  void unknownNeverLengthensNorDoesItsLateAnswer() throws Exception {
    Redlock redlock = masters.connect();
    Lease lease = redlock.acquire("silent", TTL, TTL);
    masters.awaitHolders(5, "silent");
    Await.until("a second has passed", () -> lease.remaining().toMillis() < 16_800);

    long[] keyEnds = IntStream.of(0, 1, 2).mapToLong(this::latestKeyEndMillis).toArray();
    masters.pause(0, 1, 2);
    long before = latestLossNanos(lease);
    assertUnknown(lease.extend(TTL));
    assertNotLengthened(before, lease);
    masters.resume(0, 1, 2);
    Await.until(
        "the late extends are executed",
        () -> IntStream.of(0, 1, 2).allMatch(node -> soonestKeyEndMillis(node) > keyEnds[node]));
    masters.awaitUp(redlock); // their answers have been read
    assertNotLengthened(before, lease);

    assertExtended(lease.extend(TTL));
    assertTrue(soonestLossNanos(lease) > before + SLACK_NANOS);
    lease.release();
  }

  @Test
  void answerThatComesAfterTheLossRevivesNothing() throws Exception {
    LeaseEvents events = new LeaseEvents();
    Redlock redlock =
        masters.open(
            masters
                .settingsThroughProxies()
                .nodeTimeout(Duration.ofMillis(5_900)) // longer than the lease is good for
                .lossMargin(Duration.ofMillis(6_900))
                .listener(events));
    Lease lease = redlock.acquire("too late", Duration.ofSeconds(12), TTL);
    masters.awaitHolders(5, "too late");
    IntStream.range(0, 5).forEach(node -> masters.proxy(node).replies().hold());
    CompletableFuture<ExtendResult> late = lease.extendAsync(Duration.ofSeconds(20));
    Await.until("it is executed", () -> masters.pttl(0, "too late") > 15_000);
    LeaseEnd end = Await.value("the loss", lease.ended().toCompletableFuture());
    IntStream.range(0, 5).forEach(node -> masters.proxy(node).replies().open());

    assertEquals(LeaseEnd.Cause.EXPIRED, end.cause());
    assertLost(Await.value("the answer", late));
    assertFalse(lease.isValid());
    masters.awaitHolders(0, "too late"); // released at the deadline, long before the keys run out
    Await.until("the loss is told", () -> !events.ended.isEmpty());
    assertEquals(1, events.ended.size());
  }

  private static void assertNotLengthened(long lostNanos, Lease lease) {
    assertTrue(soonestLossNanos(lease) <= lostNanos + SLACK_NANOS);
  }

  // This thread may stand still between two readings: it is known in which order they are taken.

  private static long soonestLossNanos(Lease lease) {
    return System.nanoTime() + lease.remaining().toNanos();
  }

  private static long latestLossNanos(Lease lease) {
    return lease.remaining().toNanos() + System.nanoTime();
  }

  private long soonestKeyEndMillis(int node) {
    return System.nanoTime() / 1_000_000 + masters.pttl(node, "silent");
  }

  private long latestKeyEndMillis(int node) {
    return masters.pttl(node, "silent") + System.nanoTime() / 1_000_000 + 1;
  }

  private void extendUntilHeldBy(int count, Lease lease, String resource) {
    Await.until(
        count + " nodes hold " + resource,
        () -> {
          assertExtended(lease.extendAsync(TTL).join());
          return masters.holders(resource) == count;
        });
  }
}
