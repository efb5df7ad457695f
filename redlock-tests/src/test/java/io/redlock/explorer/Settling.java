package io.redlock.explorer;

import io.redlock.explorer.Catalog.Answer;
import io.redlock.explorer.Catalog.Node;
import io.redlock.protocol.Tenure;
import io.redlock.protocol.Tenure.Phase;
import io.redlock.spi.NodeReply.Kind;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.NodeRequest.Release;
import io.redlock.testkit.NodeModel;
import io.redlock.testkit.NodeModel.Cell;
import io.redlock.testkit.NodeModel.Reader;

/**
 * Does at once what makes no difference when it is done, so that a search need not try every moment
 * for it. Whoever doubts the reasons given here searches a smaller scope with {@link
 * Scope#everyDelay}.
 *
 * <ul>
 *   <li>A yes that leaves its round undecided, or comes after its round, is heard at once. Unheard
 *       it would count as unanswered, which puts the node into the release set just as well; the
 *       round lacks a quorum with or without it, so a timeout ends it either way; and a reply that
 *       is lost is a request that was cut off and executed as a stray. Not so for a fair waiter
 *       whose round may time out: whether it keeps its place depends on how many nodes it has
 *       heard.
 *   <li>So is what comes after its round from a node that is in the release set already.
 *   <li>So is the acknowledgement of a release; unheard, it would only have the release repeated.
 *   <li>A request whose token is not above the counter, while its owner does not hold the key, will
 *       never do anything again, because the counter never falls: a stray is dropped, and what an
 *       owner that has ended has sent is executed. Not so where it carries a ticket: it can still
 *       add to the queue or take from it. A reader's is dead once it was released there; before
 *       that all but its release is if its token is not above the floor, which never falls either.
 *   <li>Nothing is remembered of an owner that has ended at a node to which nothing of it is on its
 *       way.
 *   <li>It does not matter for how long a lease has been over.
 * </ul>
 */
final class Settling {

  private final Scope scope;
  private final Catalog catalog;
  private final NodeSteps nodes;
  private final ClientSteps clients;
  private final boolean countersNeverFall;

  Settling(Scope scope, Catalog catalog, NodeSteps nodes, ClientSteps clients) {
    this.scope = scope;
    this.catalog = catalog;
    this.nodes = nodes;
    this.clients = clients;
    countersNeverFall =
        scope.nodeModel().getClass() == NodeModel.class
            && scope.losses == 0
            && !scope.countersExpire();
  }

  /** Changes the world in place; true if something was done. */
  boolean settle(ExplorerWorld world) {
    boolean heard = false;
    boolean more;
    do {
      more = false;
      for (int attempt = 0; attempt < scope.attempts; attempt++) {
        for (int node = 0; node < Scope.NODES; node++) {
          more |= hears(world, attempt, node);
        }
      }
      heard |= more;
    } while (more);
    for (int attempt = 0; attempt < scope.attempts; attempt++) {
      clients.forgetWhatIsOver(world, attempt);
      for (int node = 0; node < Scope.NODES; node++) {
        forget(world, attempt, node);
      }
    }
    return heard;
  }

  private boolean hears(ExplorerWorld world, int attempt, int node) {
    int number = world.links[node][attempt];
    if (number == 0) {
      return false;
    }
    ExplorerLink link = catalog.links.get(number);
    if (link.replies() != 0) {
      Answer answer = catalog.answers.get(ExplorerLink.item(link.replies(), 0));
      if (makesNoDifference(world, attempt, node, link, answer)) {
        ExplorerLink emptier = link.replies(ExplorerLink.without(link.replies(), 0));
        world.links[node][attempt] = catalog.links.of(emptier);
        clients.answered(world, attempt, node, answer);
        return true;
      }
    }
    return link.lane() != 0 && executes(world, attempt, node, link);
  }

  private boolean executes(ExplorerWorld world, int attempt, int node, ExplorerLink link) {
    int message = ExplorerLink.item(link.lane(), 0);
    if (!countersNeverFall
        || clients.phase(world, attempt) != Phase.ENDED
        || !isDead(message, world, attempt, node)) {
      return false;
    }
    ExplorerLink shorter = link.lane(ExplorerLink.without(link.lane(), 0));
    boolean isRelease = catalog.messages.get(message).tag() == Tenure.RELEASE_TAG;
    long execution = nodes.execute(attempt, message, world.nodes[node], world.now, false);
    if (NodeSteps.node(execution) != world.nodes[node]) {
      throw new IllegalStateException("not dead: " + catalog.messages.get(message));
    }
    Answer answer = catalog.answers.get(NodeSteps.answer(execution));
    if (isRelease && answer.reply().kind() == Kind.CLOCK) {
      return false; // it is sent again
    }
    world.links[node][attempt] = catalog.links.of(isRelease ? shorter.buried() : shorter);
    if (isRelease) {
      clients.answered(world, attempt, node, answer);
    }
    return true;
  }

  private boolean isDead(int message, ExplorerWorld world, int attempt, int node) {
    Node state = catalog.nodes.get(world.nodes[node]);
    NodeRequest request = catalog.messages.get(message).request();
    if (touchesTheQueue(request)
        || scope.isForeign(attempt)
        || state.holdsAny(scope.owner(attempt))) {
      return false;
    }
    String owner = scope.ownerName(attempt);
    for (int name : scope.set(attempt)) {
      Cell cell = state.cells().get(name);
      boolean isDead =
          request.shared() ? isDeadReader(cell, request, owner) : request.token() <= cell.counter();
      if (!isDead) {
        return false;
      }
    }
    return true;
  }

  private boolean isDeadReader(Cell cell, NodeRequest request, String owner) {
    for (Reader reader : cell.reading().all()) {
      if (reader.released()
          && reader.owner().equals(owner)
          && scope.outlivesAll(reader.untilMillis())) {
        return true;
      }
    }
    return !(request instanceof Release) && request.token() <= cell.floor();
  }

  private static boolean touchesTheQueue(NodeRequest request) {
    return request instanceof NodeRequest.RemoveTicket
        || request instanceof NodeRequest.Grant grant && grant.ticket() != null
        || request instanceof NodeRequest.Release release && release.last();
  }

  private boolean makesNoDifference(
      ExplorerWorld world, int attempt, int node, ExplorerLink link, Answer answer) {
    Kind kind = answer.reply().kind();
    if (answer.tag() == Tenure.RELEASE_TAG) {
      return kind == Kind.RELEASED || kind == Kind.NOT_HELD;
    }
    boolean isYes = kind == Kind.GRANTED || kind == Kind.EXTENDED || kind == Kind.JOINED;
    if (clients.isLate(world, attempt, answer.tag())) {
      return isYes || TenureColumns.isInReleaseSet(link.column());
    }
    boolean endsAnyway = !scope.isFair() || scope.nothingIsLate && scope.isLossless();
    return isYes && endsAnyway && clients.leavesUndecided(world, attempt, node, answer);
  }

  private void forget(ExplorerWorld world, int attempt, int node) {
    int number = world.links[node][attempt];
    if (number == 0) {
      return;
    }
    ExplorerLink link = catalog.links.get(number);
    ExplorerLink left = link;
    if (countersNeverFall && link.strays() != 0) {
      left = left.strays(alive(link.strays(), world, attempt, node));
    }
    boolean isOver =
        left.strays() == 0
            && left.lane() == 0
            && left.replies() == 0
            && clients.phase(world, attempt) == Phase.ENDED;
    if (isOver) {
      left = new ExplorerLink(0, 0, 0, left.column());
    }
    if (!left.equals(link)) {
      world.links[node][attempt] = catalog.links.of(left);
    }
  }

  private long alive(long strays, ExplorerWorld world, int attempt, int node) {
    long alive = 0;
    for (int i = 0; i < ExplorerLink.size(strays); i++) {
      int stray = ExplorerLink.item(strays, i);
      if (!isDead(stray, world, attempt, node)) {
        alive = ExplorerLink.appended(alive, stray);
      }
    }
    return alive;
  }
}
