package io.redlock.explorer;

import io.redlock.explorer.Catalog.Answer;
import io.redlock.explorer.Catalog.Claim;
import io.redlock.explorer.Catalog.Header;
import io.redlock.explorer.Catalog.Message;
import io.redlock.explorer.Catalog.Node;
import io.redlock.explorer.Search.Sink;
import io.redlock.protocol.Tenure;
import io.redlock.protocol.Tenure.Phase;
import io.redlock.spi.NodeReply;
import io.redlock.testbed.Text;
import java.util.function.Supplier;

/** Everything that can happen next, and the checks of what comes of it. */
final class Successors {

  private static final int QUORUM = Scope.NODES / 2 + 1;

  private final Scope scope;
  private final Catalog catalog;
  private final NodeSteps nodes;
  private final ClientSteps clients;
  private final Settling settling;
  private final ExplorerWords words;
  private final Supplier<String> line = this::line;
  private final ExplorerWorld next;
  private ExplorerWorld world;
  private Sink<ExplorerWorld> sink;
  private Supplier<String> event = () -> "";
  private int answer;

  Successors(Scope scope, Catalog catalog) {
    this.scope = scope;
    this.catalog = catalog;
    this.nodes = new NodeSteps(scope, catalog);
    this.clients = new ClientSteps(scope, catalog);
    this.settling = new Settling(scope, catalog, nodes, clients);
    this.words = new ExplorerWords(scope, catalog);
    this.next = new ExplorerWorld(scope.attempts);
    this.world = next;
    this.sink = (what, found) -> {};
  }

  /** The event being tried, and what it has made of the nodes. */
  String line() {
    return words.time(world) + Text.of("%-58s", event.get()) + words.nodes(next);
  }

  /** Finds all that can happen next. Each world found is overwritten afterwards. */
  void of(ExplorerWorld from, Sink<ExplorerWorld> to) {
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

  private ExplorerWorld begin(Supplier<String> what) {
    event = what;
    return next.set(world);
  }

  private void happens(Supplier<String> what, Runnable change) {
    begin(what);
    change.run();
    done();
  }

  /** An event after which it is of interest what the owner is. */
  private String news(int attempt, String what) {
    return owner(attempt) + what + words.state(world, next, attempt);
  }

  private String owner(int attempt) {
    return scope.ownerName(attempt);
  }

  private static String name(int node) {
    return ExplorerWords.name(node);
  }

  private void done() {
    check();
    if (!scope.everyDelay && settling.settle(next)) {
      check();
    }
    sink.found(line, next);
  }

  // Time.

  private void time() {
    if (!scope.isTimed()) {
      return;
    }
    boolean goesOn = world.now < scope.horizon;
    if (goesOn) {
      tick(begin(() -> "time passes"));
      done();
    }
    if (world.clockFaults == scope.clockFaults) {
      return;
    }
    for (int each = 0; each < scope.attempts; each++) {
      int attempt = each;
      Phase phase = clients.phase(world, attempt);
      if (phase != Phase.ACQUIRING && phase != Phase.HOLDING) {
        continue;
      }
      if (goesOn) {
        tick(begin(() -> "time passes, but not for " + owner(attempt) + "'s monotonic clock"));
        next.clockFaults++;
        clients.clockFault(next, attempt, true);
        done();
      }
      begin(() -> owner(attempt) + "'s wall clock is set back").clockFaults++;
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
      for (int name = 0; name < state.cells().size(); name++) {
        free(node, name, 0, "");
        free(node, name, clients.highestCounter(world), " and to bury the highest counter");
      }
    }
    if (scope.waitersDie) {
      for (int each = 0; each < state.cells().get(0).queue().size(); each++) {
        int place = each;
        begin(() -> name(node) + "'s ticket no. " + (place + 1) + " runs out").nodes[node] =
            nodes.lapsed(world.nodes[node], place);
        done();
      }
    }
    if (scope.gainMicros > 0 && state.gained() == scope.isAheadAtFirst) {
      String what = scope.isAheadAtFirst ? "'s clock is set right" : "'s clock gains";
      begin(() -> name(node) + what).nodes[node] = nodes.clocked(world.nodes[node], world.now);
      done();
    }
    if (world.losses < scope.losses) {
      begin(() -> name(node) + " loses its data").nodes[node] = nodes.emptied(world.nodes[node]);
      next.losses++;
      done();
    }
    if (state.bornMillis() == Node.UNBORN) {
      begin(() -> name(node) + " is audited and gets a birth").nodes[node] =
          nodes.born(world.nodes[node], world.now);
      done();
    }
  }

  private void free(int node, int name, long buried, String also) {
    int freed = nodes.freed(world.nodes[node], name, world.now, buried);
    long counter = nodes.get(world.nodes[node]).cells().get(name).counter();
    begin(() -> name(node) + " is told to set name " + name + " free" + also).nodes[node] = freed;
    boolean isNews = freed != world.nodes[node];
    for (int attempt = 0; attempt < scope.attempts; attempt++) {
      isNews |= clients.freed(next, attempt, node, Math.max(counter, buried));
    }
    if (isNews) {
      done();
    }
  }

  /** An owner's keys were set together and run out together. Each entry runs out by itself. */
  private void expire(int node, Node state) {
    for (int each = 0; each < scope.attempts && !scope.nothingIsLate; each++) {
      int reader = each;
      if (state.readsAny(reader)) {
        begin(() -> owner(reader) + "'s entry at " + name(node) + " runs out").nodes[node] =
            nodes.expiredEntries(world.nodes[node], reader);
        done();
      }
    }
    for (int name = 0; name < state.cells().size(); name++) {
      boolean mayRunOut = !scope.nothingIsLate || state.isHeldByStrangers();
      if (mayRunOut && state.isFirstOfItsOwner(name)) {
        begin(() -> name(node) + "'s key runs out").nodes[node] =
            nodes.expired(world.nodes[node], name);
        done();
      }
    }
  }

  // Clients on their own.

  private void client(int attempt) {
    Header header = catalog.header(world, attempt);
    if (scope.isDriven && clients.isDue(world, attempt)) {
      happens(() -> news(attempt, " does what is due"), () -> clients.due(next, attempt));
    }
    if (scope.isDriven && header.client().phase() == Phase.HOLDING) {
      resets(attempt);
    }
    pass(attempt, header.claim());
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
        happens(() -> owner(attempt) + " ends its lease", () -> clients.end(next, attempt));
        if (TenureColumns.isUndecided(header.client())) {
          timeout(attempt);
        } else if (header.client().begun() < scope.extensions
            && !scope.isForeign(attempt)
            && clients.isValid(world, attempt)) {
          extend(attempt);
        }
      }
      case LOST -> {
        happens(() -> owner(attempt) + " ends its lease", () -> clients.end(next, attempt));
      }
      case ENDED -> {
        if (scope.isDriven && clients.awaitsRelease(world, attempt)) {
          happens(
              () -> news(attempt, " waits no longer"),
              () -> clients.releaseTimedOut(next, attempt));
        }
        if (header.place().stands()) {
          giveUp(attempt);
        }
        if (header.place().stands() && scope.waitersDie) {
          happens(() -> owner(attempt) + " dies", () -> clients.places.die(next, attempt));
        }
      }
    }
  }

  /** Each node that has lost its data is noticed, at any time after. */
  private void resets(int attempt) {
    for (int each = 0; each < Scope.NODES; each++) {
      int node = each;
      if (nodes.get(world.nodes[node]).bornMillis() != Node.OLD) {
        happens(
            () -> owner(attempt) + " notices that " + name(node) + " was reset",
            () -> clients.reset(next, attempt, node));
      }
    }
  }

  private void giveUp(int attempt) {
    happens(() -> owner(attempt) + " gives up", () -> clients.giveUp(next, attempt));
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
    if (scope.isRepeated(attempt) && !clients.places.mayTryAgain(world, attempt - 1)) {
      return;
    }
    for (int ticks : scope.grantTicks) {
      for (int ahead : scope.aheadMicros) {
        happens(() -> news(attempt, " begins"), () -> clients.start(next, attempt, ticks, ahead));
      }
    }
  }

  /** Returns as if nothing had happened if the lease cannot be passed on. */
  private void pass(int attempt, Claim claim) {
    if (claim.held() != 0 && claim.held() - claim.first() < scope.passes) {
      begin(() -> owner(attempt) + " passes its lease on");
      if (clients.pass(next, attempt)) {
        done();
      }
    }
  }

  private void timeout(int attempt) {
    happens(() -> news(attempt, " waits no longer"), () -> clients.timedOut(next, attempt));
  }

  private void extend(int attempt) {
    for (int ticks : scope.extendTicks) {
      happens(
          () -> owner(attempt) + " extends by " + scope.ttlMillis(ticks) + " ms",
          () -> clients.extend(next, attempt, ticks));
    }
  }

  // What lies between an owner and a node.

  /** How a request is executed. */
  private enum Execution {
    EXECUTE(" executes "),
    COPY(" executes, and a copy is left of, "),
    /** The node is out of memory. */
    STARVE(" executes, out of memory, "),
    STRAY(" executes the stray ");

    private final String words;

    Execution(String words) {
      this.words = words;
    }
  }

  private void network(int attempt, int node) {
    ExplorerLink link = catalog.link(world, node, attempt);
    int waiting = ExplorerLink.size(link.lane());
    boolean isBehind = isBehindItsOwn(attempt, node);
    if (waiting > 0 && !isBehind) {
      execute(Execution.EXECUTE, attempt, node, 0);
      if (world.copies < scope.copies) {
        execute(Execution.COPY, attempt, node, 0);
      }
      if (world.shortages < scope.shortages) {
        execute(Execution.STARVE, attempt, node, 0);
      }
    }
    if (waiting > 0 && world.withdrawals < scope.withdrawals) {
      withdraw(attempt, node, waiting - 1);
    }
    if (world.cuts < scope.cuts && !isBehind && (waiting > 0 || link.replies() != 0)) {
      cut(attempt, node);
    }
    for (int i = 0; i < ExplorerLink.size(link.strays()); i++) {
      execute(Execution.STRAY, attempt, node, i);
    }
    if (link.replies() != 0) {
      Answer answer = catalog.answers.get(ExplorerLink.item(link.replies(), 0));
      begin(
          () ->
              owner(attempt)
                  + ExplorerWords.hears(answer, node)
                  + words.state(world, next, attempt));
      ExplorerLink emptier = link.replies(ExplorerLink.without(link.replies(), 0));
      next.links[node][attempt] = catalog.links.of(emptier);
      clients.answered(next, attempt, node, answer);
      done();
    }
  }

  /** A waiter's requests to a node go one way: what it sent in earlier attempts comes first. */
  private boolean isBehindItsOwn(int attempt, int node) {
    for (int at = attempt; scope.isRepeated(at); at--) {
      if (catalog.link(world, node, at - 1).lane() != 0) {
        return true;
      }
    }
    return false;
  }

  private void execute(Execution kind, int attempt, int node, int index) {
    answer = 0;
    ExplorerLink link = catalog.link(world, node, attempt);
    int number = ExplorerLink.item(kind == Execution.STRAY ? link.strays() : link.lane(), index);
    begin(
        () ->
            name(node)
                + kind.words
                + owner(attempt)
                + "'s "
                + words.request(number)
                + ExplorerWords.said(answer()));
    boolean isShort = kind == Execution.STARVE;
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
    ExplorerLink after = noted(link, attempt, message, said, kind == Execution.STRAY);
    if (kind == Execution.STRAY) {
      if (after == link && next.nodes[node] == world.nodes[node]) {
        return; // nothing happened
      }
    } else {
      after = after.lane(ExplorerLink.without(after.lane(), index));
      if (isHeard(attempt, message.tag())) {
        after = after.replies(ExplorerLink.appended(after.replies(), answer));
      }
    }
    if (kind == Execution.COPY) {
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

  /** What the node said to the request executed last; tag 0 if it came to nothing. */
  private Answer answer() {
    return catalog.answers.get(answer);
  }

  private boolean isHeard(int attempt, int tag) {
    return tag == Tenure.RELEASE_TAG || clients.phase(world, attempt) != Phase.ENDED;
  }

  private void withdraw(int attempt, int node, int index) {
    ExplorerLink link = catalog.link(world, node, attempt);
    int number = ExplorerLink.item(link.lane(), index);
    Message message = catalog.messages.get(number);
    if (message.tag() == Tenure.RELEASE_TAG) {
      return;
    }
    begin(() -> owner(attempt) + " takes back from " + name(node) + " " + words.request(number))
        .withdrawals++;
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
    begin(() -> owner(attempt) + "'s connection to " + name(node) + " breaks").cuts++;
    cutOff(attempt, node);
    for (int at = attempt + 1; at < scope.attempts && scope.isRepeated(at); at++) {
      cutOff(at, node);
    }
    done();
  }

  private void cutOff(int attempt, int node) {
    ExplorerLink link = catalog.link(world, node, attempt);
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
        ExplorerLink link = catalog.link(next, node, attempt);
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
    Header header = catalog.header(next, attempt);
    if (scope.checks(ExplorerInvariant.I2)) {
      Invariants.leaseIsEntitled(owner, scope.nanos(next.now), header.claim().entitledNanos());
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
              ? clients.places.isWaiting(next, attempt)
                  && !clients.places.isBehindOthers(next, attempt)
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
        ExplorerLink link = catalog.link(next, node, attempt);
        if (link.lane() != 0 || link.replies() != 0) {
          return false;
        }
      }
    }
    return true;
  }
}
