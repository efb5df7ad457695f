package io.redlock.simulation;

import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Objects;
import org.junit.jupiter.api.Test;

/** A machine and the processes on it. */
class SimClientTest {

  private final SimPlan plan = SimPlan.of(1).only();
  private final SimWorld world = new SimWorld(plan);

  /** Or its clock stops while it runs, and the checker takes its calls for late: seed 895 did. */
  @Test
  void processThatIsBeingClosedSleepsWithItsMachine() {
    plan.nodes = 1;
    plan.sessions = 0;
    new SimServer(world);
    SimClient client = new SimClient("c", world, new SimRandom(1), node -> SimPlan.MILLI);
    client.start();
    SimProcess closing = Objects.requireNonNull(client.life()).process;
    client.close();
    client.start();
    SimProcess fresh = Objects.requireNonNull(client.life()).process;
    assertNotSame(closing, fresh);
    client.suspend(10 * SimPlan.MILLI);
    assertTrue(client.isAsleep());
    assertTrue(closing.isFrozen());
    assertTrue(fresh.isFrozen());
    world.runUntil(world.nowNanos() + 10 * SimPlan.MILLI);
    assertTrue(!client.isAsleep() && !closing.isFrozen() && !fresh.isFrozen());
  }
}
