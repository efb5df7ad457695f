package io.redlock.explorer;

import io.redlock.explorer.Catalog.Answer;
import io.redlock.explorer.Catalog.Claim;
import io.redlock.explorer.Catalog.Header;
import io.redlock.explorer.Catalog.Message;
import io.redlock.explorer.Catalog.Node;
import io.redlock.explorer.Catalog.Place;
import io.redlock.protocol.AcquireRound;
import io.redlock.protocol.Ballot;
import io.redlock.protocol.Decision;
import io.redlock.protocol.Decision.Outcome;
import io.redlock.protocol.ExtendRound;
import io.redlock.protocol.ExtendRound.Purpose;
import io.redlock.protocol.ReleaseRound;
import io.redlock.protocol.Tenure;
import io.redlock.protocol.Tenure.Due;
import io.redlock.protocol.Tenure.Phase;
import io.redlock.protocol.TenureState;
import io.redlock.spi.NodeRequest;
import io.redlock.testkit.NodeModel;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** What happens at a client, what it sends, and what is noted of it to check it by. */
final class ClientSteps {

  /** The only resource that is fought for. */
  static final List<String> NAMES = List.of("r");

  static final int QUORUM = Scope.NODES / 2 + 1;
  private static final int ALL = (1 << Scope.NODES) - 1;
  private static final long MICROS_BETWEEN_STARTS = 2;

  private final Scope scope;
  private final Catalog catalog;
  private final ExplorerRules rules;
  final PlaceSteps places;
  private final Tenure[] tenures;
  private final int[] columns = new int[Scope.NODES];

  // Of the attempt that was opened last.
  private Tenure tenure;
  private Clocks now = new Clocks(0, 0);

  ClientSteps(Scope scope, Catalog catalog) {
    this.scope = scope;
    this.catalog = catalog;
    rules = scope.rules();
    places = new PlaceSteps(scope, catalog, rules);
    tenures = IntStream.range(0, scope.attempts).mapToObj(scope::tenure).toArray(Tenure[]::new);
    tenure = tenures[0];
  }

  Phase phase(ExplorerWorld world, int attempt) {
    return catalog.header(world, attempt).client().phase();
  }

  /** Whether the client believes in its lease. */
  boolean isValid(ExplorerWorld world, int attempt) {
    Header header = catalog.header(world, attempt);
    return isValid(header.client(), clocks(world, header));
  }

  private static boolean isValid(TenureState client, Clocks now) {
    return client.phase() == Phase.HOLDING
        && client.lossTime() != null
        && client.lossTime().remainingNanos(now.nanos, now.wallMicros) > 0;
  }

  /** The number of the acquire round under way; 0 if there is none. */
  int round(ExplorerWorld world, int attempt) {
    return round(catalog.header(world, attempt).client());
  }

  private static int round(TenureState client) {
    return client.acquire() == null ? 0 : client.acquire().number();
  }

  private Clocks clocks(ExplorerWorld world, Header header) {
    return new Clocks(
        scope.nanos(world.now - header.lag()), scope.micros(world.now - header.setBack()));
  }

  /** Makes tenure and clocks those of the attempt. */
  private TenureState open(ExplorerWorld world, int attempt) {
    Header header = catalog.header(world, attempt);
    now = clocks(world, header);
    for (int node = 0; node < Scope.NODES; node++) {
      columns[node] = catalog.link(world, node, attempt).column();
    }
    TenureState state = TenureColumns.with(header.client(), columns);
    tenure = tenures[attempt];
    state.restore(tenure);
    return state;
  }

  /** Whether an answer with this tag comes after its round. */
  boolean isLate(ExplorerWorld world, int attempt, int tag) {
    tenure = tenures[attempt];
    catalog.header(world, attempt).client().restore(tenure);
    return !TenureState.counts(tenure, tag);
  }

  /** Whether the round under way would go on after this answer. */
  boolean leavesUndecided(ExplorerWorld world, int attempt, int node, Answer answer) {
    open(world, attempt);
    Step step = step(node, answer);
    return step.outcome == Outcome.NOTHING && TenureColumns.isUndecided(step.client);
  }

  /** What a client's two clocks show. */
  private record Clocks(long nanos, long wallMicros) {}

  /**
   * A step of an owner's life.
   *
   * @param client the state after it
   * @param send what it sends, if anything
   * @param targets the nodes it sends that to, as bits
   * @param tag what the answers will be told by
   * @param leaves whether a fair waiter gives up its place in the queues
   */
  record Step(
      TenureState client,
      Outcome outcome,
      @Nullable NodeRequest send,
      int targets,
      int tag,
      boolean leaves) {}

  private Step step(int node, Answer answer) {
    int tag = answer.tag();
    ReleaseRound release = tenure.release();
    if (release != null && release.isComplete()) {
      return nothing();
    }
    if (tag == Tenure.RELEASE_TAG && release != null) {
      tenure.released(node, answer.reply(), now.nanos);
      return due();
    }
    boolean counts = TenureState.counts(tenure, tag);
    tenure.answered(node, tag, answer.reply());
    return counts ? step(tenure.decide(tag, now.nanos, now.wallMicros)) : nothing();
  }

  private Step extend(ExtendRound round) {
    tenure.begin(round);
    if (!tenure.isUnderWay(round.tag())) {
      return nothing();
    }
    hand(round.tag());
    long sentMicros = scope.startMicros + round.start().nanos() / 1_000;
    NodeRequest extend = tenure.request(round, NAMES, "", sentMicros);
    return new Step(TenureState.of(tenure), Outcome.PROPOSED, extend, ALL, round.tag(), false);
  }

  /** The first round's token is the time as its client knows it. */
  private long sentMicros(Tenure asking) {
    AcquireRound round = Objects.requireNonNull(TenureState.of(asking).acquire());
    return round.number() == 1 ? round.token() : scope.startMicros + round.start().nanos() / 1_000;
  }

  private Step propose() {
    int round = tenure.round();
    NodeRequest grant = tenure.grant(NAMES, "", null, sentMicros(tenure));
    hand(round);
    return new Step(TenureState.of(tenure), Outcome.PROPOSED, grant, ALL, round, false);
  }

  private void hand(int tag) {
    for (int node = 0; node < Scope.NODES; node++) {
      tenure.sending(tag, node);
    }
  }

  /** Does what the state demands first. */
  private Step due() {
    Due due = tenure.due(now.nanos, now.wallMicros);
    return switch (due) {
      case NOTHING -> nothing();
      case LOSS -> {
        tenure.lose();
        yield nothing();
      }
      case RENEWAL, CONFIRMATION -> extend(tenure.next(due, now.nanos, now.wallMicros));
      case END -> end();
      case RELEASE ->
          releasing(Outcome.OVER, tenure.beginRelease(now.nanos), TenureState.of(tenure).isLast());
      case REPEAT -> releasing(Outcome.NOTHING, tenure.repeated(), false);
      case GIVING_UP -> {
        tenure.giveUp();
        yield nothing();
      }
    };
  }

  /** The owner ends; nothing of it is being handed to a node, so its release begins. */
  private Step end() {
    boolean ends = tenure.phase() != Phase.ENDED;
    tenure.end(true);
    return ends ? due() : nothing();
  }

  private Step nothing() {
    return new Step(TenureState.of(tenure), Outcome.NOTHING, null, 0, 0, false);
  }

  private Step step(Decision turn) {
    if (turn.outcome() == Outcome.HELD && scope.isRenewed()) {
      AcquireRound round = Objects.requireNonNull(turn.attempted());
      tenure.renew(round.terms(), scope.heldUntil(), round.start().nanos());
    }
    return switch (turn.outcome()) {
      case PROPOSED -> propose();
      case HELD ->
          releasing(
              Outcome.HELD,
              rules.releasedWhenHeld(Objects.requireNonNull(turn.attempted())),
              false);
      case CLOCK_REFUSED, CONTENDED, UNAVAILABLE, TOO_SLOW -> due();
      case EXTENDED -> new Step(TenureState.of(tenure), Outcome.EXTENDED, null, 0, 0, false);
      case NOTHING, UNKNOWN, REFUSED, EXPIRED, OVER -> nothing();
    };
  }

  private Step releasing(Outcome outcome, int targets, boolean leaves) {
    NodeRequest.Release all = tenure.release(NAMES, "", null);
    NodeRequest release = // fair() adds the ticket of a waiter that leaves
        new NodeRequest.Release(
            NAMES, "", all.token(), all.reported(), false, null, all.sharedTtlMillis());
    return new Step(TenureState.of(tenure), outcome, release, targets, Tenure.RELEASE_TAG, leaves);
  }

  /** Of a lease that is over it is no longer remembered since when. */
  void forgetWhatIsOver(ExplorerWorld world, int attempt) {
    Header header = catalog.header(world, attempt);
    boolean isOrWasHeld =
        header.client().phase() == Phase.HOLDING || header.client().phase() == Phase.LOST;
    Claim claim = header.claim();
    if (isOrWasHeld
        && claim.entitledNanos() != 0
        && scope.clockFaults == 0
        && !isValid(world, attempt)) {
      Claim over = claim.over(claim.overtaken(), claim.offeredNanos());
      TenureState expired = TenureColumns.expired(header.client());
      world.headers[attempt] = catalog.headers.of(header.timeless(expired, over));
    }
  }

  // Events. Each changes the world in place.

  void start(ExplorerWorld world, int attempt, int ticks, int aheadMicros) {
    if (scope.isRepeated(attempt)) {
      places.takeOver(world, attempt);
    }
    long micros = scope.proposedMicros(world.now) + aheadMicros;
    if (scope.isFair()) {
      micros += MICROS_BETWEEN_STARTS * begun(world);
    }
    open(world, attempt);
    boolean begins = tenure.phase() == Phase.NEW;
    tenure.begin(scope.terms(ticks), micros, now.nanos, now.wallMicros);
    take(world, attempt, begins ? propose() : nothing());
  }

  private int begun(ExplorerWorld world) {
    int begun = 0;
    for (int attempt = 0; attempt < scope.attempts; attempt++) {
      begun += phase(world, attempt) == Phase.NEW ? 0 : 1;
    }
    return begun;
  }

  /** What the attempt's caller would ask next, above every token so far. */
  int trial(ExplorerWorld world, int attempt, int now) {
    long counter = highestCounter(world);
    long token = Math.max(scope.micros(now) + scope.skewMicros, counter + 1);
    Place place = catalog.header(world, attempt).place();
    NodeRequest asked =
        new NodeRequest.Grant(
            NAMES,
            "",
            token,
            counter,
            scope.ttlMillis(1),
            scope.isFair(attempt) ? places.ticket(attempt, place.micros(), token) : null,
            scope.isShared(attempt) ? scope.micros(now) + scope.skewMicros : 0);
    return catalog.messages.of(new Message(1, asked, 0));
  }

  /** The highest counter on any node that clients follow. */
  long highestCounter(ExplorerWorld world) {
    long highest = 0;
    for (int node : world.nodes) {
      for (NodeModel.Cell cell : catalog.nodes.get(node).cells()) {
        highest = scope.isFar(cell.counter()) ? highest : Math.max(highest, cell.counter());
      }
    }
    return highest;
  }

  /** A fair waiter waits no longer, during an attempt or after one. */
  void giveUp(ExplorerWorld world, int attempt) {
    Header header = catalog.header(world, attempt);
    if (header.client().phase() == Phase.ACQUIRING) {
      end(world, attempt);
      return;
    }
    places.withdraw(world, attempt, rules.withdrawsFrom(0));
    places.die(world, attempt);
  }

  void extend(ExplorerWorld world, int attempt, int ticks) {
    open(world, attempt);
    take(
        world,
        attempt,
        extend(tenure.next(Purpose.CALLED, scope.terms(ticks), now.nanos, now.wallMicros)));
  }

  /** Passes the lease on to a next caller; returns false if that cannot be. */
  boolean pass(ExplorerWorld world, int attempt) {
    Header header = catalog.header(world, attempt);
    TenureState before = open(world, attempt);
    long token = rules.nextToken(header.claim().held());
    if (!tenure.pass(token, scope.terms(scope.grantTicks[0]), now.nanos, now.wallMicros)) {
      return false;
    }
    String owner = scope.ownerName(attempt);
    if (scope.checks(ExplorerInvariant.I3)) {
      long others = scope.isTimed() ? highestHeld(world, attempt) : 0;
      checkToken(world, attempt, token, Math.max(header.claim().held(), others));
    }
    if (scope.checks(ExplorerInvariant.I11)) {
      Invariants.lostLeaseStaysLost(owner, isValid(before, now));
    }
    TenureState kept = TenureColumns.header(TenureState.of(tenure), Scope.NODES);
    world.headers[attempt] = catalog.headers.of(header.with(kept, header.claim().passed(token)));
    return true;
  }

  /** Whether the tenure has something to do now; an extend waits for the one under way. */
  boolean isDue(ExplorerWorld world, int attempt) {
    TenureState state = open(world, attempt);
    boolean isFree = state.begun() < scope.extensions && !TenureColumns.isUndecided(state);
    return tenure.delayNanos(now.nanos, now.wallMicros) <= 0
        && (isFree || state.phase() != Phase.HOLDING || !isValid(state, now));
  }

  /** Does what is due, as the timer of an owner does, however late. */
  void due(ExplorerWorld world, int attempt) {
    open(world, attempt);
    take(world, attempt, due());
  }

  /** An operator is told that a node has set owners of tokens up to this one free. */
  boolean freed(ExplorerWorld world, int attempt, int node, long token) {
    Header header = catalog.header(world, attempt);
    ExplorerLink link = catalog.link(world, node, attempt);
    boolean isNews =
        scope.checks(ExplorerInvariant.I22)
            && header.client().phase() == Phase.HOLDING
            && !TenureColumns.isUndecided(header.client())
            && header.claim().held() <= token
            && !link.isFreed();
    world.links[node][attempt] =
        isNews ? catalog.links.of(link.freed(true)) : world.links[node][attempt];
    return isNews;
  }

  /** The client notices that a node was reset. */
  void reset(ExplorerWorld world, int attempt, int node) {
    open(world, attempt);
    tenure.reset(1 << node, now.nanos);
    take(world, attempt, nothing());
  }

  void answered(ExplorerWorld world, int attempt, int node, Answer answer) {
    open(world, attempt);
    take(world, attempt, step(node, answer));
  }

  void timedOut(ExplorerWorld world, int attempt) {
    TenureState state = open(world, attempt);
    int tag = state.extending().isEmpty() ? round(state) : state.extending().get(0).tag();
    tenure.timedOut(tag);
    take(world, attempt, step(tenure.decide(tag, now.nanos, now.wallMicros)));
  }

  /** Whether the result of its release is not known yet. */
  boolean awaitsRelease(ExplorerWorld world, int attempt) {
    ReleaseRound release = open(world, attempt).release();
    return release != null && !release.isComplete() && release.ballot().set(Ballot.PENDING) != 0;
  }

  void releaseTimedOut(ExplorerWorld world, int attempt) {
    open(world, attempt);
    tenure.timedOut(Tenure.RELEASE_TAG);
    take(world, attempt, nothing());
  }

  void end(ExplorerWorld world, int attempt) {
    open(world, attempt);
    now = new Clocks(0, 0);
    take(world, attempt, end());
  }

  /** The machine sleeps for a tick, or somebody sets its wall clock back by one. */
  void clockFault(ExplorerWorld world, int attempt, boolean suspended) {
    Header old = catalog.header(world, attempt);
    world.headers[attempt] =
        catalog.headers.of(
            new Header(
                old.client(),
                old.lag() + (suspended ? 1 : 0),
                old.setBack() + (suspended ? 0 : 1),
                old.claim(),
                old.place()));
  }

  // What comes of an event.

  private void take(ExplorerWorld world, int attempt, Step turn) {
    Header old = catalog.header(world, attempt);
    TenureState client = TenureColumns.forgotten(turn.client());
    Outcome outcome = turn.outcome();
    checkTurn(world, attempt, old, client, outcome);
    NodeRequest send = scope.isFair(attempt) ? places.withTicket(attempt, old, turn) : turn.send();
    Place place = places.placed(world, attempt, old, turn, send);
    for (int node = 0; node < Scope.NODES; node++) {
      ExplorerLink link =
          catalog.link(world, node, attempt).column(TenureColumns.column(client, node));
      if (outcome != Outcome.NOTHING) {
        link = link.granted(0);
      }
      if (client.phase() == Phase.ENDED) {
        link = link.replies(releasesOnly(link.replies())).freed(false);
      }
      if ((turn.targets() >>> node & 1) != 0 && send != null) {
        link =
            link.lane(ExplorerLink.appended(link.lane(), message(world, turn.tag(), send, node)));
      }
      world.links[node][attempt] = catalog.links.of(link);
    }
    if (outcome == Outcome.OVER && scope.isFair(attempt) && !place.stands()) {
      places.withdraw(world, attempt, rules.withdrawsFrom(turn.targets()));
    }
    world.headers[attempt] =
        catalog.headers.of(next(world, attempt, old, client, turn).with(place));
    if (outcome == Outcome.HELD) {
      overtakeOthers(world, attempt);
    }
    boolean waitsNoLonger = outcome == Outcome.HELD || outcome == Outcome.OVER && !place.stands();
    if (scope.isFair(attempt) && waitsNoLonger) {
      places.isPassedByNobody(world, scope.waiter(attempt));
    }
  }

  private void checkTurn(
      ExplorerWorld world, int attempt, Header old, TenureState client, Outcome outcome) {
    String owner = scope.ownerName(attempt);
    if (outcome == Outcome.HELD) {
      if (scope.checks(ExplorerInvariant.I9)) {
        int granted = 0;
        for (int node = 0; node < Scope.NODES; node++) {
          granted += catalog.link(world, node, attempt).granted() == round(old.client()) ? 1 : 0;
        }
        Invariants.leaseRestsOnQuorum(owner, granted, QUORUM);
      }
      if (scope.checks(ExplorerInvariant.I3) && !scope.isForeign(attempt)) {
        checkToken(world, attempt, client.leaseToken(), old.claim().floor());
      }
      if (scope.checks(ExplorerInvariant.I13)) {
        Invariants.nobodyIsPassed(owner, old.place().behind());
      }
      if (scope.checks(ExplorerInvariant.I2)) {
        Invariants.leaseIsGoodAtFirst(owner, isValid(client, clocks(world, old)));
      }
    }
    if (outcome == Outcome.EXTENDED) {
      if (scope.checks(ExplorerInvariant.I6)) {
        Invariants.nobodyAcquiredMeanwhile(owner, old.claim().overtaken());
      }
      if (scope.checks(ExplorerInvariant.I11)) {
        Invariants.lostLeaseStaysLost(owner, isValid(old.client(), clocks(world, old)));
      }
      int freed = 0;
      for (int node = 0; node < Scope.NODES; node++) {
        freed += catalog.link(world, node, attempt).isFreed() ? 1 : 0;
      }
      Invariants.freedOwnerIsNotExtended(owner, freed, QUORUM);
    }
    if (scope.checks(ExplorerInvariant.I7)) {
      Invariants.fullBallotDecides(
          owner, !TenureColumns.isUndecided(client), TenureColumns.answers(client), Scope.NODES);
    }
  }

  private Header next(ExplorerWorld world, int attempt, Header old, TenureState client, Step turn) {
    TenureState kept = TenureColumns.header(client, Scope.NODES);
    Claim claim = old.claim();
    return switch (turn.outcome()) {
      case PROPOSED -> {
        long floor = acquires(client) ? highestHeld(world, attempt) : 0;
        yield old.with(kept, claim.asking(floor, offered(world, turn)));
      }
      case HELD -> old.with(kept, claim.acquired(client.leaseToken()));
      case EXTENDED -> old.with(kept, claim.extended());
      case OVER -> old.timeless(kept, claim.over(false, 0));
      default -> {
        long offered = TenureColumns.isUndecided(client) ? claim.offeredNanos() : 0;
        yield old.with(kept, claim.asking(claim.floor(), offered));
      }
    };
  }

  private static boolean acquires(TenureState client) {
    return client.phase() == Phase.ACQUIRING;
  }

  /** What a round that is sent now can entitle to, by a clock that is right. */
  private long offered(ExplorerWorld world, Step turn) {
    long ttlMillis = 0;
    if (turn.send() instanceof NodeRequest.Grant grant) {
      ttlMillis = grant.ttlMillis();
    } else if (turn.send() instanceof NodeRequest.Extend extend) {
      ttlMillis = extend.ttlMillis();
    }
    return scope.nanos(world.now) + ttlMillis * 1_000_000 - scope.driftMicros * 1_000;
  }

  private void checkToken(ExplorerWorld world, int attempt, long token, long floor) {
    String owner = scope.ownerName(attempt);
    Invariants.tokenIsNewAndHighest(owner, token, floor, new long[0]);
    for (Claim other : held(world, attempt)) {
      Invariants.tokenIsOfNoOther(owner, token, other.first(), other.held());
    }
  }

  /** What the other owners whose leases exclude the attempt's have acquired. */
  private List<Claim> held(ExplorerWorld world, int attempt) {
    List<Claim> claims = new ArrayList<>();
    for (int other = 0; other < scope.attempts; other++) {
      boolean counts = other != attempt && scope.exclude(attempt, other);
      if (counts && !scope.isForeign(other)) {
        claims.add(catalog.header(world, other).claim());
      }
    }
    return claims;
  }

  private long highestHeld(ExplorerWorld world, int attempt) {
    long highest = scope.heldBefore;
    for (Claim claim : held(world, attempt)) {
      highest = Math.max(highest, claim.held());
    }
    return highest;
  }

  private void overtakeOthers(ExplorerWorld world, int winner) {
    for (int attempt = 0; attempt < scope.attempts; attempt++) {
      Header other = catalog.header(world, attempt);
      if (attempt != winner
          && scope.exclude(attempt, winner)
          && other.client().phase() == Phase.HOLDING
          && !other.claim().overtaken()) {
        world.headers[attempt] =
            catalog.headers.of(other.with(other.client(), other.claim().overtakenNow()));
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
      if (catalog.answers.get(reply).tag() == Tenure.RELEASE_TAG) {
        left = ExplorerLink.appended(left, reply);
      }
    }
    return left;
  }
}
