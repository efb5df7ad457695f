package io.redlock.simulation;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.AcquireResult;
import io.redlock.Lease;
import io.redlock.LeaseRequest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** I7 with up to ten thousand callers that wait for one name in one process. */
class ManyWaitersTest {

  private static final Duration WAIT = Duration.ofMillis(400);
  private static final Duration TTL = Duration.ofMillis(300);

  private final Plan plan = plan();
  private final World world =
      new World(new Trace(false), EnumSet.noneOf(Invariant.class), 10_000_000);
  private final Checker checker = new Checker(world, plan);
  private final FaultCount faults = new FaultCount();
  private final List<SimServer> servers = new ArrayList<>();
  private final SimClient client = client();

  private static Plan plan() {
    Plan plan = Plan.of(1).only();
    plan.nodes = 3;
    plan.sessions = 0;
    plan.maxTtlMillis = 1_000;
    plan.nodeTimeoutNanos = 20 * Plan.MILLI;
    plan.silenceTimeoutNanos = 2_000 * Plan.MILLI;
    plan.connectTimeoutNanos = plan.silenceTimeoutNanos;
    plan.jitterNanos = 0;
    plan.adopted = true;
    return plan;
  }

  private SimClient client() {
    SimRandom random = new SimRandom(1);
    List<Link> links = new ArrayList<>();
    for (int i = 0; i < plan.nodes; i++) {
      SimClock clock = new SimClock(world, Simulation.EPOCH_NANOS, 0);
      servers.add(new SimServer(i, world, clock, new Parts(), checker, plan, faults));
      links.add(new Link(world, plan, random, faults, Plan.MILLI));
    }
    return new SimClient("c", world, plan, new Parts(), checker, servers, links, random, faults);
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 600, 10_000})
  void everyCallEndsInItsTimeWhileMastersAreDown(int callers) throws Exception {
    onASmallStack(
        () -> {
          servers.forEach(SimServer::crash);
          client.start();
          pass(100);
          callTogether(callers);
          comeBack();
        });
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 600, 10_000})
  void everyCallEndsInItsTimeWhereMastersAreKilledShortlyBefore(int callers) throws Exception {
    onASmallStack(
        () -> {
          client.start();
          pass(100);
          CompletableFuture<AcquireResult> holder = acquire(Duration.ZERO);
          pass(10);
          assertTrue(holder.join().optionalLease().isPresent());
          world.after(WAIT.toNanos() - 30 * Plan.MILLI, () -> servers.forEach(SimServer::crash));
          callTogether(callers);
          comeBack();
        });
  }

  /** How deep the stack gets must not depend on the number of callers. */
  private static void onASmallStack(Runnable test) throws Exception {
    FutureTask<Void> task = new FutureTask<>(test, null);
    new Thread(null, task, "small stack", 512 << 10).start();
    task.get();
  }

  private void pass(long millis) {
    world.runUntil(world.nowNanos() + millis * Plan.MILLI);
  }

  private SimClient.Life life() {
    SimClient.Life life = client.life();
    if (life == null) {
      throw new IllegalStateException("not running");
    }
    return life;
  }

  private CompletableFuture<AcquireResult> acquire(Duration wait) {
    LeaseRequest request = LeaseRequest.of("r0", TTL);
    return life().redlock.acquireAsync(wait.isZero() ? request : request.waitUpTo(wait));
  }

  /** So many callers begin to wait at the same moment. */
  private void callTogether(int callers) {
    int[] ended = {0};
    for (int i = 0; i < callers; i++) {
      CallChecks.Call call =
          checker.calls.begins(
              life().process, "caller " + i, WAIT.toNanos() + plan.nodeTimeoutNanos);
      acquire(WAIT)
          .thenAccept(
              result -> {
                call.done();
                ended[0]++;
                result.optionalLease().ifPresent(Lease::close);
              });
    }
    pass(WAIT.toMillis() + 100);
    assertNull(world.violation());
    assertEquals(callers, ended[0]);
  }

  /** The name and the lock service have taken no harm. */
  private void comeBack() {
    servers.forEach(SimServer::restart);
    // Restarted nodes abstain until what they may have granted before has ended.
    CompletableFuture<AcquireResult> after = acquire(Duration.ofSeconds(10));
    pass(10_000 + 100);
    assertTrue(after.join().optionalLease().isPresent(), () -> after.join().toString());
    assertNull(world.violation());
  }
}
