package io.redlock.explorer;

import io.redlock.explorer.Catalog.Header;
import io.redlock.explorer.Catalog.Message;
import io.redlock.explorer.Catalog.Place;
import io.redlock.explorer.ClientSteps.Step;
import io.redlock.protocol.Decision.Outcome;
import io.redlock.protocol.Tenure.Phase;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.NodeRequest.Ticket;
import io.redlock.testkit.NodeModel;
import io.redlock.testkit.Requests;
import org.jspecify.annotations.Nullable;

/** The places of fair waiters in the queues of the nodes, as they know them. */
record PlaceSteps(Scope scope, Catalog catalog, ExplorerRules rules) {

  /** Marks the withdrawal of a ticket, which nobody waits for. */
  private static final int WITHDRAW_TAG = -2;

  Ticket ticket(int attempt, long micros, long token) {
    return rules.ticket(scope.waiter(attempt), scope.isShared(attempt), micros, token);
  }

  private Ticket place(int attempt, long micros) {
    return ExplorerRules.place(scope.waiter(attempt), scope.isShared(attempt), micros);
  }

  /** The attempt goes on waiting where the one before it stood. */
  void takeOver(ExplorerWorld world, int attempt) {
    Header before = catalog.header(world, attempt - 1);
    Place place = before.place();
    Header header = catalog.header(world, attempt).with(new Place(place.micros(), false, 0));
    world.headers[attempt] = catalog.headers.of(header);
    if (place.stands()) {
      world.headers[attempt - 1] = catalog.headers.of(before.with(Place.NONE));
    }
  }

  /** Whether the waiter whose attempt this was may try again. */
  boolean mayTryAgain(ExplorerWorld world, int attempt) {
    Header header = catalog.header(world, attempt);
    return header.client().phase() == Phase.ENDED
        && header.claim().held() == 0
        && header.place().micros() != 0;
  }

  /** Whether this is the last attempt of a fair waiter that goes on waiting. */
  boolean isWaiting(ExplorerWorld world, int attempt) {
    boolean comesBack =
        attempt + 1 < scope.attempts
            && scope.isRepeated(attempt + 1)
            && catalog.header(world, attempt + 1).client().phase() == Phase.NEW
            && mayTryAgain(world, attempt);
    return catalog.header(world, attempt).place().stands() || comesBack;
  }

  /** Whether somebody waits with a lower ticket whose lease would exclude the attempt's. */
  boolean isBehindOthers(ExplorerWorld world, int attempt) {
    long micros = catalog.header(world, attempt).place().micros();
    for (int other = 0; other < scope.attempts; other++) {
      if (scope.exclude(attempt, other)
          && isWaiting(world, other)
          && catalog.header(world, other).place().micros() < micros) {
        return true;
      }
    }
    return false;
  }

  /** A fair waiter is heard of no more. */
  void die(ExplorerWorld world, int attempt) {
    world.headers[attempt] = catalog.headers.of(catalog.header(world, attempt).with(Place.NONE));
    isPassedByNobody(world, scope.waiter(attempt));
  }

  /** The same with the waiter's ticket, where it belongs there. */
  @Nullable NodeRequest withTicket(int attempt, Header old, Step turn) {
    Place place = old.place();
    if (turn.send() instanceof NodeRequest.Grant grant) {
      return Requests.with(grant, "ticket", ticket(attempt, place.micros(), grant.token()));
    }
    boolean leaves = turn.outcome() == Outcome.OVER ? turn.leaves() : !place.stands();
    return turn.send() instanceof NodeRequest.Release release && leaves && place.micros() != 0
        ? Requests.with(release, "last", true, "ticket", place(attempt, place.micros()))
        : turn.send();
  }

  /** The end of this step for its place. */
  Place placed(
      ExplorerWorld world, int attempt, Header old, Step turn, @Nullable NodeRequest send) {
    Place place = old.place();
    if (!scope.isFair(attempt)) {
      return switch (turn.outcome()) {
        case PROPOSED ->
            scope.isFair() ? place.behind(notToBePassed(world, attempt, Long.MAX_VALUE)) : place;
        case HELD, OVER -> place.behind(0);
        default -> place;
      };
    }
    if (send instanceof NodeRequest.Grant grant && grant.ticket() != null) {
      long micros = grant.ticket().micros();
      return new Place(micros, true, notToBePassed(world, attempt, micros));
    }
    return switch (turn.outcome()) {
      case HELD -> place.behind(0);
      case OVER -> new Place(place.micros(), !turn.leaves(), 0);
      default -> place;
    };
  }

  /** Those in the way who wait with a lower ticket that a quorum of nodes has. */
  private int notToBePassed(ExplorerWorld world, int attempt, long micros) {
    int waiters = 0;
    for (int other = 0; other < scope.attempts; other++) {
      Header header = catalog.header(world, other);
      boolean waits = header.place().stands() && header.client().phase() != Phase.HOLDING;
      int waiter = scope.waiter(other);
      if (waits
          && waiter != scope.waiter(attempt)
          && scope.exclude(attempt, other)
          && header.place().micros() < micros
          && queuedAt(world, other) >= ClientSteps.QUORUM) {
        waiters |= 1 << waiter;
      }
    }
    return waiters;
  }

  /** The number of nodes with a waiter's ticket that were not told that it takes it back. */
  private int queuedAt(ExplorerWorld world, int attempt) {
    int waiter = scope.waiter(attempt);
    String name = place(attempt, 1).waiter();
    int queued = 0;
    for (int node = 0; node < Scope.NODES; node++) {
      for (NodeModel.Place place : catalog.nodes.get(world.nodes[node]).cells().get(0).queue()) {
        queued += place.waiter().equals(name) && !takesBack(world, node, waiter) ? 1 : 0;
      }
    }
    return queued;
  }

  private boolean takesBack(ExplorerWorld world, int node, int waiter) {
    for (int attempt = 0; attempt < scope.attempts; attempt++) {
      long lane = scope.waiter(attempt) == waiter ? catalog.link(world, node, attempt).lane() : 0;
      for (int i = 0; i < ExplorerLink.size(lane); i++) {
        NodeRequest request = catalog.messages.get(ExplorerLink.item(lane, i)).request();
        if (request instanceof NodeRequest.RemoveTicket
            || request instanceof NodeRequest.Release release && release.last()) {
          return true;
        }
      }
    }
    return false;
  }

  /** It waits no longer. */
  void isPassedByNobody(ExplorerWorld world, int waiter) {
    for (int attempt = 0; attempt < scope.attempts; attempt++) {
      Header header = catalog.header(world, attempt);
      Place place = header.place().behind(header.place().behind() & ~(1 << waiter));
      if (place != header.place()) {
        world.headers[attempt] = catalog.headers.of(header.with(place));
      }
    }
  }

  /** Takes its ticket back from these nodes. */
  void withdraw(ExplorerWorld world, int attempt, int targets) {
    Ticket ticket = place(attempt, catalog.header(world, attempt).place().micros());
    NodeRequest withdrawal = new NodeRequest.RemoveTicket(ClientSteps.NAMES, ticket);
    int message = catalog.messages.of(new Message(WITHDRAW_TAG, withdrawal, -1));
    for (int node = 0; node < Scope.NODES; node++) {
      if ((targets >>> node & 1) != 0) {
        ExplorerLink link = catalog.link(world, node, attempt);
        world.links[node][attempt] =
            catalog.links.of(link.lane(ExplorerLink.appended(link.lane(), message)));
      }
    }
  }
}
