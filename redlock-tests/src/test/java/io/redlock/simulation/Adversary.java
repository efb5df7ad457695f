package io.redlock.simulation;

import io.redlock.simulation.SimCommand.Known;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest;
import io.redlock.testkit.NodeModel.Cell;
import java.util.List;

/**
 * Picks the worst moment: keeps a request, or its reply, on the way until just after a release, an
 * extend, a grant or an expiry of the same resource; has requests executed twice.
 */
final class Adversary {

  private static final List<Class<? extends NodeRequest>> KINDS =
      List.of(NodeRequest.Release.class, NodeRequest.Extend.class, NodeRequest.Grant.class);

  private final SimWorld world;
  private final SimPlan plan;
  private final SimRandom random;
  private final FaultCount faults;
  private final SimServer server;

  Adversary(SimWorld world, SimPlan plan, SimRandom random, FaultCount faults, SimServer server) {
    this.world = world;
    this.plan = plan;
    this.random = random;
    this.faults = faults;
    this.server = server;
  }

  private boolean strikes(SimFault fault, long perMillion) {
    boolean strikes =
        plan.has(fault) && world.nowNanos() < plan.calmFromNanos() && random.perMillion(perMillion);
    if (strikes) {
      faults.count(fault);
    }
    return strikes;
  }

  void maybeHold(SimConnection connection, NodeRequest request) {
    if (strikes(SimFault.HELD_REQUEST, plan.heldPerMillion)) {
      hold(connection.requests(), request, "request");
    }
    if (strikes(SimFault.HELD_REPLY, plan.heldPerMillion)) {
      hold(connection.replies(), request, "reply");
    }
  }

  private void hold(SimLink.Wire wire, NodeRequest request, String what) {
    if (wire.isHeld()) {
      return;
    }
    wire.hold();
    String name = request.names().get(0);
    int moment = random.nextInt(KINDS.size() + 1);
    world.trace.note(
        world.nowNanos(),
        5,
        () -> what + " to n" + server.index + " is held: " + Names.of(request));
    if (moment < KINDS.size()) {
      server.lieInWait(KINDS.get(moment), name, wire::letGo);
    } else {
      Cell cell = server.cell(name);
      long leftMillis =
          cell.isFree() ? plan.maxTtlMillis : cell.remainingMillis(server.nowMillis());
      world.after(server.clock.trueDelayNanos((leftMillis + 1) * 1_000_000), wire::letGo);
    }
    long longest = 2 * plan.maxTtlNanos() + plan.skewMicros * 1_000;
    long end = world.nowNanos() + random.spread(plan.nodeTimeoutNanos, longest);
    world.at(Math.min(end, plan.calmFromNanos()), wire::letGo);
  }

  /**
   * Has a request executed twice: what did something perhaps much later, what was refused at once.
   * (What was refused and is repeated later can set a key that nobody will release. TCP does not do
   * that, and the key does no worse than live for its ttl.)
   */
  void maybeRepeat(NodeRequest request, NodeReply first, Known known) {
    if (!strikes(SimFault.DUPLICATE, plan.duplicatePerMillion)) {
      return;
    }
    switch (first.kind()) {
      case GRANTED, EXTENDED, JOINED, RELEASED -> {
        long incarnation = server.incarnation();
        long at = world.nowNanos() + random.spread(1_000, 2 * plan.maxTtlNanos());
        world.at(
            Math.min(at, plan.calmFromNanos()),
            () -> {
              if (server.incarnation() == incarnation && server.isUp()) {
                server.execute(request, known);
              }
            });
      }
      default -> server.execute(request, known);
    }
  }
}
