package io.redlock.explorer;

import io.redlock.driver.ClientColumns;
import io.redlock.driver.ClientModel;
import io.redlock.driver.ClientModel.Client;
import io.redlock.driver.ClientModel.Clocks;
import io.redlock.driver.ClientModel.Outcome;
import io.redlock.driver.ClientModel.Phase;
import io.redlock.driver.ClientModel.Turn;
import io.redlock.explorer.Catalog.Answer;
import io.redlock.explorer.Catalog.Header;
import io.redlock.explorer.Catalog.Message;
import io.redlock.explorer.Catalog.Node;
import io.redlock.explorer.Catalog.Place;
import io.redlock.spi.NodeRequest;
import io.redlock.testkit.NodeModel;
import org.jspecify.annotations.Nullable;

/** What happens at a client, what it sends, and what is noted of it to check it by. */
final class ClientSteps {

  private static final int QUORUM = Scope.NODES / 2 + 1;
  private static final long MICROS_BETWEEN_STARTS = 2;

  private final Scope scope;
  private final Catalog catalog;
  private final ClientModel model;
  private final int[] columns = new int[Scope.NODES];

  ClientSteps(Scope scope, Catalog catalog) {
    this.scope = scope;
    this.catalog = catalog;
    this.model = scope.clientModel();
  }

  Header header(ExplorerWorld world, int attempt) {
    return catalog.headers.get(world.headers[attempt]);
  }

  Phase phase(ExplorerWorld world, int attempt) {
    return header(world, attempt).client().phase();
  }

  /** Whether the client believes in its lease. */
  boolean isValid(ExplorerWorld world, int attempt) {
    Header header = header(world, attempt);
    return header.client().isValid(clocks(world, header));
  }

  private Clocks clocks(ExplorerWorld world, Header header) {
    return new Clocks(
        scope.nanos(world.now - header.lag()), scope.micros(world.now - header.setBack()));
  }

  private Client client(ExplorerWorld world, int attempt, Header header) {
    for (int node = 0; node < Scope.NODES; node++) {
      columns[node] = link(world, node, attempt).column();
    }
    return ClientColumns.with(header.client(), columns);
  }

  private ExplorerLink link(ExplorerWorld world, int node, int attempt) {
    return catalog.links.get(world.links[node][attempt]);
  }

  /** Whether an answer with this tag comes after its round. */
  boolean isLate(ExplorerWorld world, int attempt, int tag) {
    return model.isLate(header(world, attempt).client(), tag);
  }

  /** Whether the round under way would go on after this answer. */
  boolean leavesUndecided(ExplorerWorld world, int attempt, int node, Answer answer) {
    Header header = header(world, attempt);
    Client client = client(world, attempt, header);
    Turn turn = model.answered(client, node, answer.tag(), answer.reply(), clocks(world, header));
    return turn.outcome() == Outcome.NOTHING && ClientColumns.isUndecided(turn.client());
  }

  /** Of a lease that is over it is no longer remembered since when. */
  void forgetWhatIsOver(ExplorerWorld world, int attempt) {
    Header header = header(world, attempt);
    if (header.client().phase() == Phase.HOLDING
        && header.entitledNanos() != 0
        && scope.clockFaults == 0
        && !isValid(world, attempt)) {
      world.headers[attempt] =
          catalog.headers.of(
              new Header(
                  ClientColumns.expired(header.client()),
                  0,
                  0,
                  0,
                  header.held(),
                  header.overtaken(),
                  header.offeredNanos(),
                  0,
                  header.place()));
    }
  }

  // Events. Each changes the world in place.

  void start(ExplorerWorld world, int attempt, int ticks, int aheadMicros) {
    if (scope.isRepeated(attempt)) {
      takeOverPlace(world, attempt);
    }
    Header header = header(world, attempt);
    long micros = scope.proposedMicros(world.now) + aheadMicros;
    if (scope.isFair()) {
      micros += MICROS_BETWEEN_STARTS * begun(world);
    }
    take(world, attempt, model.start(scope.ttlMillis(ticks), micros, clocks(world, header)));
  }

  private int begun(ExplorerWorld world) {
    int begun = 0;
    for (int attempt = 0; attempt < scope.attempts; attempt++) {
      begun += phase(world, attempt) == Phase.IDLE ? 0 : 1;
    }
    return begun;
  }

  private void takeOverPlace(ExplorerWorld world, int attempt) {
    Header before = header(world, attempt - 1);
    Place place = before.place();
    Header header = header(world, attempt).with(new Place(place.micros(), false, 0));
    world.headers[attempt] = catalog.headers.of(header);
    if (place.stands()) {
      world.headers[attempt - 1] = catalog.headers.of(before.with(Place.NONE));
    }
  }

  /** Whether the waiter whose attempt this was may try again. */
  boolean mayTryAgain(ExplorerWorld world, int attempt) {
    Header header = header(world, attempt);
    return header.client().phase() == Phase.ENDED
        && header.held() == 0
        && header.place().micros() != 0;
  }

  /** The last attempt of the fair waiter with the lowest ticket of those that go on waiting. */
  int firstInLine(ExplorerWorld world) {
    int first = -1;
    for (int attempt = 0; attempt < scope.attempts; attempt++) {
      Place place = header(world, attempt).place();
      boolean comesBack =
          attempt + 1 < scope.attempts
              && scope.isRepeated(attempt + 1)
              && phase(world, attempt + 1) == Phase.IDLE
              && mayTryAgain(world, attempt);
      if ((place.stands() || comesBack)
          && (first < 0 || place.micros() < header(world, first).place().micros())) {
        first = attempt;
      }
    }
    return first;
  }

  /** What the attempt's caller would ask next, above every token so far. */
  int trial(ExplorerWorld world, int attempt, int now) {
    long counter = highestCounter(world);
    long token = Math.max(scope.micros(now) + scope.skewMicros, counter + 1);
    NodeRequest grant =
        new NodeRequest.Grant(ClientModel.NAMES, "", token, counter, scope.ttlMillis(1), null);
    Place place = header(world, attempt).place();
    NodeRequest asked =
        scope.isFair() ? model.asking(grant, scope.waiter(attempt), place.micros()) : grant;
    return catalog.messages.of(new Message(1, asked, 0));
  }

  /** The highest counter on any node. */
  long highestCounter(ExplorerWorld world) {
    long highest = 0;
    for (int node : world.nodes) {
      for (NodeModel.Cell cell : catalog.nodes.get(node).cells()) {
        highest = Math.max(highest, cell.counter());
      }
    }
    return highest;
  }

  /** A fair waiter waits no longer, during an attempt or after one. */
  void giveUp(ExplorerWorld world, int attempt) {
    Header header = header(world, attempt);
    if (header.client().phase() == Phase.ACQUIRING) {
      take(world, attempt, model.end(client(world, attempt, header)));
      return;
    }
    withdraw(world, attempt, model.withdrawsFrom(0));
    die(world, attempt);
  }

  /** A fair waiter is heard of no more. */
  void die(ExplorerWorld world, int attempt) {
    world.headers[attempt] = catalog.headers.of(header(world, attempt).with(Place.NONE));
    isPassedByNobody(world, scope.waiter(attempt));
  }

  void extend(ExplorerWorld world, int attempt, int ticks) {
    Header header = header(world, attempt);
    take(
        world,
        attempt,
        model.extend(
            client(world, attempt, header),
            scope.ttlMillis(ticks),
            scope.micros(world.now),
            clocks(world, header)));
  }

  void answered(ExplorerWorld world, int attempt, int node, Answer answer) {
    Header header = header(world, attempt);
    take(
        world,
        attempt,
        model.answered(
            client(world, attempt, header),
            node,
            answer.tag(),
            answer.reply(),
            clocks(world, header)));
  }

  void timedOut(ExplorerWorld world, int attempt) {
    Header header = header(world, attempt);
    Client client = client(world, attempt, header);
    take(world, attempt, model.timedOut(client, clocks(world, header)));
  }

  void end(ExplorerWorld world, int attempt) {
    Header header = header(world, attempt);
    take(world, attempt, model.end(client(world, attempt, header)));
  }

  /** The machine sleeps for a tick, or somebody sets its wall clock back by one. */
  void clockFault(ExplorerWorld world, int attempt, boolean suspended) {
    Header old = header(world, attempt);
    world.headers[attempt] =
        catalog.headers.of(
            new Header(
                old.client(),
                old.lag() + (suspended ? 1 : 0),
                old.setBack() + (suspended ? 0 : 1),
                old.floor(),
                old.held(),
                old.overtaken(),
                old.offeredNanos(),
                old.entitledNanos(),
                old.place()));
  }

  // What comes of an event.

  private void take(ExplorerWorld world, int attempt, Turn turn) {
    Header old = header(world, attempt);
    Client client = ClientColumns.forgotten(turn.client());
    Outcome outcome = turn.outcome();
    checkTurn(world, attempt, old, client, outcome);
    NodeRequest send = scope.isFair() ? fair(attempt, old, turn) : turn.send();
    Place place = placed(world, attempt, old, turn, send);
    for (int node = 0; node < Scope.NODES; node++) {
      ExplorerLink link = link(world, node, attempt).column(ClientColumns.column(client, node));
      if (outcome != Outcome.NOTHING) {
        link = link.granted(0);
      }
      if (client.phase() == Phase.ENDED) {
        link = link.replies(releasesOnly(link.replies()));
      }
      if ((turn.targets() >>> node & 1) != 0 && send != null) {
        link =
            link.lane(ExplorerLink.appended(link.lane(), message(world, turn.tag(), send, node)));
      }
      world.links[node][attempt] = catalog.links.of(link);
    }
    if (outcome == Outcome.ENDED && scope.isFair() && !place.stands()) {
      withdraw(world, attempt, model.withdrawsFrom(turn.targets()));
    }
    world.headers[attempt] =
        catalog.headers.of(next(world, attempt, old, client, turn).with(place));
    if (outcome == Outcome.HELD) {
      overtakeOthers(world, attempt);
    }
    boolean waitsNoLonger = outcome == Outcome.HELD || outcome == Outcome.ENDED && !place.stands();
    if (scope.isFair() && waitsNoLonger) {
      isPassedByNobody(world, scope.waiter(attempt));
    }
  }

  /** The same with the waiter's ticket, where it belongs there. */
  private @Nullable NodeRequest fair(int attempt, Header old, Turn turn) {
    NodeRequest send = turn.send();
    Place place = old.place();
    if (send instanceof NodeRequest.Grant) {
      return model.asking(send, scope.waiter(attempt), place.micros());
    }
    boolean leaves = turn.outcome() == Outcome.ENDED ? !turn.goesOn() : !place.stands();
    return send instanceof NodeRequest.Release && leaves && place.micros() != 0
        ? model.leaving(send, scope.waiter(attempt), place.micros())
        : send;
  }

  private Place placed(
      ExplorerWorld world, int attempt, Header old, Turn turn, @Nullable NodeRequest send) {
    Place place = old.place();
    if (!scope.isFair()) {
      return place;
    }
    if (send instanceof NodeRequest.Grant grant && grant.ticket() != null) {
      long micros = grant.ticket().micros();
      return new Place(micros, true, notToBePassed(world, attempt, micros));
    }
    return switch (turn.outcome()) {
      case HELD -> place.behind(0);
      case ENDED -> new Place(place.micros(), turn.goesOn(), 0);
      default -> place;
    };
  }

  /** Those who wait with a lower ticket that a quorum of nodes has. */
  private int notToBePassed(ExplorerWorld world, int attempt, long micros) {
    int waiters = 0;
    for (int other = 0; other < scope.attempts; other++) {
      Header header = header(world, other);
      boolean waits = header.place().stands() && header.client().phase() != Phase.HOLDING;
      int waiter = scope.waiter(other);
      if (waits
          && waiter != scope.waiter(attempt)
          && header.place().micros() < micros
          && queuedAt(world, waiter) >= QUORUM) {
        waiters |= 1 << waiter;
      }
    }
    return waiters;
  }

  /** How many nodes have a waiter's ticket, and not its word on the way that it takes it back. */
  private int queuedAt(ExplorerWorld world, int waiter) {
    String name = ClientModel.waiterName(waiter);
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
      long lane = scope.waiter(attempt) == waiter ? link(world, node, attempt).lane() : 0;
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
  private void isPassedByNobody(ExplorerWorld world, int waiter) {
    for (int attempt = 0; attempt < scope.attempts; attempt++) {
      Header header = header(world, attempt);
      Place place = header.place().behind(header.place().behind() & ~(1 << waiter));
      if (place != header.place()) {
        world.headers[attempt] = catalog.headers.of(header.with(place));
      }
    }
  }

  private void withdraw(ExplorerWorld world, int attempt, int targets) {
    int waiter = scope.waiter(attempt);
    NodeRequest withdrawal = model.withdrawing(waiter, header(world, attempt).place().micros());
    for (int node = 0; node < Scope.NODES; node++) {
      if ((targets >>> node & 1) != 0) {
        ExplorerLink link = link(world, node, attempt);
        int message = message(world, ClientModel.WITHDRAW_TAG, withdrawal, node);
        world.links[node][attempt] =
            catalog.links.of(link.lane(ExplorerLink.appended(link.lane(), message)));
      }
    }
  }

  private void checkTurn(
      ExplorerWorld world, int attempt, Header old, Client client, Outcome outcome) {
    String owner = scope.ownerName(attempt);
    if (outcome == Outcome.HELD) {
      if (scope.checks(ExplorerInvariant.I9)) {
        int granted = 0;
        for (int node = 0; node < Scope.NODES; node++) {
          granted += link(world, node, attempt).granted() == old.client().round() ? 1 : 0;
        }
        Invariants.leaseRestsOnQuorum(owner, granted, QUORUM);
      }
      if (scope.checks(ExplorerInvariant.I3)) {
        Invariants.tokenIsNewAndHighest(
            owner, client.token(), old.floor(), heldTokens(world, attempt));
      }
      if (scope.checks(ExplorerInvariant.I13)) {
        Invariants.nobodyIsPassed(owner, old.place().behind());
      }
      if (scope.checks(ExplorerInvariant.I2)) {
        Invariants.leaseIsGoodAtFirst(owner, client.isValid(clocks(world, old)));
      }
    }
    if (outcome == Outcome.EXTENDED) {
      if (scope.checks(ExplorerInvariant.I6)) {
        Invariants.nobodyAcquiredMeanwhile(owner, old.overtaken());
      }
      if (scope.checks(ExplorerInvariant.I11)) {
        Invariants.lostLeaseStaysLost(owner, old.client().isValid(clocks(world, old)));
      }
    }
    if (scope.checks(ExplorerInvariant.I7)) {
      Invariants.fullBallotDecides(
          owner, !ClientColumns.isUndecided(client), ClientColumns.answers(client), Scope.NODES);
    }
  }

  private Header next(ExplorerWorld world, int attempt, Header old, Client client, Turn turn) {
    Client kept = ClientColumns.header(client, Scope.NODES);
    long offered = old.offeredNanos();
    long floor = old.floor();
    return switch (turn.outcome()) {
      case PROPOSED ->
          header(
              old, kept, acquires(client) ? highestHeld(world, attempt) : 0, offered(world, turn));
      case HELD ->
          new Header(
              kept, old.lag(), old.setBack(), 0, client.token(), false, 0, offered, old.place());
      case EXTENDED ->
          new Header(
              kept,
              old.lag(),
              old.setBack(),
              0,
              old.held(),
              false,
              0,
              Math.max(old.entitledNanos(), offered),
              old.place());
      case ENDED -> new Header(kept, 0, 0, 0, old.held(), false, 0, 0, old.place());
      case NOTHING -> header(old, kept, floor, ClientColumns.isUndecided(client) ? offered : 0);
    };
  }

  private static Header header(Header old, Client client, long floor, long offeredNanos) {
    return new Header(
        client,
        old.lag(),
        old.setBack(),
        floor,
        old.held(),
        old.overtaken(),
        offeredNanos,
        old.entitledNanos(),
        old.place());
  }

  private static boolean acquires(Client client) {
    return client.phase() == Phase.ACQUIRING;
  }

  /** What a round that is sent now can entitle to, by a clock that is right. */
  private long offered(ExplorerWorld world, Turn turn) {
    long ttlMillis = 0;
    if (turn.send() instanceof NodeRequest.Grant grant) {
      ttlMillis = grant.ttlMillis();
    } else if (turn.send() instanceof NodeRequest.Extend extend) {
      ttlMillis = extend.ttlMillis();
    }
    return scope.nanos(world.now) + ttlMillis * 1_000_000 - scope.driftMicros * 1_000;
  }

  /** The tokens of all leases on a name that the attempt is for. */
  private long[] heldTokens(ExplorerWorld world, int attempt) {
    long[] tokens = new long[scope.attempts];
    for (int other = 0; other < tokens.length; other++) {
      tokens[other] = scope.meet(attempt, other) ? header(world, other).held() : 0;
    }
    return tokens;
  }

  private long highestHeld(ExplorerWorld world, int attempt) {
    long highest = scope.heldBefore();
    for (long token : heldTokens(world, attempt)) {
      highest = Math.max(highest, token);
    }
    return highest;
  }

  private void overtakeOthers(ExplorerWorld world, int winner) {
    for (int attempt = 0; attempt < scope.attempts; attempt++) {
      Header other = header(world, attempt);
      if (attempt != winner
          && scope.meet(attempt, winner)
          && other.client().phase() == Phase.HOLDING
          && !other.overtaken()) {
        world.headers[attempt] =
            catalog.headers.of(
                new Header(
                    other.client(),
                    other.lag(),
                    other.setBack(),
                    other.floor(),
                    other.held(),
                    true,
                    other.offeredNanos(),
                    other.entitledNanos(),
                    other.place()));
      }
    }
  }

  private int message(ExplorerWorld world, int tag, NodeRequest request, int node) {
    Node asked = catalog.nodes.get(world.nodes[node]);
    boolean votes = request instanceof NodeRequest.Grant || request instanceof NodeRequest.Extend;
    int birth = !votes || asked.bornMillis() == Node.UNBORN ? -1 : asked.birth();
    return catalog.messages.of(new Message(tag, request, birth));
  }

  /** An owner that has ended waits for nothing but answers to its release. */
  private long releasesOnly(long replies) {
    long left = 0;
    for (int i = 0; i < ExplorerLink.size(replies); i++) {
      int reply = ExplorerLink.item(replies, i);
      if (catalog.answers.get(reply).tag() == ClientModel.RELEASE_TAG) {
        left = ExplorerLink.appended(left, reply);
      }
    }
    return left;
  }
}
