package io.redlock.simulation;

import io.redlock.spi.NodeRequest;
import io.redlock.spi.NodeRequest.Ticket;
import io.redlock.testbed.Text;
import io.redlock.testkit.NodeModel.Cell;
import io.redlock.testkit.NodeModel.Place;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** I13 and I14: who waits fairly is served in order, and does not wait too long. */
final class FairChecks {

  /** For how long nodes keep a ticket. */
  static final long TICKET_NANOS = 3_000 * SimPlan.MILLI;

  /**
   * When a client makes its connections, releases go first: a ticket that was given up may be left
   * by a grant that comes later, and runs out by itself.
   */
  private static final long ORPHANS_NANOS = TICKET_NANOS + 500 * SimPlan.MILLI;

  private static final Comparator<Waiter> ORDER =
      Comparator.<Waiter>comparingLong(waiter -> waiter.ticket.micros())
          .thenComparing(waiter -> waiter.ticket.waiter());

  private final SimWorld world;
  private final SimPlan plan;
  private final Map<String, Waiter> waiters = new HashMap<>();
  private final Map<String, Waiter> byOwner = new HashMap<>();
  private final Map<String, List<SimHold>> holders = new HashMap<>(); // by name
  private final Map<String, Long> freeNanos = new HashMap<>(); // since when, by name
  private long startNanos; // of the youngest client
  private long longestHoldNanos;
  private long served;
  private long queued;

  /** Somebody who waits, as far as nodes know. */
  private static final class Waiter {
    final SimProcess process;
    final String name;
    final Ticket ticket;
    final long stoodStillNanos;
    int nodes; // that have its ticket, as bits
    long askedNanos; // when its last attempt began its first round
    long queuedNanos = -1; // since when a quorum of nodes has had its ticket
    int ahead;

    /** Whether the two never stand in each other's way. */
    boolean readsWith(boolean shared) {
      return shared && ticket.shared();
    }

    Waiter(SimProcess process, String name, Ticket ticket) {
      this.process = process;
      this.name = name;
      this.ticket = ticket;
      this.stoodStillNanos = process.stoodStillNanos();
    }
  }

  FairChecks(SimWorld world) {
    this.world = world;
    this.plan = world.plan;
  }

  /** A client starts. */
  void starts() {
    startNanos = world.nowNanos();
  }

  /** A client is about to hand this request to the first or the next of its nodes. */
  void asked(SimProcess process, NodeRequest request) {
    Ticket ticket = ticket(request);
    if (ticket == null || ticket.lifeMillis() == 0) {
      return;
    }
    if (request instanceof NodeRequest.Release release && !release.last()) {
      return;
    }
    if (!(request instanceof NodeRequest.Grant)) {
      Waiter gone = waiters.remove(ticket.waiter()); // it gives its place up
      if (gone != null) {
        checkWait(gone, () -> ticket + " gives up");
      }
      return;
    }
    Waiter waiter =
        waiters.computeIfAbsent(
            ticket.waiter(), number -> new Waiter(process, request.names().get(0), ticket));
    if (byOwner.put(request.owner(), waiter) == null) {
      waiter.askedNanos = world.nowNanos();
    }
  }

  private static @Nullable Ticket ticket(NodeRequest request) {
    if (request instanceof NodeRequest.Grant grant) {
      return grant.ticket();
    }
    if (request instanceof NodeRequest.Release release) {
      return release.ticket();
    }
    return request instanceof NodeRequest.RemoveTicket withdraw ? withdraw.ticket() : null;
  }

  /** A node has executed a request on a name. */
  void executed(int node, NodeRequest request, List<Cell> after) {
    Waiter waiter = byOwner.get(request.owner());
    if (waiter == null
        || waiter != waiters.get(waiter.ticket.waiter()) // it has given that place up meanwhile
        || waiter.queuedNanos >= 0) {
      return;
    }
    int ahead = 0;
    for (Place place : after.get(0).queue()) {
      if (place.waiter().equals(waiter.ticket.waiter())) {
        waiter.nodes |= 1 << node;
        waiter.ahead = Math.max(waiter.ahead, ahead);
        if (waiter.process.quorum.isReachedBy(waiter.nodes)) {
          waiter.queuedNanos = world.nowNanos();
          queued++;
        }
        return;
      }
      ahead++;
    }
  }

  /**
   * Somebody got a lease.
   *
   * @param beganNanos when the round began that it rests on
   */
  void acquired(String owner, SimHold hold, long beganNanos) {
    for (String name : hold.names) {
      List<SimHold> live = holders.computeIfAbsent(name, n -> new ArrayList<>());
      live.removeIf(other -> other.ends > 0 || other.process.isDead());
      live.add(hold);
    }
    Waiter winner = byOwner.get(owner);
    if (winner == null) {
      checkGate(hold, beganNanos);
      return;
    }
    served++;
    waiters.remove(winner.ticket.waiter());
    passed(hold, winner.askedNanos)
        .filter(other -> ORDER.compare(other, winner) < 0)
        .forEach(
            other ->
                world.violated(
                    SimInvariant.I13,
                    () -> hold + " goes before " + other.ticket + ", who came first"));
    checkWait(winner, () -> hold + " comes");
    if (plan.sharedPercent == 0) {
      checkIdleness(winner, hold);
    }
  }

  /** A reader passes no writer that is queued, whether it asks fairly or not. */
  private void checkGate(SimHold hold, long beganNanos) {
    if (hold.shared) {
      passed(hold, beganNanos)
          .forEach(
              other ->
                  world.violated(
                      SimInvariant.I13, () -> hold + " passes " + other.ticket + ", who writes"));
    }
  }

  /** Without faults: those in its way who were queued before that time, in their order. */
  private Stream<Waiter> passed(SimHold hold, long nanos) {
    return plan.faults.isEmpty()
        ? waiters.values().stream()
            .filter(other -> hold.names.contains(other.name) && !other.readsWith(hold.shared))
            .filter(other -> other.queuedNanos >= 0 && other.queuedNanos < nanos)
            .sorted(ORDER)
        : Stream.empty();
  }

  /** Each of those before it had a turn at most, and its ticket ran out if it did not take it. */
  private void checkWait(Waiter winner, Supplier<String> what) {
    boolean itsOwnFault = winner.process.stoodStillNanos() != winner.stoodStillNanos;
    if (winner.queuedNanos < 0 || itsOwnFault || !plan.holdsUpOnlyClients()) {
      return;
    }
    long turnNanos = longestHoldNanos(winner.name) + plan.maxTtlNanos() + TICKET_NANOS;
    long waitedNanos = world.nowNanos() - winner.queuedNanos;
    if (waitedNanos > (winner.ahead + 1) * turnNanos) {
      world.violated(
          SimInvariant.I14,
          () ->
              Text.of(
                  "%s after %d ms behind %d others, each good for %d ms",
                  what.get(),
                  waitedNanos / SimPlan.MILLI,
                  winner.ahead,
                  turnNanos / SimPlan.MILLI));
    }
  }

  private long longestHoldNanos(String name) {
    long longestNanos = longestHoldNanos;
    for (SimHold holder : holders.getOrDefault(name, List.of())) {
      boolean goesOn = holder.ends == 0 && !holder.process.isDead();
      longestNanos = Math.max(longestNanos, goesOn ? world.nowNanos() - holder.doneNanos : 0);
    }
    return longestNanos;
  }

  /** Without faults, nobody waits for what nobody holds. */
  private void checkIdleness(Waiter winner, SimHold hold) {
    long sinceNanos = Math.max(winner.queuedNanos, freeNanos.getOrDefault(winner.name, 0L));
    sinceNanos = Math.max(sinceNanos, startNanos + ORPHANS_NANOS);
    long idleNanos = world.nowNanos() - sinceNanos;
    if (plan.faults.isEmpty() && winner.queuedNanos >= 0 && idleNanos > mostIdleNanos()) {
      world.violated(
          SimInvariant.I14,
          () ->
              Text.of(
                  "%s comes %d ms after %s was free",
                  hold, idleNanos / SimPlan.MILLI, winner.name));
    }
  }

  /** A few attempts that fail, and the pauses between them. */
  private long mostIdleNanos() {
    return 4 * plan.nodeTimeoutNanos + 300 * SimPlan.MILLI;
  }

  /** A lease has ended; if it was lost its holder still has time to stop. */
  void ended(SimHold hold) {
    longestHoldNanos = Math.max(longestHoldNanos, hold.endedNanos - hold.doneNanos);
    long keptNanos = hold.lost ? plan.lossMargin.toNanos() + plan.driftNanos(plan.maxTtlMillis) : 0;
    hold.names.forEach(name -> freeNanos.put(name, hold.endedNanos + keptNanos));
  }

  /** How many were served in their turn. */
  long served() {
    return served;
  }

  /** How many had to wait. */
  long queued() {
    return queued;
  }
}
