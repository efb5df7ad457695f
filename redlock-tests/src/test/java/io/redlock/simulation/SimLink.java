package io.redlock.simulation;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;

/** The network between one client machine and one node: how long it takes, and what is blocked. */
final class SimLink {

  private final SimWorld world;
  private final SimRandom random;
  private final long baseNanos;
  private final List<Wire> wires = new ArrayList<>();
  private boolean requestsBlocked;
  private boolean repliesBlocked;

  SimLink(SimWorld world, SimRandom random, long baseNanos) {
    this.world = world;
    this.random = random;
    this.baseNanos = baseNanos;
  }

  Wire requests() {
    return new Wire(true);
  }

  Wire replies() {
    return new Wire(false);
  }

  boolean isBlocked() {
    return requestsBlocked || repliesBlocked;
  }

  void block(boolean requests, boolean replies) {
    requestsBlocked = requests;
    repliesBlocked = replies;
  }

  void unblock() {
    block(false, false);
    List<Wire> waiting = new ArrayList<>(wires);
    wires.clear();
    waiting.forEach(Wire::pump);
  }

  private long delayNanos() {
    SimPlan plan = world.plan;
    long delay = baseNanos + (plan.jitterNanos == 0 ? 0 : random.nextLong(plan.jitterNanos));
    if (world.strikes(SimFault.SLOW, random, plan.slowPerMillion, 1_000_000)) {
      delay += random.spread(plan.nodeTimeoutNanos / 4, 2 * plan.maxTtlNanos());
    }
    return delay;
  }

  /** One direction of one connection: what is sent arrives in that order, late, or no more. */
  final class Wire {
    private record Message(long dueNanos, Runnable arrival) {}

    private final boolean carriesRequests;
    private final ArrayDeque<Message> messages = new ArrayDeque<>();
    private final Runnable arrival = this::arrive;
    private long lastDueNanos;
    private boolean planned;
    private boolean held;

    private Wire(boolean carriesRequests) {
      this.carriesRequests = carriesRequests;
    }

    void send(Runnable arrival) {
      lastDueNanos = Math.max(lastDueNanos, world.nowNanos() + delayNanos());
      messages.add(new Message(lastDueNanos, arrival));
      plan();
    }

    /** Nothing arrives any more until {@link #letGo}. */
    void hold() {
      held = true;
    }

    boolean isHeld() {
      return held;
    }

    void letGo() {
      held = false;
      pump();
    }

    /** Only the first so many of what is on the way will arrive. */
    void keepFirst(int count) {
      while (messages.size() > count) {
        messages.removeLast();
      }
    }

    int onTheWay() {
      return messages.size();
    }

    private void plan() {
      if (!planned && !messages.isEmpty()) {
        planned = true;
        world.at(messages.element().dueNanos, arrival);
      }
    }

    private void arrive() {
      planned = false;
      pump();
    }

    private void pump() {
      if (messages.isEmpty() || held) {
        return;
      }
      if (carriesRequests ? requestsBlocked : repliesBlocked) {
        if (!wires.contains(this)) {
          wires.add(this);
        }
        return;
      }
      if (messages.element().dueNanos <= world.nowNanos()) {
        messages.remove().arrival.run();
      }
      plan();
    }
  }
}
