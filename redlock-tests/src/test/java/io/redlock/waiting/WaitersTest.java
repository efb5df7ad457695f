package io.redlock.waiting;

import static io.redlock.testbed.Results.assertContended;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.AcquireResult;
import io.redlock.Lease;
import io.redlock.LeaseRequest;
import io.redlock.NodeStatus.State;
import io.redlock.Redlock;
import io.redlock.lease.LeaseMasters;
import io.redlock.testbed.Await;
import io.redlock.testbed.NodeView;
import io.redlock.testbed.RedisServer;
import io.redlock.testbed.RequiresRedis;
import io.redlock.testbed.Signal;
import io.redlock.testbed.StandStill;
import io.redlock.testkit.JavaProgram;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** Waiters that are killed, stopped, cancelled and interrupted while they queue. */
@RequiresRedis
@Execution(ExecutionMode.CONCURRENT)
class WaitersTest {

  @RegisterExtension final LeaseMasters masters = new LeaseMasters();

  private final String resource = "waiters";

  private LeaseRequest request() {
    return LeaseRequest.of(resource, Duration.ofSeconds(20)).waitUpTo(Duration.ofMinutes(2));
  }

  /** What is held until it is released, however slow the machine is. */
  private LeaseRequest renewed() {
    return request().renewFor(Duration.ofMinutes(10));
  }

  private LeaseRequest fair() {
    return request().fair();
  }

  /** How many wait in the queue of the resource, by every master that is alive. */
  private void awaitQueue(int waiters) {
    awaitQueue(waiters, Duration.ofMinutes(1));
  }

  private void awaitQueue(int waiters, Duration patience) {
    for (int node = 0; node < LeaseMasters.NODES; node++) {
      RedisServer server = masters.get(node);
      if (server.isAlive()) {
        Await.until(
            waiters + " in the queue",
            patience,
            () ->
                ((Long) server.command("ZCARD", "redlock:queue:" + resource)).intValue()
                    == waiters);
      }
    }
  }

  @Tag("servers")
  @Test
  void killedHeadOfTheQueueIsPassedOverAndTheOrderOfTheOthersIsKept() throws Exception {
    Lease held = masters.connect().acquire(renewed());
    try (StandStill machine = StandStill.watching();
        JavaProgram.Running killed = waiter()) {
      awaitQueue(1);
      CompletableFuture<AcquireResult> second = masters.connect().acquireAsync(fair());
      awaitQueue(2);
      CompletableFuture<AcquireResult> third = masters.connect().acquireAsync(fair());
      awaitQueue(3);
      killed.process.destroyForcibly();
      assertTrue(killed.process.waitFor(60, TimeUnit.SECONDS));
      held.release();
      Lease next = Await.value("the second is served", second).lease().orElseThrow();
      boolean isOvertaken = third.isDone();
      Duration stoodStill = machine.longest(); // a process that does so loses its place
      assertFalse(isOvertaken && stoodStill.compareTo(Duration.ofSeconds(1)) < 0);
      next.release();
      Await.value("the third is served", third).lease().orElseThrow().release();
    }
    awaitQueue(0);
  }

  @Tag("servers")
  @Test
  void stoppedHeadOfTheQueueIsPassedOverAndGetsItsTurnWhenItIsBack() throws Exception {
    Redlock alice = masters.connect();
    Lease held = alice.acquire(renewed());
    try (JavaProgram.Running stopped = waiter()) {
      awaitQueue(1);
      CompletableFuture<AcquireResult> second = masters.connect().acquireAsync(fair());
      awaitQueue(2);
      Signal.STOP.to(stopped.process);
      held.release();
      Lease next = Await.value("the second is served", second).lease().orElseThrow();
      Signal.CONT.to(stopped.process);
      next.release();
      assertTrue(WaitingClient.heldToken(stopped) > next.fencingToken());
      assertContended(alice.tryAcquire(resource, Duration.ofSeconds(20)));
    }
  }

  @Test
  void subscriptionComesWithTheFirstFairWaiterAndIsBackAfterTheMaster() throws Exception {
    Redlock alice = masters.connect();
    Redlock bob = masters.connect();
    alice.acquire(fair()).release();
    assertEquals(0, subscribers(0), "nobody had to wait");
    handOver(alice, bob);
    for (int node = 0; node < LeaseMasters.NODES; node++) {
      int each = node;
      Await.until("bob listens to node " + node, () -> subscribers(each) == 1);
    }
    masters.kill(0);
    for (Redlock client : List.of(alice, bob)) {
      Await.until("the death is noticed", () -> NodeView.state(client, 0) != State.UP);
    }
    masters.get(0).restart();
    masters.awaitUp(alice);
    masters.awaitUp(bob);
    handOver(alice, bob);
    Await.until("bob listens again", () -> subscribers(0) == 1);
  }

  private void handOver(Redlock from, Redlock to) throws InterruptedException, ExecutionException {
    Lease held = onAllMasters(from);
    CompletableFuture<AcquireResult> waiting = to.acquireAsync(fair());
    awaitQueue(2);
    held.release();
    Await.value("it is handed over", waiting).lease().orElseThrow().release();
    awaitQueue(0);
  }

  /** A majority is enough for a lease, and a holder does not ask the others again. */
  private Lease onAllMasters(Redlock client) throws InterruptedException {
    for (int tries = 0; tries < 10; tries++) {
      Lease held = client.acquire(fair());
      try {
        awaitQueue(1, Duration.ofSeconds(2));
        return held;
      } catch (AssertionError e) {
        held.release(); // a master was slow, or just being audited
      }
    }
    throw new AssertionError("no lease on all masters in ten tries");
  }

  private long subscribers(int node) {
    return ((List<?>) masters.get(node).command("PUBSUB", "CHANNELS", "redlock:wake:*")).size();
  }

  @Tag("servers")
  @Test
  void queueRunsOutByItselfWhenAllWhoWaitedAreDead() throws Exception {
    Lease held = masters.connect().acquire(renewed());
    try (JavaProgram.Running waiter = waiter()) {
      awaitQueue(1);
      waiter.process.destroyForcibly();
    }
    held.release();
    for (int node = 0; node < LeaseMasters.NODES; node++) {
      RedisServer server = masters.get(node);
      Await.until(
          "nothing is left of the queue",
          () ->
              server.keys("redlock:queue:" + resource).isEmpty()
                  && server.keys("redlock:ends:" + resource).isEmpty());
    }
  }

  /** A waiter in a process of its own. */
  private JavaProgram.Running waiter() throws IOException {
    return WaitingClient.start("fair", resource, masters.addresses());
  }
}
