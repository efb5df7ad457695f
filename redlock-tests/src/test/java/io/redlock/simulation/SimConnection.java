package io.redlock.simulation;

import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest;
import java.util.ArrayDeque;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** One TCP connection of a lane: requests and replies in order, for as long as it lives. */
final class SimConnection {

  /** A request on its way and who waits for its reply. */
  record Flight(SimLane.@Nullable Call call, long sentNanos) {}

  private final SimLane lane;
  private final SimServer server;
  private final long incarnation;
  private final Link.Wire requests;
  private final Link.Wire replies;
  private final ArrayDeque<Flight> inFlight = new ArrayDeque<>();

  SimConnection(SimLane lane, SimServer server, Link link) {
    this.lane = lane;
    this.server = server;
    this.incarnation = server.incarnation();
    this.requests = link.requests();
    this.replies = link.replies();
    if (!server.isDown()) {
      server.connected(this);
    }
  }

  /** Which life of the server it leads to. */
  long incarnation() {
    return incarnation;
  }

  Link.Wire requests() {
    return requests;
  }

  Link.Wire replies() {
    return replies;
  }

  ArrayDeque<Flight> inFlight() {
    return inFlight;
  }

  void send(SimLane.@Nullable Call call, long nowNanos, Supplier<Object> job) {
    inFlight.add(new Flight(call, nowNanos));
    requests.send(() -> server.arrived(this, job));
  }

  /** The server has answered the oldest request that it had not answered. */
  void reply(Object reply) {
    replies.send(() -> lane.received(this, reply));
  }

  /** The server's machine says that there is no such connection any more. */
  void reset(String why) {
    requests.keepFirst(0);
    replies.send(() -> lane.lost(this, why));
  }

  /** The client's side is gone; of what is on the way to the server, only so many arrive. */
  void abandon(int arriving) {
    requests.keepFirst(arriving);
    replies.keepFirst(0);
    server.disconnected(this);
  }

  /** Whether a request of this owner is somewhere in it. */
  boolean carries(String owner) {
    for (Flight flight : inFlight) {
      if (flight.call != null && flight.call.request().owner().equals(owner)) {
        return true;
      }
    }
    return false;
  }

  static boolean isRelease(Flight flight) {
    return flight.call != null && flight.call.request() instanceof NodeRequest.Release;
  }

  /** What whoever waits for a reply is told. */
  static void answer(Flight flight, NodeReply reply) {
    if (flight.call != null) {
      flight.call.answer(reply);
    }
  }
}
