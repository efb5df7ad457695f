package io.redlock.lease;

import static io.redlock.testbed.Results.assertContended;
import static io.redlock.testbed.Results.assertExtended;
import static io.redlock.testbed.Results.assertLost;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.AcquireResult;
import io.redlock.Lease;
import io.redlock.LeaseEnd;
import io.redlock.LeaseLostException;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import io.redlock.ReleaseResult;
import io.redlock.Votes;
import io.redlock.spi.Scheduler;
import io.redlock.testbed.Await;
import io.redlock.testkit.InMemoryNode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.Test;

/** What can only be shown with clocks in hand. */
class VirtualTimeLeaseTest {

  private static final Duration TTL = Duration.ofSeconds(10);
  private static final Duration MARGIN = Duration.ofSeconds(1);

  /** ttl less one percent and two milliseconds. */
  private static final Duration VALIDITY = Duration.ofMillis(9_898);

  private final VirtualCluster cluster = new VirtualCluster();

  @Test
  void lostLeaseKeepsItsKeysForItsMargin() throws Exception {
    try (Redlock redlock = cluster.client()) {
      Lease lease = redlock.acquire("r", TTL, Duration.ZERO);
      List<LeaseEnd> ends = ends(lease);
      cluster.scheduler.runFor(VALIDITY.minus(MARGIN).minusNanos(1));
      assertTrue(lease.isValid());
      assertEquals(List.of(), ends);

      cluster.scheduler.runFor(Duration.ofNanos(1));
      assertEquals(LeaseEnd.Cause.EXPIRED, ends.get(0).cause());
      assertFalse(lease.isValid());

      cluster.scheduler.runFor(MARGIN.minusNanos(1));
      assertEquals(5, cluster.locked("r"), "the holder may still be stopping");
      assertContended(redlock.tryAcquire("r", TTL));

      cluster.scheduler.runFor(Duration.ofNanos(1));
      assertEquals(0, cluster.locked("r"), "its time is over");
      assertEquals(1, ends.size());
    }
  }

  @Test
  void holderThatReleasesALostLeaseFreesTheResourceAtOnce() throws Exception {
    try (Redlock redlock = cluster.client()) {
      Lease lease = redlock.acquire("r", TTL, Duration.ZERO);
      List<LeaseEnd> ends = ends(lease);
      cluster.scheduler.runFor(VALIDITY.minus(MARGIN));
      assertEquals(5, cluster.locked("r"));
      assertEquals(ReleaseResult.RELEASED, lease.release());
      assertEquals(0, cluster.locked("r"));
      assertEquals(List.of(LeaseEnd.Cause.EXPIRED), ends.stream().map(LeaseEnd::cause).toList());
      cluster.scheduler.runFor(Duration.ofMillis(100));
      assertEquals(0, cluster.scheduler.pending());
    }
  }

  @Test
  void wallClockSetForwardTakesTheRightButNotTheTimeToStop() throws Exception {
    try (Redlock redlock = cluster.client()) {
      Lease lease = redlock.acquire("r", TTL, Duration.ZERO);
      List<LeaseEnd> ends = ends(lease);
      cluster.ticker.stepWall(Duration.ofHours(1));
      assertFalse(lease.isValid());
      cluster.scheduler.runFor(Duration.ofMillis(50));
      assertEquals(1, ends.size());
      assertEquals(5, cluster.locked("r"));
      cluster.scheduler.runFor(VALIDITY);
      assertEquals(0, cluster.locked("r"));
    }
  }

  @Test
  void suspendedMachineKnowsAtOnceThatItsLeasesAreOver() throws Exception {
    try (Redlock redlock = cluster.client()) {
      Lease first = redlock.acquire("1", TTL, Duration.ZERO);
      Lease second = redlock.acquire("2", TTL, Duration.ZERO);
      Lease third = redlock.acquire("3", TTL, Duration.ZERO);
      Lease fourth = redlock.acquire("4", TTL, Duration.ZERO);
      Lease watched = redlock.acquire("5", TTL, Duration.ZERO);
      List<LeaseEnd> ends = ends(watched);
      cluster.ticker.suspend(TTL);
      assertFalse(first.isValid());
      assertEquals(Duration.ZERO, second.remaining());
      assertThrows(LeaseLostException.class, () -> third.ensureValid(Duration.ZERO));
      assertLost(fourth.extend(TTL));
      cluster.scheduler.runFor(Duration.ofMillis(50));
      assertEquals(List.of(LeaseEnd.Cause.EXPIRED), ends.stream().map(LeaseEnd::cause).toList());
    }
  }

  @Test
  void suspensionIsSeenAlsoAfterTheWallClockWasSetBack() throws Exception {
    try (Redlock redlock = cluster.client()) {
      Lease lease = redlock.acquire("r", TTL, Duration.ZERO);
      cluster.ticker.stepWall(Duration.ofHours(-1));
      cluster.ticker.advance(Duration.ofMillis(1));
      assertExtended(lease.extend(TTL));
      assertTrue(lease.isValid());
      cluster.ticker.suspend(TTL);
      assertFalse(lease.isValid(), "the deadline is the last extension's, on both clocks");
    }
  }

  @Test
  void releaseThatNeverReachesANodeIsGivenUpWhenTheKeyHasRunOut() throws Exception {
    List<InMemoryNode> nodes = cluster.nodes();
    try (Redlock redlock = cluster.client(nodes).build()) {
      Lease lease = redlock.acquire("r", TTL, Duration.ZERO);
      nodes.get(4).holdSends();
      assertEquals(ReleaseResult.RELEASED, lease.release());
      cluster.scheduler.runFor(Duration.ofSeconds(14)); // ttl + skew 2 s + 1 s + node timeout
      assertEquals(0, cluster.scheduler.pending());
      cluster.servers.get(4).loseData();
      nodes.get(4).letGo();
      assertEquals(0, cluster.servers.get(4).cell("r").counter(), "no tombstone: it was withdrawn");
    }
  }

  @Test
  void repeatsOfAReleaseToADeadNodeEnd() throws Exception {
    List<InMemoryNode> nodes = cluster.nodes();
    try (Redlock redlock = cluster.client(nodes).build()) {
      Lease lease = redlock.acquire("r", TTL, Duration.ZERO);
      nodes.get(4).holdRequests();
      assertEquals(ReleaseResult.RELEASED, lease.release());
      for (int second = 0; second < 20; second++) {
        nodes.get(4).cut(); // the answer is lost each time
        cluster.scheduler.runFor(Duration.ofSeconds(1));
      }
      assertEquals(0, nodes.get(4).requestsOnTheWay());
      assertEquals(0, cluster.scheduler.pending());
    }
  }

  @Test
  void futureThatItsUserCompletesGivesUpAsIfItWereCancelled() throws Exception {
    try (Redlock redlock = cluster.client()) {
      Lease held = redlock.acquire("r", TTL, Duration.ZERO);
      LeaseRequest patient = LeaseRequest.of("r", TTL).waitUpTo(Duration.ofSeconds(60));
      int timers = cluster.scheduler.pending();
      CompletableFuture<AcquireResult> timedOut = redlock.acquireAsync(patient);
      CompletableFuture<AcquireResult> answered = redlock.acquireAsync(patient);
      timedOut.completeExceptionally(new TimeoutException("as orTimeout does"));
      answered.complete(AcquireResult.unavailable(new Votes(List.of(), 3)));
      assertEquals(timers, cluster.scheduler.pending(), "nobody waits any more");
      held.release();
      cluster.scheduler.runFor(Duration.ofMillis(100));
      assertEquals(0, cluster.locked("r"));
      assertEquals(0, cluster.scheduler.pending());
    }
  }

  @Test
  void callbacksThatTheExecutorRefusesRunNeitherOnALaneNorOnTheScheduler() throws Exception {
    CountDownLatch never = new CountDownLatch(1);
    CompletableFuture<Thread> ran = new CompletableFuture<>();
    try (Redlock redlock =
        cluster
            .client(cluster.nodes())
            .callbackExecutor(
                callback -> {
                  throw new RejectedExecutionException("full");
                })
            .build()) {
      Lease lease = redlock.acquire("r", TTL, Duration.ZERO);
      lease
          .ended()
          .thenRun(
              () -> {
                ran.complete(Thread.currentThread());
                awaitQuietly(never);
              });
      cluster.scheduler.runFor(TTL);
      assertNotEquals(Thread.currentThread(), Await.value("the callback runs", ran));
    } finally {
      never.countDown();
    }
  }

  @Test
  void leaseThatRanOutBeforeItWasHandedOutLeavesNoRenewal() throws Exception {
    boolean[] jumps = {false};
    Scheduler jumping =
        new Scheduler() {
          @Override
          public Cancellable schedule(Runnable task, long delayNanos) {
            if (jumps[0]) {
              jumps[0] = false;
              cluster.ticker.advance(Duration.ofHours(1));
            }
            return cluster.scheduler.schedule(task, delayNanos);
          }

          @Override
          public void close() {
            cluster.scheduler.close();
          }
        };
    List<InMemoryNode> nodes = cluster.nodes();
    try (Redlock redlock = cluster.client(nodes, jumping).build()) {
      nodes.forEach(InMemoryNode::holdReplies);
      CompletableFuture<AcquireResult> future =
          redlock.acquireAsync(LeaseRequest.of("r", TTL).renewFor(Duration.ofDays(1)));
      jumps[0] = true; // the process stands still for an hour while it makes the lease
      nodes.forEach(InMemoryNode::letGo);
      Lease lease = future.join().lease().orElseThrow();
      assertFalse(lease.isValid());
      cluster.scheduler.runFor(Duration.ofMillis(100));
      assertEquals(0, cluster.scheduler.pending());
    }
  }

  private static List<LeaseEnd> ends(Lease lease) {
    List<LeaseEnd> ends = new ArrayList<>();
    lease.ended().thenAccept(ends::add);
    return ends;
  }

  private static void awaitQuietly(CountDownLatch latch) {
    try {
      latch.await(60, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
