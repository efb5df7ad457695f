package io.redlock.simulation;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.AcquireResult;
import io.redlock.Lease;
import io.redlock.LeaseRequest;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * I7 with up to ten thousand callers that wait for one name in one process, over real lanes: what
 * {@code CrowdTest} of the core asserts of nodes that answer at once or never.
 */
class ManyWaitersTest {

  private static final Duration TTL = Duration.ofMillis(300);

  private final SimPlan plan = plan();
  private final SimWorld world = new SimWorld(plan);
  private final Checker checker = world.checker;
  private final List<SimServer> servers = world.servers;
  private final SimClient client;
  private int ended;

  ManyWaitersTest() {
    for (int i = 0; i < plan.nodes; i++) {
      new SimServer(world);
    }
    SimServer.adopt(servers, true);
    client = new SimClient("c", world, new SimRandom(1), node -> plan.hopNanos);
  }

  private static SimPlan plan() {
    SimPlan plan = SimPlan.of(1).only();
    plan.nodes = 3;
    plan.maxSteps = 10_000_000;
    plan.sessions = 0;
    plan.maxTtlMillis = 1_000;
    plan.nodeTimeoutNanos = 20 * SimPlan.MILLI;
    plan.silenceTimeoutNanos = 2_000 * SimPlan.MILLI;
    plan.connectTimeoutNanos = plan.silenceTimeoutNanos;
    plan.hopNanos = 8 * SimPlan.MILLI; // so that an attempt takes nearly a node timeout
    plan.jitterNanos = 0;
    return plan;
  }

  /**
   * The timers of all waits are late, as their thread stands still. Meanwhile another thread
   * reports to the head of the queue that its attempt has failed: it gives up, so does the next,
   * and so on. Two at the end of the queue are more patient, and both acquire the lease in the end.
   */
  @ParameterizedTest
  @ValueSource(ints = {1, 600, 10_000})
  void everyCallEndsInItsTimeWhereMastersAreKilledWhileTimersAreLate(int callers) throws Exception {
    onASmallStack(
        () -> {
          client.start();
          pass(500);
          callTogether(callers, 10);
          List<CompletableFuture<AcquireResult>> patient = List.of(waits(10_000), waits(10_000));
          servers.forEach(SimServer::pause);
          SimProcess process = life().process;
          life()
              .scheduler
              .timer(() -> process.standStill(60 * SimPlan.MILLI))
              .set(process.monotonic.nanos());
          world.after(30 * SimPlan.MILLI, () -> servers.forEach(SimServer::crash));
          world.after(40 * SimPlan.MILLI, () -> assertAllEnded(callers));
          pass(100);
          servers.forEach(SimServer::restart);
          pass(10_000);
          patient.forEach(this::assertGotTheLease);
        });
  }

  /** How deep the stack gets must not depend on the number of callers. */
  private static void onASmallStack(Runnable test) throws Exception {
    FutureTask<Void> task = new FutureTask<>(test, null);
    new Thread(null, task, "small stack", 512 << 10).start();
    task.get();
  }

  private void pass(long millis) {
    world.runUntil(world.nowNanos() + millis * SimPlan.MILLI);
  }

  private SimClient.Life life() {
    return Objects.requireNonNull(client.life());
  }

  /** A caller that lets go of its lease at once. */
  private CompletableFuture<AcquireResult> waits(long waitMillis) {
    LeaseRequest request = LeaseRequest.of("r0", TTL).waitUpTo(Duration.ofMillis(waitMillis));
    CallChecks.Call call = checker.calls.beginsToAcquire(life().process, request);
    CompletableFuture<AcquireResult> waiter = life().redlock.acquireAsync(request);
    waiter.thenRun(call::done);
    waiter.thenAccept(result -> result.lease().ifPresent(Lease::close));
    return waiter;
  }

  /** So many callers begin to wait at the same moment. */
  private void callTogether(int callers, long waitMillis) {
    for (int i = 0; i < callers; i++) {
      waits(waitMillis).thenRun(() -> ended++);
    }
  }

  private void assertAllEnded(int callers) {
    assertNull(world.violation());
    assertEquals(callers, ended);
  }

  private void assertGotTheLease(CompletableFuture<AcquireResult> waiter) {
    assertNull(world.violation());
    assertTrue(waiter.join().lease().isPresent(), () -> waiter.join().toString());
  }
}
