package io.redlock.explorer;

import io.redlock.explorer.Catalog.Answer;
import io.redlock.explorer.Catalog.Message;
import io.redlock.explorer.Catalog.Node;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReply.Kind;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.NodeRequest.Extend;
import io.redlock.spi.NodeRequest.Grant;
import io.redlock.spi.NodeRequest.Release;
import io.redlock.testkit.NodeModel;
import io.redlock.testkit.NodeModel.Cell;
import io.redlock.testkit.NodeModel.Outcome;
import io.redlock.testkit.NodeModel.Standing;
import java.util.List;

/** What happens at a node. Every step is computed once and looked up from then on. */
final class NodeSteps {

  private static final int NUMBER_BITS = 16;
  private static final long FAR_MILLIS = Long.MAX_VALUE;

  private final Scope scope;
  private final Catalog catalog;
  private final NodeModel model;
  private final LongMap executions = new LongMap();
  private final LongMap agings = new LongMap();

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
    long known = executions.get(key);
    if (known == LongMap.NONE) {
      String owner = scope.ownerName(attempt);
      known = executed(owner, catalog.messages.get(message), catalog.nodes.get(node), now, isShort);
      executions.put(key, known);
    }
    return known;
  }

  static int node(long execution) {
    return (int) (execution >>> Integer.SIZE);
  }

  static int answer(long execution) {
    return (int) execution;
  }

  private long executed(String owner, Message message, Node node, int now, boolean isShort) {
    Standing standing = standing(message, node, now, isShort, scope.quarantineTicks);
    long micros = scope.nodeMicros(now, node.gained());
    Outcome outcome =
        model.execute(List.of(node.cell()), signed(message.request(), owner), standing, micros);
    NodeReply reply = outcome.reply();
    Cell after = normal(outcome.cells().get(0));
    Cell before = node.cell();
    if (scope.checks(Invariant.I8)) {
      boolean mayVote =
          standing(message, node, now, isShort, scope.neededQuarantineTicks) == Standing.VOTING;
      Invariants.votesOnlyIfAllowed(reply.kind(), mayVote);
      Invariants.grantIsCounted(reply.kind(), message.request().token(), after.fence());
      Invariants.counterNeverFalls(before.fence(), after.fence());
      Invariants.ownerNeverShortens(before, after, owner);
    }
    return (long) catalog.nodes.of(node.with(after)) << Integer.SIZE
        | catalog.answers.of(new Answer(message.tag(), normal(message, reply)));
  }

  private static NodeRequest signed(NodeRequest request, String owner) {
    if (request instanceof Grant grant) {
      return new Grant(grant.names(), owner, grant.token(), grant.ttlMillis());
    }
    if (request instanceof Extend extend) {
      return new Extend(
          extend.names(), owner, extend.token(), extend.ttlMillis(), extend.sentMicros());
    }
    return new Release(request.names(), owner, request.token());
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

  /** When a counter ends is of no interest where none does within the horizon. */
  private Cell normal(Cell cell) {
    return scope.countersExpire() || cell.fence() == 0
        ? cell
        : new Cell(cell.owner(), cell.lockUntilMillis(), cell.fence(), FAR_MILLIS);
  }

  /** What the client makes nothing of is left out: states that differ in it only are the same. */
  private NodeReply normal(Message message, NodeReply reply) {
    boolean outbids =
        message.tag() < scope.rounds && (reply.kind() == Kind.TAKEN || reply.kind() == Kind.STALE);
    return new NodeReply(reply.kind(), outbids ? reply.fence() : 0, -1, "");
  }

  /** Whether the node is up to date with its own clock, has lost nothing, or has got over it. */
  boolean votes(int number, int now) {
    Node node = catalog.nodes.get(number);
    return node.bornMillis() == Node.OLD || isOf(node, now, scope.neededQuarantineTicks);
  }

  /** What is left at the given time. */
  int aged(int number, int now) {
    long key = number | (long) now << NUMBER_BITS;
    long known = agings.get(key);
    if (known == LongMap.NONE) {
      Node node = catalog.nodes.get(number);
      Cell left = node.cell().at(millis(node, now));
      int ticks = Math.max(scope.quarantineTicks, scope.neededQuarantineTicks);
      long born = isOf(node, now, ticks) ? Node.OLD : node.bornMillis();
      known = catalog.nodes.of(Node.of(left, node.birth(), born, node.gained()));
      agings.put(key, known);
    }
    return (int) known;
  }

  /** The lock key runs out. */
  int expired(int number) {
    Node node = catalog.nodes.get(number);
    return catalog.nodes.of(node.with(node.cell().locked("", 0)));
  }

  /** The node's clock runs fast for a while. */
  int gained(int number, int now) {
    Node node = catalog.nodes.get(number);
    Node fast = Node.of(node.cell(), node.birth(), node.bornMillis(), true);
    return aged(catalog.nodes.of(fast), now);
  }

  /** The node loses all it knows. */
  int emptied(int number) {
    Node node = catalog.nodes.get(number);
    Node empty =
        scope.lossIsNoticed
            ? Node.of(Cell.EMPTY, node.birth() + 1, Node.UNBORN, node.gained())
            : node.with(Cell.EMPTY);
    return catalog.nodes.of(empty);
  }

  /** Somebody audits the node and finds no birth: it gets one. */
  int born(int number, int now) {
    Node node = catalog.nodes.get(number);
    Node born = Node.of(node.cell(), node.birth(), millis(node, now), node.gained());
    return aged(catalog.nodes.of(born), now);
  }

  Node get(int number) {
    return catalog.nodes.get(number);
  }
}
