package io.redlock.explorer;

import io.redlock.ClientColumns;
import io.redlock.ClientModel;
import io.redlock.ClientModel.Client;
import io.redlock.ClientModel.Clocks;
import io.redlock.ClientModel.Outcome;
import io.redlock.ClientModel.Phase;
import io.redlock.ClientModel.Turn;
import io.redlock.explorer.Catalog.Answer;
import io.redlock.explorer.Catalog.Header;
import io.redlock.explorer.Catalog.Message;
import io.redlock.explorer.Catalog.Node;
import io.redlock.spi.NodeRequest;

/** What happens at a client, what it sends, and what is noted of it to check it by. */
final class ClientSteps {

  private static final int QUORUM = Scope.NODES / 2 + 1;

  private final Scope scope;
  private final Catalog catalog;
  private final ClientModel model;
  private final int[] columns = new int[Scope.NODES];

  ClientSteps(Scope scope, Catalog catalog) {
    this.scope = scope;
    this.catalog = catalog;
    this.model = scope.clientModel();
  }

  Header header(World world, int attempt) {
    return catalog.headers.get(world.headers[attempt]);
  }

  Phase phase(World world, int attempt) {
    return header(world, attempt).client().phase();
  }

  /** Whether the client believes in its lease. */
  boolean isValid(World world, int attempt) {
    Header header = header(world, attempt);
    return header.client().isValid(clocks(world, header));
  }

  private Clocks clocks(World world, Header header) {
    return new Clocks(
        scope.nanos(world.now - header.lag()), scope.micros(world.now - header.setBack()));
  }

  private Client client(World world, int attempt, Header header) {
    for (int node = 0; node < Scope.NODES; node++) {
      columns[node] = link(world, node, attempt).column();
    }
    return ClientColumns.with(header.client(), columns);
  }

  private Link link(World world, int node, int attempt) {
    return catalog.links.get(world.links[node][attempt]);
  }

  /** Whether an answer with this tag comes after its round. */
  boolean isLate(World world, int attempt, int tag) {
    return model.isLate(header(world, attempt).client(), tag);
  }

  /** Whether the round under way would go on after this answer. */
  boolean leavesUndecided(World world, int attempt, int node, Answer answer) {
    Header header = header(world, attempt);
    Client client = client(world, attempt, header);
    Turn turn = model.answered(client, node, answer.tag(), answer.reply(), clocks(world, header));
    return turn.outcome() == Outcome.NOTHING && ClientColumns.isUndecided(turn.client());
  }

  /** Of a lease that is over it is no longer remembered since when. */
  void forgetWhatIsOver(World world, int attempt) {
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
                  0));
    }
  }

  // Events. Each changes the world in place.

  void start(World world, int attempt, int ticks, int aheadMicros) {
    Header header = header(world, attempt);
    long micros = scope.micros(world.now) + aheadMicros;
    take(
        world,
        attempt,
        model.start(
            scope.ttlMillis(ticks), micros, micros + scope.skewMicros, clocks(world, header)));
  }

  void extend(World world, int attempt, int ticks) {
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

  void answered(World world, int attempt, int node, Answer answer) {
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

  void timedOut(World world, int attempt) {
    Header header = header(world, attempt);
    Client client = client(world, attempt, header);
    take(world, attempt, model.timedOut(client, clocks(world, header)));
  }

  void end(World world, int attempt) {
    Header header = header(world, attempt);
    take(world, attempt, model.end(client(world, attempt, header)));
  }

  /** The machine sleeps for a tick, or somebody sets its wall clock back by one. */
  void clockFault(World world, int attempt, boolean suspended) {
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
                old.entitledNanos()));
  }

  // What comes of an event.

  private void take(World world, int attempt, Turn turn) {
    Header old = header(world, attempt);
    Client client = ClientColumns.forgotten(turn.client());
    Outcome outcome = turn.outcome();
    checkTurn(world, attempt, old, client, outcome);
    for (int node = 0; node < Scope.NODES; node++) {
      Link link = link(world, node, attempt).column(ClientColumns.column(client, node));
      if (outcome != Outcome.NOTHING) {
        link = link.granted(0);
      }
      if (client.phase() == Phase.ENDED) {
        link = link.replies(releasesOnly(link.replies()));
      }
      if ((turn.targets() >>> node & 1) != 0 && turn.send() != null) {
        link = link.lane(Link.appended(link.lane(), message(world, turn, node)));
      }
      world.links[node][attempt] = catalog.links.of(link);
    }
    world.headers[attempt] = catalog.headers.of(next(world, old, client, turn));
    if (outcome == Outcome.HELD) {
      overtakeOthers(world, attempt);
    }
  }

  private void checkTurn(World world, int attempt, Header old, Client client, Outcome outcome) {
    String owner = scope.ownerName(attempt);
    if (outcome == Outcome.HELD) {
      if (scope.checks(Invariant.I9)) {
        int granted = 0;
        for (int node = 0; node < Scope.NODES; node++) {
          granted += link(world, node, attempt).granted() == old.client().round() ? 1 : 0;
        }
        Invariants.leaseRestsOnQuorum(owner, granted, QUORUM);
      }
      if (scope.checks(Invariant.I3)) {
        Invariants.tokenIsNewAndHighest(owner, client.token(), old.floor(), heldTokens(world));
      }
      if (scope.checks(Invariant.I2)) {
        Invariants.leaseIsGoodAtFirst(owner, client.isValid(clocks(world, old)));
      }
    }
    if (outcome == Outcome.EXTENDED) {
      if (scope.checks(Invariant.I6)) {
        Invariants.nobodyAcquiredMeanwhile(owner, old.overtaken());
      }
      if (scope.checks(Invariant.I11)) {
        Invariants.lostLeaseStaysLost(owner, old.client().isValid(clocks(world, old)));
      }
    }
    if (scope.checks(Invariant.I7)) {
      Invariants.fullBallotDecides(
          owner, !ClientColumns.isUndecided(client), ClientColumns.answers(client), Scope.NODES);
    }
  }

  private Header next(World world, Header old, Client client, Turn turn) {
    Client kept = ClientColumns.header(client, Scope.NODES);
    long offered = old.offeredNanos();
    long floor = old.floor();
    return switch (turn.outcome()) {
      case PROPOSED ->
          header(old, kept, acquires(client) ? highestHeld(world) : 0, offered(world, turn));
      case HELD -> new Header(kept, old.lag(), old.setBack(), 0, client.token(), false, 0, offered);
      case EXTENDED ->
          new Header(
              kept,
              old.lag(),
              old.setBack(),
              0,
              old.held(),
              false,
              0,
              Math.max(old.entitledNanos(), offered));
      case ENDED -> new Header(kept, 0, 0, 0, old.held(), false, 0, 0);
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
        old.entitledNanos());
  }

  private static boolean acquires(Client client) {
    return client.phase() == Phase.ACQUIRING;
  }

  /** What a round that is sent now can entitle to, by a clock that is right. */
  private long offered(World world, Turn turn) {
    long ttlMillis = 0;
    if (turn.send() instanceof NodeRequest.Grant grant) {
      ttlMillis = grant.ttlMillis();
    } else if (turn.send() instanceof NodeRequest.Extend extend) {
      ttlMillis = extend.ttlMillis();
    }
    return scope.nanos(world.now) + ttlMillis * 1_000_000 - scope.driftMicros * 1_000;
  }

  private long[] heldTokens(World world) {
    long[] tokens = new long[scope.attempts];
    for (int attempt = 0; attempt < tokens.length; attempt++) {
      tokens[attempt] = header(world, attempt).held();
    }
    return tokens;
  }

  private long highestHeld(World world) {
    long highest = 0;
    for (int attempt = 0; attempt < scope.attempts; attempt++) {
      highest = Math.max(highest, header(world, attempt).held());
    }
    return highest;
  }

  private void overtakeOthers(World world, int winner) {
    for (int attempt = 0; attempt < scope.attempts; attempt++) {
      Header other = header(world, attempt);
      if (attempt != winner && other.client().phase() == Phase.HOLDING && !other.overtaken()) {
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
                    other.entitledNanos()));
      }
    }
  }

  private int message(World world, Turn turn, int node) {
    Node asked = catalog.nodes.get(world.nodes[node]);
    boolean isRelease = turn.tag() == ClientModel.RELEASE_TAG;
    int birth = isRelease || asked.bornMillis() == Node.UNBORN ? -1 : asked.birth();
    return catalog.messages.of(new Message(turn.tag(), turn.send(), birth));
  }

  /** An owner that has ended waits for nothing but answers to its release. */
  private long releasesOnly(long replies) {
    long left = 0;
    for (int i = 0; i < Link.size(replies); i++) {
      int reply = Link.item(replies, i);
      if (catalog.answers.get(reply).tag() == ClientModel.RELEASE_TAG) {
        left = Link.appended(left, reply);
      }
    }
    return left;
  }
}
