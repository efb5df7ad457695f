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
  private final SimServer server;

  Adversary(SimServer server, SimRandom random) {
    this.server = server;
    this.random = random;
    world = server.world;
    plan = world.plan;
  }

  void maybeHold(SimConnection connection, NodeRequest request) {
    if (world.strikes(SimFault.HELD_REQUEST, random, plan.heldPerMillion, 1_000_000)) {
      hold(connection.requests, request, "request");
    }
    if (world.strikes(SimFault.HELD_REPLY, random, plan.heldPerMillion, 1_000_000)) {
      hold(connection.replies, request, "reply");
    }
  }

  private void hold(SimLink.Wire wire, NodeRequest request, String what) {
    if (wire.isHeld()) {
      return;
    }
    wire.hold();
    String name = request.names().get(0);
    int moment = random.nextInt(KINDS.size() + 1);
    world.note(5, () -> what + " to n" + server.index + " is held: " + Names.of(request));
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
    if (!world.strikes(SimFault.DUPLICATE, random, plan.duplicatePerMillion, 1_000_000)) {
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
