package io.redlock.simulation;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.redlock.simulation.SimCommand.Known;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest.Grant;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Histories made by hand for I24: who waits for any one of several names, and which are free. */
class PermitChecksTest {

  private static final long TTL_MILLIS = 1_000;

  private static final List<String> PERMITS = List.of("r0", "r1");

  private final SimPlan plan = plan();
  private final SimWorld world =
      new SimWorld(new SimTrace(false), EnumSet.noneOf(SimInvariant.class), 1_000_000);
  private final Checker checker = new Checker(world, plan);
  private final List<SimServer> servers = new ArrayList<>();

  private static SimPlan plan() {
    SimPlan plan = SimPlan.of(1).only();
    plan.nodes = 3;
    plan.maxTtlMillis = (int) TTL_MILLIS;
    plan.nodeTimeoutNanos = 20 * SimPlan.MILLI;
    plan.sessions = 0;
    plan.adopted = true;
    plan.chaosNanos = 60_000 * SimPlan.MILLI;
    return plan;
  }

  private void pass(long millis) {
    world.runUntil(world.nowNanos() + millis * SimPlan.MILLI);
  }

  private void expectI24() {
    Violation violation = violation();
    assertNotNull(violation, "I24 was not noticed");
    assertEquals(SimInvariant.I24, violation.invariant(), violation::toString);
  }

  private void expectNothing() {
    assertNull(violation());
  }

  private @Nullable Violation violation() {
    world.after(0, () -> {});
    pass(1);
    return world.violation();
  }

  /** A client that does nothing of its own accord, and whose majorities are well. */
  private SimProcess watch() {
    List<SimLink> links = new ArrayList<>();
    SimRandom random = new SimRandom(1);
    for (int node = 0; node < plan.nodes; node++) {
      SimClock clock = new SimClock(world, Simulation.EPOCH_NANOS, 0);
      servers.add(new SimServer(node, world, clock, new Parts(), checker, plan, new FaultCount()));
      links.add(new SimLink(world, plan, random, new FaultCount(), SimPlan.MILLI));
    }
    SimClient client =
        new SimClient(
            "c", world, plan, new Parts(), checker, servers, links, random, new FaultCount());
    client.start();
    checker.permits.watch(PERMITS, servers, List.of(client));
    pass(1_000);
    return Objects.requireNonNull(client.life()).process;
  }

  private void take(String name, int... nodes) {
    Grant grant = new Grant(List.of(name), "b#" + name, Simulation.trueMicros(world), TTL_MILLIS);
    for (int node : nodes) {
      assertEquals(NodeReply.GRANTED, servers.get(node).execute(grant, Known.NOTHING));
    }
  }

  private long boundMillis() {
    return PermitChecks.longestNanos(plan) / SimPlan.MILLI;
  }

  @Test
  void waitingWhileAnotherNameIsFreeBreaksI24() {
    SimProcess waiter = watch();
    take("r0", 0, 1, 2);
    checker.permits.waits(waiter);
    pass(boundMillis() - 20);
    expectNothing();
    pass(40);
    expectI24();
  }

  @Test
  void waitingWhileAMinorityHoldsANameBreaksI24() {
    SimProcess waiter = watch();
    take("r0", 0, 1, 2);
    take("r1", 0);
    checker.permits.waits(waiter);
    pass(boundMillis() + 20);
    expectI24();
  }

  @Test
  void secondCallerThatWaitsOnBreaksI24() {
    SimProcess waiter = watch();
    checker.permits.waits(waiter);
    checker.permits.waits(waiter);
    pass(100);
    checker.permits.waitsNoLonger(waiter);
    pass(boundMillis());
    expectI24();
  }

  @Test
  void waitingWhileMajoritiesHoldAllNamesIsFine() {
    SimProcess waiter = watch();
    take("r0", 0, 1);
    take("r1", 1, 2);
    checker.permits.waits(waiter);
    pass(TTL_MILLIS - 20);
    checker.permits.waitsNoLonger(waiter);
    pass(boundMillis() + 100);
    expectNothing();
  }

  @Test
  void namesThatAreFreeWhileNobodyWaitsForLongAreFine() {
    SimProcess waiter = watch();
    pass(2 * boundMillis());
    for (int call = 0; call < 3; call++) {
      checker.permits.waits(waiter);
      pass(boundMillis() - 20);
      checker.permits.waitsNoLonger(waiter);
      pass(20);
    }
    expectNothing();
  }

  @Test
  void nameThatIsAcquiredBetweenTwoLooksIsFine() {
    SimProcess waiter = watch();
    take("r0", 0, 1, 2);
    checker.permits.waits(waiter);
    pass(boundMillis() - 100);
    checker.permits.acquired(List.of("r1"));
    pass(300);
    expectNothing();
  }

  @Test
  void waitingWithoutAMajorityIsFine() {
    SimProcess waiter = watch();
    servers.get(0).pause();
    servers.get(1).pause();
    checker.permits.waits(waiter);
    pass(4 * boundMillis());
    expectNothing();
  }

  @Test
  void waitingWhileANameIsFreeOnlyWithAStoppedMasterIsFine() {
    SimProcess waiter = watch();
    servers.get(0).pause();
    take("r0", 1);
    take("r1", 2);
    checker.permits.waits(waiter);
    pass(TTL_MILLIS - 20);
    expectNothing();
  }

  @Test
  void waitCountsFromTheEndOfAPause() {
    SimProcess waiter = watch();
    checker.permits.waits(waiter);
    waiter.freeze(3 * boundMillis() * SimPlan.MILLI);
    pass(4 * boundMillis() - 40);
    expectNothing();
    pass(100);
    expectI24();
  }
}
