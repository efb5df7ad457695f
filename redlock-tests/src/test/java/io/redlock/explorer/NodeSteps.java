package io.redlock.explorer;

import io.redlock.explorer.Catalog.Answer;
import io.redlock.explorer.Catalog.Message;
import io.redlock.explorer.Catalog.Node;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReply.Kind;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.NodeRequest.Grant;
import io.redlock.spi.NodeRequest.Ticket;
import io.redlock.testkit.NodeModel;
import io.redlock.testkit.NodeModel.Cell;
import io.redlock.testkit.NodeModel.Outcome;
import io.redlock.testkit.NodeModel.Place;
import io.redlock.testkit.NodeModel.Reader;
import io.redlock.testkit.NodeModel.Reading;
import io.redlock.testkit.NodeModel.Standing;
import io.redlock.testkit.Requests;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** What happens at a node. Every step is computed once and looked up from then on. */
final class NodeSteps {

  private static final int NUMBER_BITS = 16;
  private static final long FAR_MILLIS = Long.MAX_VALUE;

  private final Scope scope;
  private final Catalog catalog;
  private final NodeModel model;
  private final Map<Long, Long> executions = new HashMap<>();
  private final Map<Long, Integer> agings = new HashMap<>();
  private final Map<Long, Boolean> trials = new HashMap<>();

  NodeSteps(Scope scope, Catalog catalog) {
    this.scope = scope;
    this.catalog = catalog;
    this.model = scope.nodeModel();
  }

  /** The number of the node afterwards in the upper half, that of the answer in the lower. */
  long execute(int attempt, int message, int node, int now, boolean isShort) {
    long key =
        message
            | (long) node << NUMBER_BITS
            | (long) now << 2 * NUMBER_BITS
            | (2L * attempt + (isShort ? 1 : 0)) << 3 * NUMBER_BITS;
    return executions.computeIfAbsent(
        key,
        unknown ->
            executed(
                attempt, catalog.messages.get(message), catalog.nodes.get(node), now, isShort));
  }

  static int node(long execution) {
    return (int) (execution >>> Integer.SIZE);
  }

  static int answer(long execution) {
    return (int) execution;
  }

  private long executed(int attempt, Message message, Node node, int now, boolean isShort) {
    Standing standing = standing(message, node, now, isShort, scope.quarantineTicks);
    long micros = scope.nodeMicros(now, node.gained());
    String owner = scope.ownerName(attempt);
    int[] names = scope.set(attempt);
    List<Cell> asked = Arrays.stream(names).mapToObj(node.cells()::get).toList();
    NodeRequest request = signed(message.request(), owner);
    boolean isForeign = scope.isForeign(attempt);
    Outcome outcome =
        isForeign
            ? foreign(asked.get(0), request, Math.floorDiv(micros, 1_000L))
            : model.execute(asked, request, standing, micros);
    NodeReply reply = outcome.reply();
    if (scope.checks(ExplorerInvariant.I28) && standing == Standing.VOTING && request.shared()) {
      Invariants.readerIsLetIn(owner, reply.kind(), asked.get(0).isBuried(owner));
    }
    List<Cell> cells = new ArrayList<>(node.cells());
    for (int i = 0; i < names.length; i++) {
      Cell before = asked.get(i);
      Cell after = normal(outcome.cells().get(i));
      cells.set(names[i], after);
      if (scope.checks(ExplorerInvariant.I29)) {
        Invariants.readersStayNoLonger(
            before, outcome.cells().get(i), request, Math.floorDiv(micros, 1_000L));
      }
      if (scope.checks(ExplorerInvariant.I8) && !isForeign) {
        boolean mayVote =
            standing(message, node, now, isShort, scope.neededQuarantineTicks) == Standing.VOTING;
        Invariants.votesOnlyIfAllowed(reply.kind(), mayVote);
        Invariants.grantIsCounted(reply.kind(), message.request().token(), after.counter());
        Invariants.counterNeverFalls(before.counter(), after.counter());
        Invariants.ownerNeverShortens(before, after, owner);
        Invariants.waiterIsQueued(request, reply.kind(), after);
        Invariants.readerIsAboveWriters(request, reply.kind(), before.floor());
        Invariants.readersStay(before, after, owner);
        boolean writes = !request.shared() && reply.kind() == Kind.GRANTED;
        Invariants.floorNeverFalls(
            Math.max(before.floor(), writes ? request.token() : 0), after.floor());
      }
    }
    return (long) catalog.nodes.of(node.with(List.copyOf(cells))) << Integer.SIZE
        | catalog.answers.of(new Answer(message.tag(), normal(message, reply)));
  }

  /** What a client that only knows {@code SET NX} does. */
  private static Outcome foreign(Cell cell, NodeRequest request, long nowMillis) {
    boolean isItsOwn = cell.owner().equals(request.owner());
    if (request instanceof Grant grant) {
      return cell.isFree()
          ? new Outcome(
              List.of(cell.locked(grant.owner(), nowMillis + grant.ttlMillis())), NodeReply.GRANTED)
          : new Outcome(List.of(cell), NodeReply.held(1, 0, ""));
    }
    return new Outcome(
        List.of(isItsOwn ? cell.locked("", 0) : cell),
        isItsOwn ? NodeReply.RELEASED : NodeReply.NOT_HELD);
  }

  private NodeRequest signed(NodeRequest request, String owner) {
    NodeRequest mine = Requests.by(request, owner);
    return mine instanceof Grant grant && grant.ticket() != null
        ? Requests.with(grant, "ticket", lasting(grant.ticket()))
        : mine;
  }

  private Ticket lasting(Ticket ticket) {
    long lifeMillis = scope.ticketMillis(ticket.lifeMillis());
    return new Ticket(
        ticket.client(), ticket.number(), ticket.micros(), lifeMillis, ticket.shared());
  }

  /** Whether the node would grant this at that time. */
  boolean wouldGrant(int message, int number, int now) {
    long key = message | (long) number << NUMBER_BITS | (long) now << 2 * NUMBER_BITS;
    return trials.computeIfAbsent(key, unknown -> grants(message, number, now));
  }

  private boolean grants(int message, int number, int now) {
    Node node = catalog.nodes.get(number);
    NodeRequest request = signed(catalog.messages.get(message).request(), Catalog.TRIAL);
    long micros = scope.nodeMicros(now, node.gained());
    Outcome outcome = model.execute(node.cells(), request, Standing.VOTING, micros);
    return outcome.reply().kind() == Kind.GRANTED;
  }

  private Standing standing(
      Message message, Node node, int now, boolean isShort, int quarantineTicks) {
    boolean votes =
        message.birth() == node.birth()
            && (node.bornMillis() == Node.OLD || isOf(node, now, quarantineTicks));
    return !votes ? Standing.ABSTAINING : isShort ? Standing.OUT_OF_MEMORY : Standing.VOTING;
  }

  private boolean isOf(Node node, int now, int ticks) {
    return node.bornMillis() != Node.UNBORN
        && millis(node, now) - node.bornMillis() >= scope.millis(ticks);
  }

  private long millis(Node node, int now) {
    return Math.floorDiv(scope.nodeMicros(now, node.gained()), 1_000L);
  }

  /**
   * When a counter or a tombstone ends is of no interest where none does within the horizon. Nor is
   * the token that a key names: nothing but what operators are told depends on it.
   */
  private Cell normal(Cell cell) {
    Cell unnamed = cell.locked(cell.owner(), cell.lockUntilMillis());
    Reading reading = cell.reading();
    if (!reading.equals(Reading.NONE)) {
      unnamed = unnamed.read(normal(reading));
    }
    return scope.countersExpire() || cell.counter() == 0
        ? unnamed
        : unnamed.counting(cell.counter(), FAR_MILLIS);
  }

  private Reading normal(Reading reading) {
    return new Reading(
        reading.all().stream()
            .map(
                reader ->
                    reader.released() && scope.outlivesAll(reader.untilMillis())
                        ? new Reader(reader.owner(), FAR_MILLIS, true)
                        : reader)
            .toList(),
        reading.floored(),
        reading.floor(),
        scope.countersExpire() || reading.floored() == 0 ? reading.floorUntilMillis() : FAR_MILLIS);
  }

  /** What the client makes nothing of is left out: states that differ in it only are the same. */
  private NodeReply normal(Message message, NodeReply reply) {
    boolean outbids =
        message.tag() > 0
            && message.tag() < scope.rounds
            && (reply.kind() == Kind.HELD || reply.kind() == Kind.STALE);
    boolean passes = scope.passes > 0 && reply.kind() == Kind.GRANTED;
    boolean ends = reply.kind() == Kind.HELD && reply.remainingMillis() >= 0;
    return new NodeReply(
        reply.kind(), outbids || passes ? reply.counter() : 0, ends ? 0 : -1, "", "", null, null);
  }

  /** Whether the node is up to date with its own clock, has lost nothing, or has got over it. */
  boolean votes(int number, int now) {
    Node node = catalog.nodes.get(number);
    return node.bornMillis() == Node.OLD || isOf(node, now, scope.neededQuarantineTicks);
  }

  /** What is left at the given time. */
  int aged(int number, int now) {
    long key = number | (long) now << NUMBER_BITS;
    return agings.computeIfAbsent(key, unknown -> aged(catalog.nodes.get(number), now));
  }

  private int aged(Node node, int now) {
    long nowMillis = millis(node, now);
    List<Cell> left = node.cells().stream().map(cell -> cell.at(nowMillis)).toList();
    int ticks = Math.max(scope.quarantineTicks, scope.neededQuarantineTicks);
    long born = isOf(node, now, ticks) ? Node.OLD : node.bornMillis();
    return catalog.nodes.of(Node.of(left, node.birth(), born, node.gained()));
  }

  /** The keys that the owner of this one has run out, and the tickets that live no longer. */
  int expired(int number, int name) {
    Node node = catalog.nodes.get(number);
    String owner = node.cells().get(name).owner();
    return catalog.nodes.of(
        node.each(cell -> cell.owner().equals(owner) ? cell.at(cell.lockUntilMillis() + 1) : cell));
  }

  /** A reader's entries run out, and a key with the last of its entries. */
  int expiredEntries(int number, int reader) {
    String owner = Catalog.OWNERS.get(reader);
    return catalog.nodes.of(catalog.nodes.get(number).each(cell -> withoutEntry(cell, owner)));
  }

  private static Cell withoutEntry(Cell cell, String owner) {
    Reading before = cell.reading();
    List<Reader> left =
        before.all().stream()
            .filter(each -> each.released() || !each.owner().equals(owner))
            .toList();
    if (left.size() == before.all().size()) {
      return cell;
    }
    Cell after =
        cell.read(new Reading(left, before.floored(), before.floor(), before.floorUntilMillis()));
    return after.readers().isEmpty()
        ? after.locked("", 0)
        : after.locked(cell.owner(), after.readers().get(0).untilMillis());
  }

  /** An operator sets a name free here, and has this counter buried. */
  int freed(int number, int name, int now, long buried) {
    Node node = catalog.nodes.get(number);
    Cell before = node.cells().get(name);
    NodeRequest request =
        new NodeRequest.Free(ClientSteps.NAMES, Catalog.FREED, 0, buried, List.of(before.value()));
    long micros = scope.nodeMicros(now, node.gained());
    Cell after =
        normal(model.execute(List.of(before), request, Standing.VOTING, micros).cells().get(0));
    if (scope.checks(ExplorerInvariant.I8)) {
      Invariants.counterNeverFalls(before.counter(), after.counter());
      Invariants.floorNeverFalls(before.floor(), after.floor());
      Invariants.freedNameHasNoFloor(after);
    }
    List<Cell> cells = new ArrayList<>(node.cells());
    cells.set(name, after);
    return catalog.nodes.of(node.with(List.copyOf(cells)));
  }

  /** A ticket runs out. */
  int lapsed(int number, int place) {
    Node node = catalog.nodes.get(number);
    List<Place> left = new ArrayList<>(node.cells().get(0).queue());
    left.remove(place);
    return catalog.nodes.of(node.each(cell -> cell.queued(List.copyOf(left))));
  }

  /** The node's clock runs fast for a while, or is set right. */
  int clocked(int number, int now) {
    Node node = catalog.nodes.get(number);
    Node other = Node.of(node.cells(), node.birth(), node.bornMillis(), !node.gained());
    return aged(catalog.nodes.of(other), now);
  }

  /** The node loses all it knows. */
  int emptied(int number) {
    Node node = catalog.nodes.get(number);
    Node empty = node.each(cell -> Cell.EMPTY);
    return catalog.nodes.of(
        scope.lossIsNoticed
            ? Node.of(empty.cells(), node.birth() + 1, Node.UNBORN, node.gained())
            : empty);
  }

  /** Somebody audits the node and finds no birth: it gets one. */
  int born(int number, int now) {
    Node node = catalog.nodes.get(number);
    Node born = Node.of(node.cells(), node.birth(), millis(node, now), node.gained());
    return aged(catalog.nodes.of(born), now);
  }

  Node get(int number) {
    return catalog.nodes.get(number);
  }
}
