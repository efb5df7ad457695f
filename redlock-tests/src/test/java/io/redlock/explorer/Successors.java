package io.redlock.explorer;

import io.redlock.explorer.Catalog.Answer;
import io.redlock.explorer.Catalog.Header;
import io.redlock.explorer.Catalog.Message;
import io.redlock.explorer.Catalog.Node;
import io.redlock.explorer.ExplorerEvent.Kind;
import io.redlock.protocol.Tenure;
import io.redlock.protocol.Tenure.Phase;
import io.redlock.spi.NodeReply;

/** Everything that can happen next, and the checks of what comes of it. */
final class Successors {

  /** Takes what can come next. */
  interface Sink {
    /** The world is overwritten afterwards. */
    void found(int event, ExplorerWorld next);
  }

  private static final int QUORUM = Scope.NODES / 2 + 1;

  private final Scope scope;
  private final Catalog catalog;
  private final NodeSteps nodes;
  private final ClientSteps clients;
  private final Settling settling;
  private final ExplorerWorld next;
  private ExplorerWorld world;
  private Sink sink;
  private int event;
  private int answer;

  Successors(Scope scope, Catalog catalog) {
    this.scope = scope;
    this.catalog = catalog;
    this.nodes = new NodeSteps(scope, catalog);
    this.clients = new ClientSteps(scope, catalog);
    this.settling = new Settling(scope, catalog, nodes, clients);
    this.next = new ExplorerWorld(scope.attempts);
    this.world = next;
    this.sink = (what, found) -> {};
  }

  /** The event being tried, for whoever catches a violation. */
  int event() {
    return event;
  }

  /**
   * What the node said to the request executed last; something with tag 0 if it came to nothing.
   */
  Answer answer() {
    return catalog.answers.get(answer);
  }

  /** What the event being tried has made of the world. */
  ExplorerWorld outcome() {
    return next;
  }

  void of(ExplorerWorld from, Sink to) {
    world = from;
    sink = to;
    time();
    for (int node = 0; node < Scope.NODES; node++) {
      node(node);
    }
    for (int attempt = 0; attempt < scope.attempts; attempt++) {
      client(attempt);
      for (int node = 0; node < Scope.NODES; node++) {
        network(attempt, node);
      }
    }
  }

  private ExplorerWorld begin(Kind kind, int attempt, int node, int choice) {
    event = ExplorerEvent.of(kind, attempt, node, choice);
    return next.set(world);
  }

  private void done() {
    check();
    if (!scope.everyDelay && settling.settle(next)) {
      check();
    }
    sink.found(event, next);
  }

  // Time.

  private void time() {
    if (!scope.isTimed()) {
      return;
    }
    boolean goesOn = world.now < scope.horizon;
    if (goesOn) {
      tick(begin(Kind.TICK, 0, 0, 0));
      done();
    }
    if (world.clockFaults == scope.clockFaults) {
      return;
    }
    for (int attempt = 0; attempt < scope.attempts; attempt++) {
      Phase phase = clients.phase(world, attempt);
      if (phase != Phase.ACQUIRING && phase != Phase.HOLDING) {
        continue;
      }
      if (goesOn) {
        tick(begin(Kind.SUSPEND, attempt, 0, 0));
        next.clockFaults++;
        clients.clockFault(next, attempt, true);
        done();
      }
      begin(Kind.SET_BACK, attempt, 0, 0).clockFaults++;
      clients.clockFault(next, attempt, false);
      done();
    }
  }

  private void tick(ExplorerWorld changed) {
    changed.now++;
    for (int node = 0; node < Scope.NODES; node++) {
      changed.nodes[node] = nodes.aged(changed.nodes[node], changed.now);
    }
  }

  // Nodes on their own.

  private void node(int node) {
    Node state = nodes.get(world.nodes[node]);
    if (!scope.isTimed() && !state.isFree()) {
      expire(node, state);
    }
    if (scope.isSetFree) {
      free(Kind.FREE, node, 0);
      free(Kind.FREE_AND_BURY, node, clients.highestCounter(world));
    }
    if (scope.waitersDie) {
      for (int place = 0; place < state.cells().get(0).queue().size(); place++) {
        begin(Kind.LAPSE, 0, node, place).nodes[node] = nodes.lapsed(world.nodes[node], place);
        done();
      }
    }
    if (scope.gainMicros > 0 && !state.gained()) {
      begin(Kind.GAIN, 0, node, 0).nodes[node] = nodes.gained(world.nodes[node], world.now);
      done();
    }
    if (world.losses < scope.losses) {
      begin(Kind.LOSE, 0, node, 0).nodes[node] = nodes.emptied(world.nodes[node]);
      next.losses++;
      done();
    }
    if (state.bornMillis() == Node.UNBORN) {
      begin(Kind.AUDIT, 0, node, 0).nodes[node] = nodes.born(world.nodes[node], world.now);
      done();
    }
  }

  private void free(Kind kind, int node, long buried) {
    int freed = nodes.freed(world.nodes[node], world.now, buried);
    if (freed != world.nodes[node]) {
      begin(kind, 0, node, 0).nodes[node] = freed;
      done();
    }
  }

  /** An owner's keys were set together and run out together. Each entry runs out by itself. */
  private void expire(int node, Node state) {
    if (state.readers() != 0) {
      for (int reader = 0; reader < scope.attempts && !scope.nothingIsLate; reader++) {
        if ((state.readers() >>> reader & 1) != 0) {
          begin(Kind.EXPIRE_ENTRY, reader, node, 0).nodes[node] =
              nodes.expiredEntry(world.nodes[node], reader);
          done();
        }
      }
      return;
    }
    for (int name = 0; name < state.cells().size(); name++) {
      boolean mayRunOut = !scope.nothingIsLate || state.isHeldByStrangers();
      if (mayRunOut && state.isFirstOfItsOwner(name)) {
        begin(Kind.EXPIRE, 0, node, name).nodes[node] = nodes.expired(world.nodes[node], name);
        done();
      }
    }
  }

  // Clients on their own.

  private void client(int attempt) {
    Header header = clients.header(world, attempt);
    if (scope.isDriven && clients.isDue(world, attempt)) {
      begin(Kind.DUE, attempt, 0, 0);
      clients.due(next, attempt);
      done();
    }
    if (scope.isDriven && header.client().phase() == Phase.HOLDING) {
      resets(attempt);
    }
    switch (header.client().phase()) {
      case NEW -> start(attempt);
      case ACQUIRING -> {
        if (!scope.nothingIsLate) {
          timeout(attempt);
          if (scope.isFair()) {
            giveUp(attempt);
          }
        }
      }
      case HOLDING -> {
        begin(Kind.END, attempt, 0, 0);
        clients.end(next, attempt);
        done();
        if (TenureColumns.isUndecided(header.client())) {
          timeout(attempt);
        } else if (header.client().begun() < scope.extensions
            && !scope.isForeign(attempt)
            && clients.isValid(world, attempt)) {
          extend(attempt);
        }
      }
      case LOST -> {
        begin(Kind.END, attempt, 0, 0);
        clients.end(next, attempt);
        done();
      }
      case ENDED -> {
        if (scope.isDriven && clients.awaitsRelease(world, attempt)) {
          begin(Kind.TIMEOUT, attempt, 0, 0);
          clients.releaseTimedOut(next, attempt);
          done();
        }
        if (header.place().stands()) {
          giveUp(attempt);
        }
        if (header.place().stands() && scope.waitersDie) {
          begin(Kind.DIE, attempt, 0, 0);
          clients.die(next, attempt);
          done();
        }
      }
    }
  }

  /** Each node that has lost its data is noticed, at any time after. */
  private void resets(int attempt) {
    for (int node = 0; node < Scope.NODES; node++) {
      if (nodes.get(world.nodes[node]).bornMillis() != Node.OLD) {
        begin(Kind.RESET, attempt, node, 0);
        clients.reset(next, attempt, node);
        done();
      }
    }
  }

  private void giveUp(int attempt) {
    begin(Kind.GIVE_UP, attempt, 0, 0);
    clients.giveUp(next, attempt);
    done();
  }

  /** Of those that have not begun the first is as good as any; a retry follows its forerunner. */
  private void start(int attempt) {
    for (int other = 0; other < attempt; other++) {
      Phase phase = clients.phase(world, other);
      boolean isRetry = scope.owner(attempt) == scope.owner(other);
      boolean isNext =
          phase == Phase.NEW
              && !scope.isRepeated(attempt)
              && !scope.isRepeated(other)
              && scope.areAlike(attempt, other);
      if (isNext || isRetry && phase != Phase.ENDED) {
        return;
      }
    }
    if (scope.isRepeated(attempt) && !clients.mayTryAgain(world, attempt - 1)) {
      return;
    }
    for (int ttl = 0; ttl < scope.grantTicks.length; ttl++) {
      for (int ahead = 0; ahead < scope.aheadMicros.length; ahead++) {
        begin(Kind.START, attempt, ttl, ahead);
        clients.start(next, attempt, scope.grantTicks[ttl], scope.aheadMicros[ahead]);
        done();
      }
    }
  }

  private void timeout(int attempt) {
    begin(Kind.TIMEOUT, attempt, 0, 0);
    clients.timedOut(next, attempt);
    done();
  }

  private void extend(int attempt) {
    for (int ttl = 0; ttl < scope.extendTicks.length; ttl++) {
      begin(Kind.EXTEND, attempt, 0, ttl);
      clients.extend(next, attempt, scope.extendTicks[ttl]);
      done();
    }
  }

  // What lies between an owner and a node.

  private void network(int attempt, int node) {
    ExplorerLink link = catalog.links.get(world.links[node][attempt]);
    int waiting = ExplorerLink.size(link.lane());
    boolean isBehind = isBehindItsOwn(attempt, node);
    if (waiting > 0 && !isBehind) {
      execute(Kind.EXECUTE, attempt, node, 0);
      if (world.copies < scope.copies) {
        execute(Kind.COPY, attempt, node, 0);
      }
      if (world.shortages < scope.shortages) {
        execute(Kind.STARVE, attempt, node, 0);
      }
    }
    if (waiting > 0 && world.withdrawals < scope.withdrawals) {
      withdraw(attempt, node, waiting - 1);
    }
    if (world.cuts < scope.cuts && !isBehind && (waiting > 0 || link.replies() != 0)) {
      cut(attempt, node);
    }
    for (int i = 0; i < ExplorerLink.size(link.strays()); i++) {
      execute(Kind.STRAY, attempt, node, i);
    }
    if (link.replies() != 0) {
      begin(Kind.DELIVER, attempt, node, 0);
      Answer answer = catalog.answers.get(ExplorerLink.item(link.replies(), 0));
      ExplorerLink emptier = link.replies(ExplorerLink.without(link.replies(), 0));
      next.links[node][attempt] = catalog.links.of(emptier);
      clients.answered(next, attempt, node, answer);
      done();
    }
  }

  /** A waiter's requests to a node go one way: what it sent in earlier attempts comes first. */
  private boolean isBehindItsOwn(int attempt, int node) {
    for (int at = attempt; scope.isRepeated(at); at--) {
      if (catalog.links.get(world.links[node][at - 1]).lane() != 0) {
        return true;
      }
    }
    return false;
  }

  private void execute(Kind kind, int attempt, int node, int index) {
    begin(kind, attempt, node, index);
    answer = 0;
    ExplorerLink link = catalog.links.get(world.links[node][attempt]);
    int number = ExplorerLink.item(kind == Kind.STRAY ? link.strays() : link.lane(), index);
    boolean isShort = kind == Kind.STARVE;
    long execution = nodes.execute(attempt, number, world.nodes[node], world.now, isShort);
    answer = NodeSteps.answer(execution);
    next.nodes[node] = NodeSteps.node(execution);
    if (next.nodes[node] != world.nodes[node] && scope.checks(ExplorerInvariant.I20)) {
      Node after = nodes.get(next.nodes[node]);
      long limit = scope.nodeMicros(world.now, after.gained()) + scope.skewMicros;
      long highest = clients.highestCounter(world);
      after
          .cells()
          .forEach(cell -> Invariants.counterDoesNotRunAhead(cell.counter(), limit, highest));
    }
    Message message = catalog.messages.get(number);
    NodeReply.Kind said = answer().reply().kind();
    ExplorerLink after = noted(link, attempt, message, said, kind == Kind.STRAY);
    if (kind == Kind.STRAY) {
      if (after == link && next.nodes[node] == world.nodes[node]) {
        return; // nothing happened
      }
    } else {
      after = after.lane(ExplorerLink.without(after.lane(), index));
      if (isHeard(attempt, message.tag())) {
        after = after.replies(ExplorerLink.appended(after.replies(), answer));
      }
    }
    if (kind == Kind.COPY) {
      after = after.strays(ExplorerLink.merged(after.strays(), number)).copied();
      next.copies++;
    }
    if (isShort) {
      if (said != NodeReply.Kind.OUT_OF_MEMORY) {
        return; // memory was not needed
      }
      next.shortages++;
    }
    next.links[node][attempt] = catalog.links.of(after);
    done();
  }

  /** What really happened, whatever the client will hear of it. */
  private ExplorerLink noted(
      ExplorerLink link, int attempt, Message message, NodeReply.Kind said, boolean isStray) {
    if (said == NodeReply.Kind.GRANTED && !isStray) {
      boolean isOfRound = clients.round(world, attempt) == message.tag();
      return isOfRound && link.granted() != message.tag() ? link.granted(message.tag()) : link;
    }
    boolean released = message.tag() == Tenure.RELEASE_TAG && said != NodeReply.Kind.OUT_OF_MEMORY;
    return released && !link.isBuried() ? link.buried() : link;
  }

  private boolean isHeard(int attempt, int tag) {
    return tag == Tenure.RELEASE_TAG || clients.phase(world, attempt) != Phase.ENDED;
  }

  private void withdraw(int attempt, int node, int index) {
    ExplorerLink link = catalog.links.get(world.links[node][attempt]);
    Message message = catalog.messages.get(ExplorerLink.item(link.lane(), index));
    if (message.tag() == Tenure.RELEASE_TAG) {
      return;
    }
    begin(Kind.WITHDRAW, attempt, node, index).withdrawals++;
    next.links[node][attempt] =
        catalog.links.of(link.lane(ExplorerLink.without(link.lane(), index)));
    if (isHeard(attempt, message.tag())) {
      Answer answer = new Answer(message.tag(), NodeReply.unreachable(""));
      clients.answered(next, attempt, node, answer);
    }
    done();
  }

  /** What is on its way becomes unknown at once; the next connection is there at once, too. */
  private void cut(int attempt, int node) {
    begin(Kind.CUT, attempt, node, 0).cuts++;
    cutOff(attempt, node);
    for (int at = attempt + 1; at < scope.attempts && scope.isRepeated(at); at++) {
      cutOff(at, node);
    }
    done();
  }

  private void cutOff(int attempt, int node) {
    ExplorerLink link = catalog.links.get(world.links[node][attempt]);
    long strays = link.strays();
    for (int i = 0; i < ExplorerLink.size(link.lane()); i++) {
      strays = ExplorerLink.merged(strays, ExplorerLink.item(link.lane(), i));
    }
    ExplorerLink after = new ExplorerLink(0, 0, strays, link.books()).granted(0);
    next.links[node][attempt] = catalog.links.of(after);
    for (int i = 0; i < ExplorerLink.size(link.replies()); i++) {
      lose(attempt, node, catalog.answers.get(ExplorerLink.item(link.replies(), i)).tag());
    }
    for (int i = 0; i < ExplorerLink.size(link.lane()); i++) {
      lose(attempt, node, catalog.messages.get(ExplorerLink.item(link.lane(), i)).tag());
    }
  }

  private void lose(int attempt, int node, int tag) {
    if (tag == Tenure.RELEASE_TAG || clients.phase(next, attempt) != Phase.ENDED) {
      clients.answered(next, attempt, node, new Answer(tag, NodeReply.unknown("")));
    }
  }

  // What must hold in every state.

  private void check() {
    for (int node = 0; node < Scope.NODES; node++) {
      Node state = nodes.get(next.nodes[node]);
      if (!state.isFree()) {
        checkKeys(node, state);
      }
    }
    if (scope.checks(ExplorerInvariant.I14)) {
      checkProgress();
    }
    if (!scope.isTimed()) {
      return;
    }
    for (int attempt = 0; attempt < scope.attempts; attempt++) {
      if (isGood(attempt)) {
        checkLease(attempt);
      }
    }
    for (int attempt = 0;
        attempt < scope.attempts && scope.checks(ExplorerInvariant.I1);
        attempt++) {
      if (isGood(attempt)) {
        Invariants.leasesDoNotOverlap(goodOnes(attempt));
      }
    }
  }

  /** How many good leases there are: the attempt's, and those that should exclude it. */
  private int goodOnes(int attempt) {
    int good = 0;
    for (int other = 0; other < scope.attempts; other++) {
      boolean excludes = other == attempt || scope.exclude(attempt, other);
      good += excludes && isGood(other) ? 1 : 0;
    }
    return good;
  }

  private boolean isGood(int attempt) {
    return clients.phase(next, attempt) == Phase.HOLDING && clients.isValid(next, attempt);
  }

  private void checkKeys(int node, Node state) {
    for (int attempt = 0; attempt < scope.attempts; attempt++) {
      boolean holds = state.holdsAny(scope.owner(attempt));
      if (holds && scope.checks(ExplorerInvariant.I15)) {
        boolean holdsAll = state.holdsAll(scope.set(attempt), scope.owner(attempt));
        Invariants.setIsHeldAsWhole(scope.ownerName(attempt), holds, holdsAll);
      }
      if (holds && scope.checks(ExplorerInvariant.I5) && !scope.isForeign(attempt)) {
        ExplorerLink link = catalog.links.get(next.links[node][attempt]);
        Invariants.releasedOwnerIsNotStored(scope.ownerName(attempt), link.isBuried(), true);
        boolean isQuiet =
            clients.phase(next, attempt) == Phase.ENDED
                && link.lane() == 0
                && link.replies() == 0
                && !link.isCopied()
                && !TenureColumns.owes(link.column());
        Invariants.endedOwnerIsNotLeftBehind(scope.ownerName(attempt), isQuiet, true);
      }
    }
  }

  private void checkLease(int attempt) {
    String owner = scope.ownerName(attempt);
    Header header = clients.header(next, attempt);
    if (scope.checks(ExplorerInvariant.I2)) {
      Invariants.leaseIsEntitled(owner, scope.nanos(next.now), header.entitledNanos());
    }
    if (scope.checks(ExplorerInvariant.I1_BACKED)) {
      int backing = 0;
      for (int node = 0; node < Scope.NODES; node++) {
        Node state = nodes.get(next.nodes[node]);
        boolean holds =
            state.holdsAll(scope.set(attempt), scope.owner(attempt))
                || scope.isSetFree && state.isHeldByStrangers();
        backing += holds || !nodes.votes(next.nodes[node], next.now) ? 1 : 0;
      }
      Invariants.leaseIsBacked(owner, backing, QUORUM);
    }
  }

  /**
   * Nothing is on its way and nobody holds or acquires: whoever comes next is granted, as soon as
   * what the faults have left has run out. So are all readers that come before the first writer.
   */
  private void checkProgress() {
    if (!isQuiet()) {
      return;
    }
    for (int attempt = 0; attempt < scope.attempts; attempt++) {
      boolean isNext =
          scope.isFair()
              ? clients.isWaiting(next, attempt) && !clients.isBehindOthers(next, attempt)
              : attempt == 0;
      if (isNext) {
        checkTurn(attempt);
      }
    }
  }

  private void checkTurn(int attempt) {
    boolean isAtOnce = scope.isLossless() && !scope.waitersDie;
    int now = next.now + (isAtOnce ? 0 : Scope.TICKS_UNTIL_ALL_HAS_RUN_OUT);
    int message = clients.trial(next, attempt, now);
    int grants = 0;
    for (int number : next.nodes) {
      grants += nodes.wouldGrant(message, number, now) ? 1 : 0;
    }
    Invariants.firstInLineIsGranted(scope.ownerName(attempt), grants, QUORUM);
  }

  private boolean isQuiet() {
    for (int attempt = 0; attempt < scope.attempts; attempt++) {
      Phase phase = clients.phase(next, attempt);
      if (phase == Phase.ACQUIRING || phase == Phase.HOLDING || phase == Phase.LOST) {
        return false;
      }
    }
    for (int node = 0; node < Scope.NODES; node++) {
      if (nodes.get(next.nodes[node]).isHeldByStrangers()) {
        return false;
      }
      for (int attempt = 0; attempt < scope.attempts; attempt++) {
        ExplorerLink link = catalog.links.get(next.links[node][attempt]);
        if (link.lane() != 0 || link.replies() != 0) {
          return false;
        }
      }
    }
    return true;
  }
}
